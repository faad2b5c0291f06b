"""Judges an object under the old and under the new definitions, and at the versions that clients use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.golang.jsontext import encode
from auditor.releases import running_as
from auditor.shards.updates import NOT_ASKED
from auditor.shards.upgrade.sides import VersionEffect, decoded, managed_versions, side_of
from auditor.updates.server_side_apply import apply_fault, manager_fault
from auditor.upgrade import (
    Pairing,
    PathChange,
    client_version,
    common_version,
    compare_reads,
    compare_round_trips,
    same_version,
)
from auditor.upgrade.changes import DEFAULTED, SELECTOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import AuditedObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.run_plan import Plan
    from auditor.shards.judge import JudgedVersion, RowHead
    from auditor.shards.shard_audit import ShardAuditor
    from auditor.shards.updates import UpdateOutcome
    from auditor.shards.upgrade.sides import DefinitionSide


OWN_CHOICE: Final = ("storage", "stored")
"""Values of --at with which the versions are chosen here: those that clients use count, too."""


def encoded(audited: AuditedObject) -> bytes:
    """Return an object that could be read as a server would store it."""
    return encode(audited.object).encode("utf-8", "surrogatepass")


class PairedJudge:
    """Judges objects by two auditors.

    Attributes:
        plan: The plan with the new definitions.
        auditor: Judges by the new definitions.
        before: Judges by the old ones.
        old_entries: The old definitions, by name.
        is_export: Whether the dump being read is an export.
    """

    plan: Plan
    auditor: ShardAuditor
    before: ShardAuditor
    old_entries: dict[str, DefinitionEntry]
    is_export: bool
    _changed: dict[str, bool]

    def as_served(
        self, side: ShardAuditor, definition: CustomResourceDefinition, data: bytes, judged: list[JudgedVersion]
    ) -> list[JudgedVersion]:
        """Judge an object again, if it was judged at a version that is not served, unless the user asked for it."""
        audited = judged[0].audited
        served_version = audited.audited_version
        if (
            audited.object is None
            or served_version is None
            or definition.versions[served_version].served
            or self.at not in OWN_CHOICE
        ):
            return judged
        version = client_version(definition)
        if version is None or version == served_version:
            return judged
        again = side.at_version(definition, version, data)
        return judged if again.audited.object is None else [again]

    @property
    def at(self) -> str:
        """The version at which objects of the dump are judged: storage, stored, served, or a name."""
        return self.plan.options.at_of_exports if self.is_export else self.plan.options.at

    def old_version(self, old: CustomResourceDefinition, version: str, stored: str | None) -> str | None:
        """Return the version of the old definition for an object that was judged at a version of the new one."""
        if self.at == "storage":
            # If the read at the storage version failed, the object was judged at its own.
            first = client_version(old)
            return first if first == version or version not in old.versions else None
        if self.at == "stored" and stored != version and stored in old.versions:
            return None
        return version if version in old.versions else self.before.storage_of(old)

    def judged_by(
        self, side: ShardAuditor, definition: CustomResourceDefinition, version: str, data: bytes
    ) -> AuditedObject:
        """Return an object by one auditor, for one that the other judged at a version."""
        if self.at in OWN_CHOICE:
            return self.as_served(side, definition, data, side.judge_alone(definition, data, self.at))[0].audited
        fallback = side.storage_of(definition) or next(iter(definition.versions))
        return side.at_version(definition, version if version in definition.versions else fallback, data).audited

    def outcome_of(
        self,
        side: ShardAuditor,
        row: RowHead,
        definition: CustomResourceDefinition,
        audited: AuditedObject,
        data: bytes,
    ) -> UpdateOutcome:
        """Return the answers to updates of an object, as `UpdateVerdicts.judge` does."""
        if audited.object is None or not self.plan.options.judges_updates:
            return NOT_ASKED
        place = (row.namespace, row.name)
        with running_as(side.release):
            program = side.program(definition, audited.audited_version or "")
            return side.verdicts.judge(program, audited, data, place, row.revision, is_export=row.key is None)

    def reads(
        self,
        row: RowHead,
        old: CustomResourceDefinition,
        definition: CustomResourceDefinition,
        before: AuditedObject,
        after: AuditedObject,
        data: bytes,
        *,
        may_confuse: bool,
    ) -> list[PathChange]:
        """Return what reads show differently, and what a converter drops; it may show the rest elsewhere."""
        reads = compare_reads(before, after, lambda: decoded(row.data), may_confuse=may_confuse)
        back = self._converted_back(self.auditor, definition, after)
        if back is None:
            return reads
        stored = back.audited_version or ""
        first = self._converted_back(self.before, old, before)
        if first is None:
            first = self.before.at_version(old, stored, row.data).audited if stored in old.versions else before
        now = self.auditor.at_version(definition, stored, data).audited
        if first.object is None or now.object is None:
            return reads
        dropped = compare_reads(first, now, lambda: decoded(row.data), may_confuse=may_confuse)
        lost = [read for read in dropped if read.is_loss]
        paths = {read.path for read in lost}
        lost += [read for read in compare_round_trips(first, back) if read.path not in paths]
        return lost + [read for read in reads if read.change in (DEFAULTED, SELECTOR)]

    def _converted_back(
        self, side: ShardAuditor, definition: CustomResourceDefinition, audited: AuditedObject
    ) -> AuditedObject | None:
        """Return an object that a converter brought to another version, once it is brought back; None if none did."""
        stored = audited.stored_version
        if definition.webhook is None or stored == audited.audited_version or stored not in definition.versions:
            return None
        back = side.at_version(definition, stored, encoded(audited)).audited
        return None if back.object is None else back

    def lost_on_the_way(
        self, row: RowHead, old: CustomResourceDefinition, before: AuditedObject, first: AuditedObject
    ) -> list[PathChange]:
        """Return the fields that an object loses by a rewrite at a remaining version, unless a webhook keeps them."""
        if old.conversion == "Webhook" or before.object is None or first.object is None:
            return []
        return [read for read in compare_reads(before, first, lambda: decoded(row.data)) if read.is_loss]

    def lost_in_storage(
        self,
        row: RowHead,
        old: CustomResourceDefinition,
        definition: CustomResourceDefinition,
        version: str,
        data: bytes,
    ) -> list[PathChange]:
        """Return what a write at a version loses from now on, because the storage version does not have it.

        What is judged at the storage version itself shows that there; an export is not, and no client can write at a
        version that is not served.

        Source: measured on v1.37.2: what is stored is pruned by the schema of the version that it is stored at.
        """
        was, now = self.before.storage_of(old), self.auditor.storage_of(definition)
        if was is None or now is None or version not in old.versions or definition.conversion == "Webhook":
            return []
        if version == now or (definition.versions[now].served and not self.is_export):
            return []
        if was == now and same_version(old.versions[was], definition.versions[now]):
            return []
        kept = []
        for side, each, storage, value in ((self.before, old, was, row.data), (self.auditor, definition, now, data)):
            written = side.at_version(each, version, value).audited
            if written.object is None:
                return []
            kept.append(side.at_version(each, storage, encoded(written)).audited)
        return self.lost_on_the_way(row, old, *kept)

    def refuses_create(self, definition: CustomResourceDefinition, invalid: AuditedObject) -> bool:
        """Return whether a create of an invalid object is refused; it drops the status where that is a subresource."""
        version = definition.versions[invalid.audited_version or ""]
        if not version.has_status:
            return True
        sent = {key: value for key, value in (invalid.object or {}).items() if key != "status"}
        created = self.auditor.at_version(definition, version.name, encode(sent).encode("utf-8", "surrogatepass"))
        return bool(created.audited.findings)

    def refusing_managers(
        self,
        row: RowHead,
        old: CustomResourceDefinition | None,
        definition: CustomResourceDefinition,
        first: AuditedObject,
        data: bytes,
    ) -> Iterator[VersionEffect]:
        """Yield where applies of an object newly fail by a version in managedFields that both definitions have.

        Versions that go do not count: they are taken out before the upgrade.

        Args:
            row: The row of the object.
            old: The old definition; None if no server could use one.
            definition: The new one.
            first: The object under the new one, at the version at which it was judged first.
            data: Its value under the new one.
        """
        named = managed_versions(first.object or {}, definition.group)
        for version in definition.served_versions if named else ():
            if self.at not in OWN_CHOICE and version.name != first.audited_version:
                continue
            others = named & definition.versions.keys() - {version.name}
            if not others or not self._may_refuse(old, definition):
                continue
            audited = self.auditor.at_version(definition, version.name, data).audited
            if audited.object is None or apply_fault(definition, version, audited.object):
                continue
            faults = ((name, manager_fault(definition, version, audited.object, {name})) for name in sorted(others))
            name, fault = next(((name, fault) for name, fault in faults if fault), ("", ""))
            if fault and not self._failed_before(row, old, version.name):
                new = side_of(audited, NOT_ASKED)
                yield VersionEffect(new, [], {"manager-refused"}, fault=f"managedFields name {name}: {fault}")

    def _may_refuse(self, old: CustomResourceDefinition | None, definition: CustomResourceDefinition) -> bool:
        """Return whether some version of a definition changes, or the storage version."""
        known = self._changed.get(definition.name)
        if known is None:
            known = self._changed[definition.name] = old is None or not all(
                Pairing(old, definition, name, name).is_same(name) for name in definition.versions
            )
        return known

    def _failed_before(self, row: RowHead, old: CustomResourceDefinition | None, version: str) -> bool:
        """Return whether an apply of an object failed already, at the version that clients use until the upgrade."""
        if old is None:
            return False
        is_served = version in old.versions and old.versions[version].served
        before = old.versions.get(version if is_served else client_version(old) or "")
        obj = None if before is None else self.before.at_version(old, before.name, row.data).audited.object
        return before is None or obj is None or bool(apply_fault(old, before, obj) or manager_fault(old, before, obj))

    def needs_webhook(self, side: ShardAuditor, definition: CustomResourceDefinition, audited: AuditedObject) -> bool:
        """Return whether only a webhook can read an object at the storage version; False for exports."""
        return (
            not self.is_export
            and definition.conversion == "Webhook"
            and definition.webhook is None
            and audited.stored_version in definition.versions
            and audited.stored_version != side.storage_of(definition)
        )

    def is_newly_converted(self, definition: CustomResourceDefinition, audited: AuditedObject) -> bool:
        """Return whether only a webhook can read an object from now on."""
        entry = self.old_entries.get(definition.name)
        old = None if entry is None else self.before.definition(entry)
        is_known = old is not None and not isinstance(old, str) and self.needs_webhook(self.before, old, audited)
        return self.needs_webhook(self.auditor, definition, audited) and not is_known

    def may_be_migrated(self, definition: CustomResourceDefinition, audited: AuditedObject) -> bool:
        """Return whether the removal of its version is the only reason why an object cannot be read.

        Then it can be rewritten under the old definition, at a version that both definitions have.
        """
        entry = self.old_entries.get(definition.name)
        old = None if entry is None else self.before.definition(entry)
        own = audited.stored_version
        return (
            old is not None
            and not isinstance(old, str)
            and own in old.versions
            and own not in definition.versions
            and not old.versions.keys().isdisjoint(definition.versions)
        )

    def after_migration(
        self, row: RowHead, new_definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> tuple[AuditedObject, DefinitionSide, UpdateOutcome] | None:
        """Judge an object after a rewrite under the old definition, or return None if that would not help.

        Returns:
            Its judgement under the old definition at the version that would be written, its judgement under the new one
            afterwards, and the answer of the old server to the write.
        """
        version = common_version(old, new_definition)
        if version is None:
            return None
        first = self.before.at_version(old, version, row.data).audited
        if first.object is None:
            return None
        outcome = self.outcome_of(self.before, row, old, first, row.data)
        data = encoded(first)
        after = self.auditor.judge(new_definition, data, "stored" if self.is_export else "storage")[0].audited
        return first, side_of(after, self.outcome_of(self.auditor, row, new_definition, after, data)), outcome
