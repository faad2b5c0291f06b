"""What an audit says of field-level gates: stored fields whose gate is off or deprecated.

Gates come from definitions given as manifests (servers drop them) or from sidecar files. A run without gates pays
nothing. Paths are those of the storage version; what only a webhook could bring there is passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.crds.definition import parse_definition
from auditor.errors import PlanError, SchemaError
from auditor.gates import fields_in_use, gate_config, parse_overrides, resolve
from auditor.gates.resolve import check_overrides
from auditor.golang import jsontext
from pipelines.gates_cli import read_sidecars

if TYPE_CHECKING:
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.gates import ResolvedGates
    from auditor.model import Finding
    from pipelines.config import AuditOptions
    from pipelines.plan import Plan

__all__ = ["GatedFields", "check_plan"]


class GatedFields:
    """Finds guarded fields in stored objects.

    Args:
        options: Of the run.
    Raises:
        AuditorError: A sidecar file cannot be read, or `field_gates` is malformed.
    """

    def __init__(self, options: AuditOptions) -> None:
        self._sidecars = read_sidecars(options.gate_sidecars)
        self._overrides = parse_overrides(options.field_gates)
        self._resolved: dict[str, ResolvedGates | None] = {}

    def of(self, definition: CustomResourceDefinition, data: bytes) -> list[Finding]:
        """Return a finding for each guarded field of a stored value that is off or deprecated.

        Args:
            definition: Of its kind.
            data: The value as it is stored.
        """
        gates = self.gates(definition)
        if gates is None:
            return []
        try:
            document: Any = jsontext.decode_object(data)
        except jsontext.GoJsonError:
            return []
        storage = definition.storage_version
        if type(document) is not dict or storage is None:
            return []
        wanted = f"{definition.group}/{storage.name}"
        if definition.conversion == "Webhook" and document.get("apiVersion") != wanted:
            return []
        return fields_in_use(gates, document)

    def gates(self, definition: CustomResourceDefinition) -> ResolvedGates | None:
        """Return the gates of a definition, None where it has none; what is wrong with them is left out."""
        if definition.name not in self._resolved:
            config = gate_config(definition, self._sidecars)
            asked = self._overrides if config.gates else {}
            self._resolved[definition.name] = resolve(config, asked) if config.gates else None
        return self._resolved[definition.name]

    def check(self, definitions: Any) -> None:
        """Check what was asked for, and the gates of all definitions.

        Raises:
            PlanError: A gate that is named does not exist, or a configuration is wrong.
        """
        configs = [gate_config(definition, self._sidecars) for definition in definitions]
        check_overrides(configs, self._overrides)
        for config in configs:
            if config.findings:
                first = config.findings[0]
                advice = "auditor gates check says all"
                raise PlanError(config.name, f"its gates are not valid: {first.message}", advice=advice)


def check_plan(plan: Plan) -> None:
    """Check the gates of all definitions of a run before it begins.

    Raises:
        AuditorError: As `GatedFields` and `GatedFields.check`.
    """
    gated = GatedFields(plan.options)
    asked = bool(plan.options.field_gates or plan.options.gate_sidecars)
    definitions = []
    with Path(plan.definitions).open("rb") as stream:
        for entry in plan.entries:
            stream.seek(entry.offset)
            text = stream.read(entry.length)
            if asked or b'"customFeatureGates"' in text:
                try:
                    definitions.append(parse_definition(jsontext.decode(text), stored=entry.stored))
                except SchemaError:
                    continue
    if asked or definitions:
        gated.check(definitions)
