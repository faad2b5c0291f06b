"""Reads the configuration of gates from a manifest or a sidecar file, and checks it.

Nothing raises: each unusable part becomes a finding with the path of its key, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.gates.paths import GatePath, GatePathError, is_known, parse_path
from auditor.golang.go_text import type_name
from auditor.validation.field_errors import (
    NOT_SUPPORTED,
    TYPE_INVALID,
    duplicate,
    finding,
    forbidden,
    invalid,
    not_supported_detail,
    required,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.base.records import Finding, JsonObject
    from auditor.crds.definition import CustomResourceDefinition


_CHECK: Final = "gate"
_KEY: Final = "customFeatureGates"
STAGES: Final = ("alpha", "beta", "stable", "deprecated")


@dataclass(frozen=True, slots=True)
class FieldGate:
    """One gate.

    Attributes:
        stage: alpha, beta, stable or deprecated.
        default, enabled: As given, or None.
        paths: The fields that it guards, in the given order; unusable ones are left out.
        warning: The message for a field in use that a deprecated gate guards.
    """

    name: str
    stage: str
    default: bool | None = None
    enabled: bool | None = None
    paths: tuple[GatePath, ...] = ()
    warning: str = ""


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The gates of one definition.

    Attributes:
        name: The definition.
        findings: Faults, sorted by field, type, message; a server would refuse a configuration with any.
        warnings: Parts that have no effect and are probably mistakes.
    """

    name: str
    component: str = ""
    gates: tuple[FieldGate, ...] = ()
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _ConfigReader:
    """Reads one configuration."""

    definition: CustomResourceDefinition
    found: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    guards: dict[GatePath, str] = field(default_factory=dict)

    def value(self, given: JsonObject, key: str, kind: type, path: str) -> Any:
        """Return the value of a key, or None if it is absent, null or of another type."""
        value = given.get(key)
        if value is None or type(value) is kind:
            return value
        wanted = {str: "string", bool: "boolean", list: "array", dict: "object"}[kind]
        detail = f"must be of type {wanted}, not {type_name(value)}"
        self.found.append(finding(_CHECK, f"{path}.{key}" if path else key, TYPE_INVALID, value, detail))
        return None

    def gate(self, given: Any, path: str) -> FieldGate | None:
        if type(given) is not dict:
            detail = f"must be of type object, not {type_name(given)}"
            self.found.append(finding(_CHECK, path, TYPE_INVALID, given, detail))
            return None
        name = self.value(given, "name", str, path) or ""
        if not name and type(given.get("name")) in (str, type(None)):
            self.found.append(required(_CHECK, f"{path}.name", "a gate needs a name"))
        elif name in self.names:
            self.found.append(duplicate(_CHECK, f"{path}.name", name))
        self.names.add(name)
        stage = self.stage(given, path)
        default = self.value(given, "default", bool, path)
        enabled = self.value(given, "enabled", bool, path)
        if stage == "alpha" and default is True:
            self.found.append(invalid(_CHECK, f"{path}.default", default, "must not be true for an alpha gate"))
        elif stage == "stable" and default is False:
            self.found.append(invalid(_CHECK, f"{path}.default", default, "must not be false for a stable gate"))
        elif stage == "beta" and given.get("default") is None:
            self.found.append(required(_CHECK, f"{path}.default", "a beta gate must state its default"))
        elif stage == "deprecated" and given.get("default") is None:
            self.warnings.append(f"{path}.default: a deprecated gate without a default is off")
        warning = self.value(given, "deprecatedWarning", str, path) or ""
        paths = self.paths(given, path, name)
        return FieldGate(name, stage, default, enabled, paths, warning)

    def stage(self, given: JsonObject, path: str) -> str:
        """Return the stage; the design notes spell its key in two ways."""
        key = "prerelease" if "prerelease" in given and "preRelease" not in given else "preRelease"
        stage = self.value(given, key, str, path)
        where = f"{path}.{key}"
        other = given.get("prerelease")
        if key == "preRelease" and other is not None and stage is not None and other != stage:
            self.found.append(invalid(_CHECK, f"{path}.prerelease", other, "must not contradict preRelease"))
        if not stage:
            if type(given.get(key)) in (str, type(None)):
                self.found.append(required(_CHECK, where, f"must be one of {', '.join(STAGES)}"))
            return ""
        if stage not in STAGES:
            self.found.append(finding(_CHECK, where, NOT_SUPPORTED, stage, not_supported_detail(STAGES)))
            return ""
        return str(stage)

    def paths(self, given: JsonObject, path: str, name: str) -> tuple[GatePath, ...]:
        where = f"{path}.fieldPaths"
        listed = self.value(given, "fieldPaths", list, path)
        if not listed:
            if type(given.get("fieldPaths")) in (list, type(None)):
                self.found.append(required(_CHECK, where, "a gate must guard at least one field"))
            return ()
        made = (self.one_path(text, f"{where}[{index}]", name) for index, text in enumerate(listed))
        return tuple(path for path in made if path is not None)

    def one_path(self, text: Any, where: str, name: str) -> GatePath | None:
        if type(text) is not str:
            detail = f"must be of type string, not {type_name(text)}"
            self.found.append(finding(_CHECK, where, TYPE_INVALID, text, detail))
            return None
        try:
            path = parse_path(text)
        except GatePathError as error:
            made = forbidden(_CHECK, where, str(error)) if "every object" in str(error) else None
            self.found.append(made or invalid(_CHECK, where, text, str(error)))
            return None
        if path in self.guards:
            guard = self.guards[path]
            if guard == name:
                self.found.append(duplicate(_CHECK, where, text))
            else:
                self.found.append(invalid(_CHECK, where, text, f"is guarded by gate {guard} already"))
            return None
        self.guards[path] = name
        storage = self.definition.storage_version
        if not is_known(path, None if storage is None else storage.schema):
            version = "the storage version" if storage is None else f"version {storage.name}"
            self.warnings.append(f"{where}: {text} is not in the schema of {version}; guarding it changes nothing")
        return path


