"""Gates given beside definitions, in sidecar files, which map names of definitions to their configurations.

A server drops `spec.customFeatureGates` when it stores a definition, so dumps do not have it; a sidecar file does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.errors import AuditorError, PlanError, SourceError
from auditor.base.given_file import read_given
from auditor.gates.config import gate_config, parse_sidecar
from auditor.gates.resolve import check_overrides, parse_overrides, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.gates.config import GateConfig
    from auditor.gates.resolve import ResolvedGates

__all__ = ["gate_configs", "read_sidecars", "resolved_gates"]


def read_sidecars(paths: tuple[str, ...]) -> dict[str, Any]:
    """Return all sidecar files as one mapping; if two configure the same definition, the later counts.

    Raises:
        SourceError: A file cannot be read, or is not a mapping.
    """
    from auditor.sources.yaml import yaml_to_json  # noqa: PLC0415 - most runs read no sidecar

    made: dict[str, Any] = {}
    for path in paths:
        try:
            made |= parse_sidecar(yaml_to_json(read_given(path)))
        except (OSError, ValueError) as error:
            raise SourceError(
                path, str(error), "a mapping of names of definitions to their customFeatureGates"
            ) from None
        except AuditorError as error:
            raise SourceError(path, error.found, "YAML or JSON") from None
    return made


def gate_configs(
    definitions: Mapping[str, CustomResourceDefinition], sidecars: Mapping[str, Any]
) -> dict[str, GateConfig]:
    """Return the configurations of all definitions that have gates, by name."""
    made = {name: gate_config(definition, sidecars) for name, definition in definitions.items()}
    return {name: config for name, config in made.items() if config.gates or config.findings}


def resolved_gates(
    definitions: Mapping[str, CustomResourceDefinition], sidecars: Mapping[str, Any], field_gates: str
) -> dict[str, ResolvedGates]:
    """Return which gates are on, by definition.

    Raises:
        PlanError: An override fits no gate, or a configuration is not valid.
    """
    configs = gate_configs(definitions, sidecars)
    overrides = parse_overrides(field_gates)
    check_overrides(configs.values(), overrides)
    for name, config in configs.items():
        if config.findings:
            first = config.findings[0]
            raise PlanError(
                name, f"its gates are not valid: {first.message}", advice="auditor gates check lists all faults"
            )
    return {name: resolve(config, overrides) for name, config in configs.items()}
