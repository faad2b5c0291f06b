"""Shards of an upgrade scan, judged under both sets of definitions.

A shard is audited under the new definitions. An observer compares each judged object with its judgement under the old
ones; if nothing that the judgement depends on changes, the object is not judged again.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import auditor
from auditor.base import tables
from auditor.base.paths import plain_path
from auditor.base.statuses import Status
from auditor.gates.change import gate_changes
from auditor.gates.paths import places
from auditor.golang.jsontext import encode
from auditor.releases import running_as
from auditor.schema.structural import ABSENT
from auditor.shards.audit import ShardAuditor, lost_shard
from auditor.shards.columns import Rows, write_parquet
from auditor.shards.conversions import convert_ahead
from auditor.shards.judge import JudgedVersion
from auditor.shards.updates import NOT_ASKED
from auditor.shards.upgrade.apis import ApiScan, ApiTally
from auditor.shards.upgrade.causes import ReleaseCauses
from auditor.shards.upgrade.concerns import Concerns, concerns_of, hit_of, used_by
from auditor.shards.upgrade.sides import (
    Side,
    by_field,
    categories_of,
    decoded,
    is_refused,
    is_reworded,
    managed_versions,
    newly,
    reason_of,
    sample_of,
    shown_key,
    side_of,
)  # fmt: skip
from auditor.upgrade import (
    Change,
    Pairing,
    Sample,
    Tally,
    UnknownFormats,
    common_version,
    compare_reads,
    compare_verdicts,
    has_value,
)
from auditor.upgrade.changes import VERDICT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.records import AuditedObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.gates.change import GateChanges
    from auditor.gates.paths import GatePath
    from auditor.plan.plan import SourceShard
    from auditor.shards.judge import RowHead
    from auditor.shards.result import ShardResult
    from auditor.shards.updates import Outcome
    from auditor.shards.upgrade.plan import UpgradePlan

__all__ = ["UpgradeResult", "lost_upgrade_shard", "merge_apis", "merge_tallies", "setup_upgrade"]


@dataclass(slots=True)
class UpgradeResult:
    """The result of one shard: that of its audit, a tally for each definition by name, one of removed versions."""

    number: int
    audit: ShardResult
    tallies: dict[str, Tally] = field(default_factory=dict)
    apis: ApiTally = field(default_factory=ApiTally)


class UpgradeAuditor:
    """Audits shards under the new definitions, and compares every object with its judgement under the old ones."""

    def __init__(self, scan: UpgradePlan, parts: str) -> None:
        self.plan = scan.new
        self.auditor = ShardAuditor(scan.new, parts, observer=self)
        self.scan = scan
        self.before = ShardAuditor(scan.old, parts)
        self.causes = ReleaseCauses(scan, parts) if scan.changes_release else None
        self.apis = ApiScan(self.before, scan) if scan.looks_for_apis else None
        self.tallies: dict[str, Tally] = {}
        self.pairings: dict[tuple[str, str, str], Pairing] = {}
        self.formats: dict[tuple[str, str], UnknownFormats] = {}
        self.gate_changes: dict[str, tuple[GateChanges, tuple[GatePath, ...]]] = {}
        self.old_entries = {entry.name: entry for entry in scan.old.entries}
        self.concerns: dict[str, Concerns] = {}
        self.rows = Rows(tables.CHANGES)
        self.source_name = ""
        self.is_export = False

    def __call__(self, item: SourceShard) -> UpgradeResult:
        """Audit one shard and write the changes."""
        source = self.plan.sources[item.source]
        self.source_name, self.is_export = source.name, source.is_export
        self.begin()
        convert_ahead(self.before, item)
        result = self.auditor(item)
        if len(self.rows):
            write_parquet(self.rows.table(), self.auditor.parts / "changes" / f"part-{item.shard.number:05d}.parquet")
        apis = ApiTally() if self.apis is None else self.apis(item)
        return UpgradeResult(item.shard.number, result, self.tallies, apis)

    def begin(self) -> None:
        """Forget the notes about objects."""
        meta = {
            "tool": auditor.__version__,
            "release": self.plan.options.release.version,
            "crds": self.plan.crds_sha256,
        }
        self.rows = Rows(tables.with_metadata(tables.CHANGES, **meta))
        self.tallies = {}

    # ---- one object

    def rejudged(
        self, definition: CustomResourceDefinition, data: bytes, judged: list[JudgedVersion]
    ) -> list[JudgedVersion]:
        """Return the judgement to count for an object under the new definition.

        An export shows objects at a version that a client requested. If that version is removed, the object is judged
        at a remaining one: it need not be stored at the version that the export shows.
        """
        audited = judged[0].audited
        if not self.is_export or audited.object is not None or not self._may_be_migrated(definition, audited):
            return judged
        old = self.before.definition(self.old_entries[definition.name])
        version = None if isinstance(old, str) else common_version(old, definition)
        if isinstance(old, str) or version is None:
            return judged
        before = self.before.at_version(old, version, data)
        first = before.audited
        if first.object is None:
            return [JudgedVersion(first, True, "")] if before.by_webhook else judged
        rewritten = encode(first.object).encode("utf-8", "surrogatepass")
        again, *others = self.auditor.judge_alone(definition, rewritten, "stored")
        return [again._replace(rewritten=first), *others]

    def on_judged(
        self, row: RowHead, definition: CustomResourceDefinition, judged: JudgedVersion, outcome: Outcome
    ) -> None:
        """Compare the judgement of an object under the new definition with that under the old one."""
        tally = self.tallies.get(definition.name)
        if tally is None:
            tally = self.tallies[definition.name] = Tally()
        tally.objects += 1
        audited = judged.audited
        new = side_of(audited, outcome)
        self._count_facts(tally, row, definition, new)
        if definition.name in self.scan.deleted:
            self._add(row, tally, new, [Change(VERDICT, None, str(new.state), "deleted")], {"deleted"})
            return
        entry = self.old_entries.get(definition.name)
        old_definition = None if entry is None else self.before.definition(entry)
        if old_definition is None or isinstance(old_definition, str) or not old_definition.established:
            was = Status.ORPHANED if entry is None else Status.UNSERVED
            self._add(row, tally, new, [Change(VERDICT, None, str(was), str(new.state))], newly(new, 0))
            return
        self._count_gates(tally, row, definition, old_definition)
        self._count_concerns(tally, row, definition, old_definition)
        pairing = self._pairing(old_definition, definition, audited)
        if pairing is not None and pairing.is_same(audited.stored_version) and self._is_untouched(definition, new):
            tally.unreadable_before += new.rank == 4
            self._add(row, tally, new, [], {"broken-before"} if new.rank >= 3 else set())
            return
        may_confuse = pairing is None or pairing.may_confuse
        self._compare(row, tally, definition, old_definition, new, judged.rewritten, may_confuse=may_confuse)

    def _is_untouched(self, definition: CustomResourceDefinition, new: Side) -> bool:
        """Whether both releases say the same of an object of a definition that stays as it is."""
        return self.causes is None or self.causes.is_untouched(definition.name, new)

    def _pairing(
        self, old: CustomResourceDefinition, new: CustomResourceDefinition, audited: AuditedObject
    ) -> Pairing | None:
        """Return the pair of two definitions, or None if only one of them has the version of the judged object."""
        version = audited.audited_version or ""
        at = self._at(old, version)
        if at is None:
            return None
        key = (new.name, at, version)
        found = self.pairings.get(key)
        if found is None:
            found = self.pairings[key] = Pairing(old, new, at, version)
        return found

    def _at(self, old: CustomResourceDefinition, version: str) -> str | None:
        """Return the version of the old definition for an object that was judged at a version of the new one."""
        at = self.plan.options.at_of_exports if self.is_export else self.plan.options.at
        storage = self.before.storage_of(old)
        if at == "storage":
            # If the read at the storage version failed, the object was judged at its own.
            return storage if storage == version or version not in old.versions else None
        return version if version in old.versions else storage

    def _judged_by(
        self, side: ShardAuditor, definition: CustomResourceDefinition, version: str, data: bytes
    ) -> AuditedObject:
        at = self.plan.options.at_of_exports if self.is_export else self.plan.options.at
        if at in ("storage", "stored"):
            return side.judge_alone(definition, data, at)[0].audited
        fallback = side.storage_of(definition) or next(iter(definition.versions))
        return side.at_version(definition, version if version in definition.versions else fallback, data).audited

    def _outcome_of(
        self,
        side: ShardAuditor,
        row: RowHead,
        definition: CustomResourceDefinition,
        audited: AuditedObject,
        data: bytes,
    ) -> Outcome:
        if audited.object is None or not self.plan.options.judges_updates:
            return NOT_ASKED
        place = (row.namespace, row.name)
        with running_as(side.release):
            program = side.program(definition, audited.audited_version or "")
            return side.verdicts.judge(program, audited, data, place, row.revision, is_export=row.key is None)

    def _compare(
        self,
        row: RowHead,
        tally: Tally,
        new_definition: CustomResourceDefinition,
        old: CustomResourceDefinition,
        new: Side,
        rewritten: AuditedObject | None,
        *,
        may_confuse: bool,
    ) -> None:
        before = rewritten or self._judged_by(self.before, old, new.audited.audited_version or "", row.data)
        outcome = NOT_ASKED
        if before.findings or new.audited.findings or new.outcome.verdict is not None or new.audited.object is None:
            outcome = self._outcome_of(self.before, row, old, before, row.data)
        was = side_of(before, outcome)
        categories: set[str] = set()
        changes: list[Change] = []
        if rewritten is not None:
            changes += self._lost_on_the_way(row, old, self.before.judge(old, row.data, "stored")[0].audited, before)
        if new.state is Status.UNREADABLE and self._may_be_migrated(new_definition, new.audited):
            migrated = None if before.object is None else self._after_migration(row, new_definition, old)
            if migrated is None:
                tally.rewrites["refused"] += 1
            else:
                first, after, first_outcome = migrated
                if not self.is_export:  # an export shows another version than it is stored at
                    categories.add("unmigrated")
                    refused = is_refused(first_outcome)
                    tally.migration_refused += refused
                    tally.rewrites["refused" if refused else "passed"] += 1
                    changes.append(Change(VERDICT, None, str(was.state), str(Status.UNREADABLE)))
                    tally.sample("unmigrated", Sample(shown_key(row), reason_of(new.audited)))
                changes += self._lost_on_the_way(row, old, before, first)
                was, new = side_of(first, first_outcome), after
                self._count_object(tally, row, new_definition, new.audited)
        categories |= {"data-loss"} if any(one.is_loss for one in changes) else set()
        if was.audited.object is not None and new.audited.object is not None:
            if was.rank or new.rank:
                if new.state != was.state:
                    changes.append(Change(VERDICT, None, str(was.state), str(new.state)))
                changes += compare_verdicts(by_field(was), by_field(new))
            reads = compare_reads(was.audited, new.audited, lambda: decoded(row.data), may_confuse=may_confuse)
            categories |= categories_of(reads)
            changes += reads
        elif new.state != was.state:
            changes.append(Change(VERDICT, None, str(was.state), str(new.state)))
        is_new = self._needs_webhook(self.auditor, new_definition, new.audited)
        if is_new and not self._needs_webhook(self.before, old, before):
            categories.add("needs-conversion")
        categories |= newly(new, was.rank)
        if self.scan.changes_release and was.rank == new.rank and is_reworded(was, new):
            categories.add("reworded")
        if self.is_export and new.state is Status.NEEDS_CONVERSION and new.audited.audited_version in old.versions:
            categories = (categories - {"needs-conversion"}) | {"unconverted"}
        tally.unreadable_before += new.rank == 4 and was.rank == 4
        if new.rank in (1, 2) and any(one.change == VERDICT and one.path and one.old is ABSENT for one in changes):
            categories.add("tolerated" if new.rank == 1 else "invalid")
        if self.causes is not None:
            own = old if self.causes.is_forward else new_definition

            def again(side: ShardAuditor) -> Side:
                audited = self._judged_by(side, own, new.audited.audited_version or "", row.data)
                return side_of(audited, self._outcome_of(side, row, own, audited, row.data))

            self.causes.count(tally, row, (was, new), categories, again)
        self._add(row, tally, new, changes, categories)

    def _lost_on_the_way(
        self, row: RowHead, old: CustomResourceDefinition, before: AuditedObject, first: AuditedObject
    ) -> list[Change]:
        """Return the fields that an object loses by a rewrite at a remaining version, unless a webhook keeps them."""
        if old.conversion == "Webhook" or before.object is None or first.object is None:
            return []
        return [one for one in compare_reads(before, first, lambda: decoded(row.data)) if one.is_loss]

    def _needs_webhook(self, side: ShardAuditor, definition: CustomResourceDefinition, audited: AuditedObject) -> bool:
        """Return whether only a webhook can read an object at the storage version; False for exports."""
        return (
            not self.is_export
            and definition.conversion == "Webhook"
            and definition.webhook is None
            and audited.stored_version in definition.versions
            and audited.stored_version != side.storage_of(definition)
        )

    def _may_be_migrated(self, definition: CustomResourceDefinition, audited: AuditedObject) -> bool:
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

    def _after_migration(
        self, row: RowHead, new_definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> tuple[AuditedObject, Side, Outcome] | None:
        """Judge an object after a rewrite under the old definition, or return None if that would not help.

        Returns:
            Its judgement under the old definition at the version that would be written, its judgement under the new one
            afterwards, and the answer of the old server to the write.
        """
        at = common_version(old, new_definition)
        if at is None:
            return None
        first = self.before.at_version(old, at, row.data).audited
        if first.object is None:
            return None
        outcome = self._outcome_of(self.before, row, old, first, row.data)
        data = encode(first.object).encode("utf-8", "surrogatepass")
        after = self.auditor.judge(new_definition, data, "stored" if self.is_export else "storage")[0].audited
        return first, side_of(after, self._outcome_of(self.auditor, row, new_definition, after, data)), outcome

    # ---- counts and rows

    def _count_facts(self, tally: Tally, row: RowHead, definition: CustomResourceDefinition, new: Side) -> None:
        """Count what depends on the new definition alone: migration, managedFields, unknown formats."""
        audited = new.audited
        storage = self.auditor.storage_of(definition)
        if not self.is_export and audited.stored_version is not None and audited.stored_version != storage:
            tally.to_migrate += 1
        if audited.object is None and self._may_be_migrated(definition, audited):
            return  # the answer to a write under the old definition counts (`_compare`)
        if audited.object is None:
            tally.rewrites["unknown" if new.state is Status.NEEDS_CONVERSION else "refused"] += 1
            if new.state is not Status.NEEDS_CONVERSION:
                tally.sample("rewrite-refused", Sample(shown_key(row), reason_of(audited)))
            return
        code = new.outcome.codes[0]
        tally.rewrites["unknown" if code is None else "passed" if code < 300 else "refused"] += 1
        if code is not None and code >= 300 and new.outcome.verdict is not None:
            tally.sample("rewrite-refused", Sample(shown_key(row), new.outcome.verdict.put.message))
        self._count_object(tally, row, definition, audited)

    def _count_object(
        self, tally: Tally, row: RowHead, definition: CustomResourceDefinition, audited: AuditedObject
    ) -> None:
        """Count in an object: removed versions in managedFields, values of unknown formats."""
        obj = audited.object or {}
        for version in managed_versions(obj, definition):
            tally.managed[version] += 1
            tally.sample(f"managed {version}", Sample(shown_key(row), ""))
        formats = self._formats(definition, audited.audited_version or "")
        if formats:
            for place, name, value, fails in formats.values(obj):
                tally.formats[(place, name)] += 1
                if fails:
                    tally.failing[(place, name)] += 1
                    tally.sample(f"format {place} {name}", Sample(shown_key(row), encode(value)))

    def _count_gates(
        self, tally: Tally, row: RowHead, definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> None:
        """Count the use of fields whose gates change."""
        found = self.gate_changes.get(definition.name)
        if found is None:
            made = gate_changes(self.before.gated.gates(old), self.auditor.gated.gates(definition))
            paths = {path for change in made.changes for path in change.paths} | {*made.closed, *made.opened}
            found = self.gate_changes[definition.name] = made, tuple(sorted(paths, key=str))
        changes, concerned = found
        if not concerned:
            return
        stored = decoded(row.data)
        for path in concerned:
            if any(True for _ in places(stored, path.steps)):
                tally.gates[str(path)] += 1
                if path in changes.closed:
                    tally.closed[str(path)] += 1
                    tally.sample(f"gate {path}", Sample(shown_key(row), f"{path} is switched off"))

    def _count_concerns(
        self, tally: Tally, row: RowHead, definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> None:
        """Count users of removed versions and subresources, and objects under new transition rules."""
        found = self.concerns.get(definition.name)
        if found is None:
            found = self.concerns[definition.name] = concerns_of(old, definition)
        if not found:
            return
        stored = decoded(row.data)
        for path in found.transitions:
            tally.hits[("has", path)] += has_value(stored, path)
        if found.versions or found.subresources:
            used = set(used_by(stored, found))
            tally.users.update(used)
            tally.uses.update({what for what, _ in used})

    def _formats(self, definition: CustomResourceDefinition, version: str) -> UnknownFormats:
        found = self.formats.get((definition.name, version))
        if found is None:
            schema = definition.versions[version].schema
            found = self.formats[(definition.name, version)] = UnknownFormats(schema, self.scan.options.assumptions)
        return found

    def _add(self, row: RowHead, tally: Tally, new: Side, changes: list[Change], categories: set[str]) -> None:
        for change in changes:
            self._add_row(row, new, change)
            tally.count(change, plain_path(change.path or ""))
        tally.hits.update({hit for change in changes if (hit := hit_of(change)) is not None})
        tally.categories.update(categories or {"unchanged"})
        for category in categories - {"unmigrated"}:
            if len(tally.samples.get(category, ())) < 3:
                tally.sample(category, sample_of(row, new, changes, category))

    def _add_row(self, row: RowHead, new: Side, change: Change) -> None:
        old_text, new_text = change.texts()
        self.rows.append(
            (
                self.plan.options.cluster or None,
                self.source_name,
                row.text_key,
                row.group,
                row.kind,
                None if self.is_export else new.audited.stored_version,
                new.audited.audited_version,
                row.namespace,
                row.name,
                change.change,
                change.path,
                old_text,
                new_text,
            )
        )


def setup_upgrade(scan: UpgradePlan, parts: str) -> Callable[[SourceShard], UpgradeResult]:
    """Set up a worker, as `auditor.shards.audit.setup` does."""
    gc.disable()
    return UpgradeAuditor(scan, parts)


def lost_upgrade_shard(item: SourceShard, error: Exception, *, scan: UpgradePlan, parts: str) -> UpgradeResult:
    """Write the rows of a shard whose worker died twice."""
    return UpgradeResult(item.shard.number, lost_shard(item, error, plan=scan.new, parts=parts))


def merge_apis(results: list[UpgradeResult]) -> ApiTally:
    """Return the uses of removed versions in all shards."""
    total = ApiTally()
    for result in sorted(results, key=lambda one: one.number):
        total.merge(result.apis)
    return total


def merge_tallies(results: list[UpgradeResult]) -> Iterator[tuple[str, Tally]]:
    """Yield (definition, tally of all shards), by name."""
    total: dict[str, Tally] = {}
    for result in sorted(results, key=lambda one: one.number):
        for name, tally in result.tallies.items():
            total.setdefault(name, Tally()).merge(tally)
    yield from sorted(total.items())
