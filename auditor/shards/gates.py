"""Findings of an audit about field-level gates: stored fields whose gate is off or deprecated.

Gates come from definitions given as manifests (servers drop them) or from sidecar files. A run without gates does not
load this code. Paths are those of the storage version; fields that only a webhook could convert to it are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError, SchemaError
from auditor.golang import jsontext

if TYPE_CHECKING:
    from auditor.base.records import Finding
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.gates import ResolvedGates
    from auditor.plan.options import AuditOptions
    from auditor.plan.run_plan import Plan


_KEY = "customFeatureGates"


class GatedFields:
    """Finds guarded fields in stored objects.

    Args:
        options: The options of the run.
    Raises:
        AuditorError: A sidecar file cannot be read, or `field_gates` is malformed.
    """

    def __init__(self, options: AuditOptions) -> None:
        self._sidecars: dict[str, Any] = {}
        self._overrides: dict[str, bool] = {}
        self._resolved: dict[str, ResolvedGates | None] = {}
        if options.gate_sidecars:
            from auditor.gates.resolve import read_sidecars  # noqa: PLC0415

            self._sidecars = read_sidecars(options.gate_sidecars)
        if options.field_gates:
            from auditor.gates import parse_overrides  # noqa: PLC0415

            self._overrides = parse_overrides(options.field_gates)

    def of(self, definition: CustomResourceDefinition, data: bytes) -> list[Finding]:
        """Return a finding for each guarded field of a stored value that is off or deprecated.

        Args:
            definition: The definition of its kind.
            data: The value as it is stored.
        """
        gates = self.gates(definition)
        if gates is None:
            return []
        from auditor.gates import fields_in_use  # noqa: PLC0415

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
        """Return the gates of a definition, or None if it has none; faults of the gates are ignored."""
        if definition.name not in self._resolved:
            self._resolved[definition.name] = self._resolve(definition)
        return self._resolved[definition.name]

    def _resolve(self, definition: CustomResourceDefinition) -> ResolvedGates | None:
        if definition.name not in self._sidecars and _KEY not in (definition.document.get("spec") or {}):
            return None
        from auditor.gates import gate_config, resolve  # noqa: PLC0415

        config = gate_config(definition, self._sidecars)
        return resolve(config, self._overrides) if config.gates else None

    def check(self, definitions: Any) -> None:
        """Check the gates that options name, and the gates of all definitions.

        Raises:
            PlanError: A named gate does not exist, or a configuration is invalid.
        """
        from auditor.gates import gate_config  # noqa: PLC0415
        from auditor.gates.resolve import check_overrides  # noqa: PLC0415

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
    for entry, text in plan.definitions_file.texts(plan.entries):
        if asked or f'"{_KEY}"'.encode() in text:
            from auditor.crds.definition import parse_definition  # noqa: PLC0415 - few runs have gates

            try:
                definitions.append(parse_definition(jsontext.decode(text), stored=entry.stored))
            except SchemaError:
                continue
    if asked or definitions:
        gated.check(definitions)