def gate_config(definition: CustomResourceDefinition, sidecar: Mapping[str, Any] | None = None) -> GateConfig:
    """Return the gates of a definition.

    Args:
        definition: Parsed from a manifest; a stored definition has lost its gates.
        sidecar: Name of a definition to its configuration; takes precedence over the manifest.
    """
    path = f"spec.{_KEY}"
    spec = definition.document.get("spec") or {}
    given = spec.get(_KEY)
    warnings: tuple[str, ...] = ()
    if spec.get("featureGates") is not None:
        warnings = (f"spec.featureGates: has no effect; gates are read from {path}.featureGates alone",)
    if sidecar is not None and definition.name in sidecar:
        given, path = sidecar[definition.name], definition.name
    if given is None:
        return GateConfig(definition.name, warnings=warnings)
    reader = _ConfigReader(definition)
    if type(given) is not dict:
        detail = f"must be of type object, not {type_name(given)}"
        return GateConfig(
            definition.name, findings=(finding(_CHECK, path, TYPE_INVALID, given, detail),), warnings=warnings
        )
    component = reader.value(given, "component", str, path) or ""
    listed = reader.value(given, "featureGates", list, path) or []
    gates = [reader.gate(entry, f"{path}.featureGates[{index}]") for index, entry in enumerate(listed)]
    return GateConfig(
        definition.name,
        component,
        tuple(gate for gate in gates if gate is not None),
        tuple(sorted(reader.found, key=lambda one: one.sort_key())),
        (*warnings, *reader.warnings),
    )


def parse_sidecar(document: Any) -> dict[str, Any]:
    """Return a sidecar file as name of a definition to configuration.

    Raises:
        ValueError: The file is not a mapping.
    """
    if type(document) is not dict:
        raise ValueError("a sidecar file maps names of definitions to their customFeatureGates")
    return {str(name): value for name, value in document.items()}
