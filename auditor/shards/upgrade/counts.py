"""Counts what objects use that an upgrade changes: versions, subresources, gated fields, unknown formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.paths import plain_path
from auditor.gates.change import gate_changes
from auditor.gates.paths import places
from auditor.golang.jsontext import encode
from auditor.shards.upgrade.concerns import Concerns, concerns_of, used_by
from auditor.shards.upgrade.sides import decoded, managed_versions, shown_key
from auditor.upgrade import Sample, UnknownFormats, UpgradeTally, concerned_changes, has_value

if TYPE_CHECKING:
    from auditor.base.records import AuditedObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.gates.change import GateChanges
    from auditor.gates.paths import GatePath
    from auditor.shards.judge import RowHead
    from auditor.shards.shard_audit import ShardAuditor
    from auditor.shards.upgrade.scan_plan import UpgradePlan
    from auditor.shards.upgrade.sides import VersionEffect
    from auditor.upgrade import SchemaChange


class ObjectCounts:
    """Counts in objects; what concerns a definition is found once.

    Args:
        scan: The plan of the upgrade.
        before: The auditor with the old definitions.
        auditor: The auditor with the new ones.
    """

    def __init__(self, scan: UpgradePlan, before: ShardAuditor, auditor: ShardAuditor) -> None:
        self._scan = scan
        self._before = before
        self._auditor = auditor
        self._known_formats: dict[tuple[str, str], UnknownFormats] = {}
        self._gate_changes: dict[str, tuple[GateChanges, tuple[GatePath, ...]]] = {}
        self._concerns: dict[str, Concerns] = {}

    def object(
        self, tally: UpgradeTally, row: RowHead, definition: CustomResourceDefinition, audited: AuditedObject
    ) -> None:
        """Count in an object: removed versions in managedFields, values of unknown formats."""
        obj = audited.object or {}
        for version in managed_versions(obj, definition.group) - definition.versions.keys():
            tally.managed[version] += 1
            tally.sample(f"managed {version}", Sample(shown_key(row), ""))
        formats = self._formats(definition, audited.audited_version or "")
        if formats:
            for place, name, value, fails in formats.values(obj):
                tally.formats[(place, name)] += 1
                if fails:
                    tally.failing[(place, name)] += 1
                    tally.sample(f"format {place} {name}", Sample(shown_key(row), encode(value)))

    def gates(
        self, tally: UpgradeTally, row: RowHead, definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> None:
        """Count the use of fields whose gates change."""
        gate_changes_ = self._gate_changes.get(definition.name)
        if gate_changes_ is None:
            made = gate_changes(self._before.gated.gates(old), self._auditor.gated.gates(definition))
            paths = {path for change in made.changes for path in change.paths} | {*made.closed, *made.opened}
            gate_changes_ = self._gate_changes[definition.name] = made, tuple(sorted(paths, key=str))
        changes, concerned = gate_changes_
        if not concerned:
            return
        stored = decoded(row.data)
        for path in concerned:
            if any(True for _ in places(stored, path.steps)):
                tally.gates[str(path)] += 1
                if path in changes.closed:
                    tally.closed[str(path)] += 1
                    tally.sample(f"gate {path}", Sample(shown_key(row), f"{path} is switched off"))

    def concerns(
        self, tally: UpgradeTally, row: RowHead, definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> None:
        """Count users of removed versions and subresources, and objects under new transition rules."""
        concerns = self._concerns.get(definition.name)
        if concerns is None:
            concerns = self._concerns[definition.name] = concerns_of(old, definition)
        if not (concerns.transitions or concerns.versions or concerns.subresources):
            return
        stored = decoded(row.data)
        for change in concerns.transitions:
            tally.narrowed[change] += has_value(stored, change.path)
        if concerns.versions or concerns.subresources:
            used = set(used_by(stored, concerns))
            tally.users.update(used)
            tally.uses.update({what for what, _ in used})

    def narrowed(self, tally: UpgradeTally, definition: CustomResourceDefinition, effects: list[VersionEffect]) -> None:
        """Count an object for each change of the schema that concerns it at some version."""
        concerns = self._concerns.get(definition.name)
        if concerns is None or not concerns.narrowed:
            return
        changes: set[SchemaChange] = set()
        for effect in effects:
            lost = {plain_path(change.path or "") for change in effect.changes if change.is_loss}
            new, old = effect.new.audited, effect.was
            if old is not None and (lost or new.findings):
                version, before = new.audited_version, old.audited.findings
                changes.update(concerned_changes(concerns.narrowed, version, before, new.findings, lost))
        tally.narrowed.update(changes)

    def _formats(self, definition: CustomResourceDefinition, version: str) -> UnknownFormats:
        formats = self._known_formats.get((definition.name, version))
        if formats is None:
            schema = definition.versions[version].schema
            formats = self._known_formats[(definition.name, version)] = UnknownFormats(
                schema, self._scan.options.assumptions
            )
        return formats
