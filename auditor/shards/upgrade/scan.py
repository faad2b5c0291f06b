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
from auditor.schema.structural import ABSENT
from auditor.shards.conversions import convert_ahead
from auditor.shards.judge import JudgedVersion
from auditor.shards.row_writer import PartFiles
from auditor.shards.shard_audit import ShardAuditor, lost_shard
from auditor.shards.table_rows import TableRows, write_parquet
from auditor.shards.updates import NOT_ASKED
from auditor.shards.upgrade.apis import ApiScan, ApiTally
from auditor.shards.upgrade.counts import ObjectCounts
from auditor.shards.upgrade.paired import OWN_CHOICE, PairedJudge, encoded
from auditor.shards.upgrade.release_causes import ReleaseCauses
from auditor.shards.upgrade.sides import (
    OF_VERSIONS,
    DefinitionSide,
    VersionEffect,
    by_field,
    categories_of,
    is_refused,
    is_reworded,
    newly,
    newly_stuck,
    reason_of,
    sample_of,
    shown_key,
    side_of,
    worst_of,
)  # fmt: skip
from auditor.upgrade import (
    Pairing,
    PathChange,
    Sample,
    UpgradeTally,
    common_version,
    compare_verdicts,
    other_versions,
)
from auditor.upgrade.changes import VERDICT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.records import AuditedObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.plan.run_plan import SourceShard
    from auditor.shards.judge import RowHead
    from auditor.shards.result import ShardResult
    from auditor.shards.updates import UpdateOutcome
    from auditor.shards.upgrade.scan_plan import UpgradePlan
    from auditor.upgrade import OtherVersion


@dataclass(slots=True)
class UpgradeResult:
    """The result of one shard: that of its audit, a tally for each definition by name, one of removed versions."""

    number: int
    audit: ShardResult
    tallies: dict[str, UpgradeTally] = field(default_factory=dict)
    apis: ApiTally = field(default_factory=ApiTally)


class UpgradeAuditor(PairedJudge):
    """Audits shards under the new definitions, and compares every object with its judgement under the old ones."""

    def __init__(self, scan: UpgradePlan, parts: str, count: Callable[..., None] | None = None) -> None:
        self.plan = scan.new
        self.auditor = ShardAuditor(scan.new, parts, sink=PartFiles(count), observer=self)
        self.scan = scan
        self.before = ShardAuditor(scan.old, parts)
        self.causes = ReleaseCauses(scan, parts) if scan.changes_release else None
        self.apis = ApiScan(self.before, scan) if scan.looks_for_apis else None
        self.tallies: dict[str, UpgradeTally] = {}
        self.pairings: dict[tuple[str, str, str], Pairing] = {}
        self._changed = {}
        self.old_entries = {entry.name: entry for entry in scan.old.entries}
        self.counts = ObjectCounts(scan, self.before, self.auditor)
        self.others: dict[tuple[str, str], tuple[OtherVersion, ...]] = {}
        self.rows = TableRows(tables.CHANGES)
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
        self.rows = TableRows(tables.with_metadata(tables.CHANGES, **meta))
        self.tallies = {}

    # ---- one object

    def rejudged(
        self, definition: CustomResourceDefinition, data: bytes, judged: list[JudgedVersion]
    ) -> list[JudgedVersion]:
        """Return the judgement to count for an object under the new definition.

        An export shows objects at a version that a client requested. If that version is removed, the object is judged
        at a remaining one: it need not be stored at the version that the export shows. A version that clients cannot
        ask for is not the one that counts. What only a new webhook can convert is not judged at its own version alone.
        """
        audited = judged[0].audited
        if judged[0].by_webhook and audited.object is not None and self.is_newly_converted(definition, audited):
            return [self.auditor.at_version(definition, self.auditor.storage_of(definition) or "", data)]
        if not self.is_export or audited.object is not None or not self.may_be_migrated(definition, audited):
            return self.as_served(self.auditor, definition, data, judged)
        old = self.before.definition(self.old_entries[definition.name])
        version = None if isinstance(old, str) else common_version(old, definition)
        if isinstance(old, str) or version is None:
            return judged
        before = self.before.at_version(old, version, data)
        first = before.audited
        if first.object is None:
            return [JudgedVersion(first, True, "")] if before.by_webhook else judged
        rewritten = encoded(first)
        rejudged = self.as_served(
            self.auditor, definition, rewritten, self.auditor.judge_alone(definition, rewritten, "stored")
        )
        return [rejudged[0]._replace(rewritten=first), *rejudged[1:]]

    def on_judged(
        self, row: RowHead, definition: CustomResourceDefinition, judged: JudgedVersion, outcome: UpdateOutcome
    ) -> None:
        """Compare the judgement of an object under the new definition with that under the old one."""
        tally = self.tallies.get(definition.name)
        if tally is None:
            tally = self.tallies[definition.name] = UpgradeTally()
        tally.objects += 1
        audited = judged.audited
        if self.is_export and audited.stored_version is not None:
            tally.shown[audited.stored_version] += 1
        new = side_of(audited, outcome)
        self._count_facts(tally, row, definition, new)
        if definition.name in self.scan.deleted:
            effect = VersionEffect(new, [PathChange(VERDICT, None, str(new.state), "deleted")], {"deleted"})
            self._add(row, tally, definition, [effect])
            return
        entry = self.old_entries.get(definition.name)
        old_definition = None if entry is None else self.before.definition(entry)
        if old_definition is None or isinstance(old_definition, str) or not old_definition.established:
            was = Status.ORPHANED if entry is None else Status.UNSERVED
            categories = newly(new, 0) | newly_stuck(new, None)
            effects = [VersionEffect(new, [PathChange(VERDICT, None, str(was), str(new.state))], categories)]
            effects += self._at_other_versions(row, definition, None, new, row.data)
            effects += self.refusing_managers(row, None, definition, new.audited, row.data)
            self._add(row, tally, definition, effects)
            return
        self.counts.gates(tally, row, definition, old_definition)
        self.counts.concerns(tally, row, definition, old_definition)
        pairing = self._pairing(old_definition, definition, audited)
        data = row.data
        if pairing is not None and pairing.is_same(audited.stored_version) and self._is_untouched(definition, new):
            tally.unreadable_before += new.rank == 4
            effects = [VersionEffect(new, [], {"broken-before"} if new.rank >= 3 else set())]
        else:
            may_confuse = pairing is None or pairing.may_confuse
            effect, data = self._compare(
                row, tally, definition, old_definition, new, judged.rewritten, may_confuse=may_confuse
            )
            effects = [effect]
        effects += self._at_other_versions(row, definition, old_definition, effects[0].new, data)
        effects += self._in_storage(row, definition, old_definition, effects[0].new, data)
        effects += self.refusing_managers(row, old_definition, definition, effects[0].new.audited, data)
        self._add(row, tally, definition, effects)

    def _at_other_versions(
        self,
        row: RowHead,
        definition: CustomResourceDefinition,
        old: CustomResourceDefinition | None,
        first: DefinitionSide,
        data: bytes,
    ) -> Iterator[VersionEffect]:
        """Yield what an upgrade does to an object at the other versions that clients use.

        Args:
            row: The row of the object.
            definition: The new definition.
            old: The old one; None means that no server could use one.
            first: The object at the version at which it was judged first.
            data: Its value under the new definition.
        """
        for other in self._others_of(definition, old, first.audited.audited_version):
            if first.state is Status.UNREADABLE:
                return
            if old is not None and other.pairing.is_same(first.audited.stored_version) and self.causes is None:
                continue
            audited = self.auditor.at_version(definition, other.name, data).audited
            if audited.object is None:
                continue
            new = side_of(audited, self.outcome_of(self.auditor, row, definition, audited, data))
            if old is None:
                categories = newly(new, 0) | newly_stuck(new, None)
                changes = [PathChange(VERDICT, None, str(Status.ORPHANED), str(new.state))] if categories else []
            else:
                if other.pairing.is_same(first.audited.stored_version) and self._is_untouched(definition, new):
                    continue
                before = self.before.at_version(old, other.before, row.data).audited
                was = side_of(before, self.outcome_of(self.before, row, old, before, row.data))
                changes, categories = self._differences(
                    row, old, definition, was, new, data, may_confuse=other.pairing.may_confuse
                )
            yield VersionEffect(new, changes, categories & OF_VERSIONS, None if old is None else was)

    def _in_storage(
        self,
        row: RowHead,
        definition: CustomResourceDefinition,
        old: CustomResourceDefinition,
        first: DefinitionSide,
        data: bytes,
    ) -> Iterator[VersionEffect]:
        """Yield what writes of an object lose, because it is stored at a version at which it was not judged."""
        version = first.audited.audited_version
        if version is None or first.audited.object is None or self.at not in OWN_CHOICE:
            return
        for name in (version, *(other.name for other in self._others_of(definition, old, version))):
            if lost := self.lost_in_storage(row, old, definition, name, data):
                audited = self.auditor.at_version(definition, name, data).audited
                yield VersionEffect(side_of(audited, NOT_ASKED), lost, {"data-loss"})

    def _others_of(
        self, definition: CustomResourceDefinition, old: CustomResourceDefinition | None, version: str | None
    ) -> tuple[OtherVersion, ...]:
        """Return the other versions that clients use; none where the user asked for versions."""
        key = (definition.name, version or "")
        others = self.others.get(key)
        if others is None:
            others = ()
            if version in definition.versions and self.at in OWN_CHOICE:
                others = other_versions(definition if old is None else old, definition, version)
            self.others[key] = others
        return others

    def _is_untouched(self, definition: CustomResourceDefinition, new: DefinitionSide) -> bool:
        """Whether both releases say the same of an object of a definition that stays as it is."""
        return self.causes is None or self.causes.is_untouched(definition.name, new)

    def _pairing(
        self, old: CustomResourceDefinition, new: CustomResourceDefinition, audited: AuditedObject
    ) -> Pairing | None:
        """Return the pair of two definitions, or None if only one of them has the version of the judged object."""
        version = audited.audited_version or ""
        was_version = self.old_version(old, version, audited.stored_version)
        if was_version is None:
            return None
        key = (new.name, was_version, version)
        pairing = self.pairings.get(key)
        if pairing is None:
            pairing = self.pairings[key] = Pairing(old, new, was_version, version)
        return pairing

    def _compare(
        self,
        row: RowHead,
        tally: UpgradeTally,
        new_definition: CustomResourceDefinition,
        old: CustomResourceDefinition,
        new: DefinitionSide,
        rewritten: AuditedObject | None,
        *,
        may_confuse: bool,
    ) -> tuple[VersionEffect, bytes]:
        """Return what the upgrade does to an object, and its value under the new definition."""
        before = rewritten or self.judged_by(self.before, old, new.audited.audited_version or "", row.data)
        outcome = NOT_ASKED
        if before.findings or new.audited.findings or new.outcome.verdict is not None or new.audited.object is None:
            outcome = self.outcome_of(self.before, row, old, before, row.data)
        was = side_of(before, outcome)
        categories: set[str] = set()
        changes: list[PathChange] = []
        data = row.data
        if rewritten is not None:
            data = encoded(rewritten)
            changes += self.lost_on_the_way(row, old, self.before.judge(old, row.data, "stored")[0].audited, before)
        if new.state is Status.UNREADABLE and self.may_be_migrated(new_definition, new.audited):
            migrated = None if before.object is None else self.after_migration(row, new_definition, old)
            if migrated is None:
                tally.rewrites["refused"] += 1
            else:
                first, after, first_outcome = migrated
                if not self.is_export:  # an export shows another version than it is stored at
                    categories.add("unmigrated")
                    refused = is_refused(first_outcome)
                    tally.migration_refused += refused
                    tally.rewrites["refused" if refused else "passed"] += 1
                    changes.append(PathChange(VERDICT, None, str(was.state), str(Status.UNREADABLE)))
                    tally.sample("unmigrated", Sample(shown_key(row), reason_of(new.audited)))
                changes += self.lost_on_the_way(row, old, before, first)
                was, new = side_of(first, first_outcome), after
                data = encoded(first)
                self.counts.object(tally, row, new_definition, new.audited)
        categories |= {"data-loss"} if any(change.is_loss for change in changes) else set()
        differences, compared = self._differences(row, old, new_definition, was, new, data, may_confuse=may_confuse)
        changes += differences
        categories |= compared
        is_new = self.needs_webhook(self.auditor, new_definition, new.audited)
        if is_new and not self.needs_webhook(self.before, old, before):
            categories.add("needs-conversion")
        if self.scan.changes_release and was.rank == new.rank and is_reworded(was, new):
            categories.add("reworded")
        if self.is_export and new.state is Status.NEEDS_CONVERSION and new.audited.audited_version in old.versions:
            categories = (categories - {"needs-conversion"}) | {"unconverted"}
        tally.unreadable_before += new.rank == 4 and was.rank == 4
        if self.causes is not None:
            own = old if self.causes.is_forward else new_definition

            def again(side: ShardAuditor) -> DefinitionSide:
                audited = self.judged_by(side, own, new.audited.audited_version or "", row.data)
                return side_of(audited, self.outcome_of(side, row, own, audited, row.data))

            self.causes.count(tally, row, (was, new), categories, again)
        return VersionEffect(new, changes, categories, was), data

    def _differences(
        self,
        row: RowHead,
        old: CustomResourceDefinition,
        definition: CustomResourceDefinition,
        was: DefinitionSide,
        new: DefinitionSide,
        data: bytes,
        *,
        may_confuse: bool,
    ) -> tuple[list[PathChange], set[str]]:
        """Return what differs between an object under the old and the new definition, and the categories of that.

        Args:
            row: The row of the object.
            old: The old definition.
            definition: The new definition.
            was: The object under the old one.
            new: The object under the new one.
            data: Its value under the new definition.
            may_confuse: As `compare_reads` takes it.
        """
        changes: list[PathChange] = []
        categories: set[str] = set()
        if was.audited.object is not None and new.audited.object is not None:
            if was.rank or new.rank:
                if new.state != was.state:
                    changes.append(PathChange(VERDICT, None, str(was.state), str(new.state)))
                changes += compare_verdicts(by_field(was), by_field(new))
            reads = self.reads(row, old, definition, was.audited, new.audited, data, may_confuse=may_confuse)
            categories |= categories_of(reads)
            changes += reads
        elif new.state != was.state:
            changes.append(PathChange(VERDICT, None, str(was.state), str(new.state)))
        categories |= newly(new, was.rank) | newly_stuck(new, was)
        if new.rank in (1, 2) and any(
            change.change == VERDICT and change.path and change.old is ABSENT for change in changes
        ):
            categories.add("tolerated" if new.rank == 1 else "invalid")
        return changes, categories

    def _count_facts(
        self, tally: UpgradeTally, row: RowHead, definition: CustomResourceDefinition, new: DefinitionSide
    ) -> None:
        """Count what depends on the new definition alone: migration, managedFields, unknown formats."""
        audited = new.audited
        storage = self.auditor.storage_of(definition)
        if not self.is_export and audited.stored_version is not None and audited.stored_version != storage:
            tally.to_migrate += 1
        if audited.object is None and self.may_be_migrated(definition, audited):
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
        self.counts.object(tally, row, definition, audited)

    def _add(
        self, row: RowHead, tally: UpgradeTally, definition: CustomResourceDefinition, effects: list[VersionEffect]
    ) -> None:
        """Count an object and add its changes; the first effect is that at the version where it was judged first."""
        told = set()
        for effect in effects:
            for change in effect.changes:
                self._add_row(row, effect.new, change)
                key = (change.change, change.path, *change.texts())
                if key not in told:
                    told.add(key)
                    tally.count(change, plain_path(change.path or ""))
        self.counts.narrowed(tally, definition, effects)
        categories = worst_of(effects)
        tally.create_refused += "tolerated" in categories and any(
            "tolerated" in effect.categories and self.refuses_create(definition, effect.new.audited)
            for effect in effects
        )
        tally.categories.update(categories or {"unchanged"})
        first = effects[0].new.audited.audited_version
        is_told = first != self.auditor.storage_of(definition) or bool(self.others.get((definition.name, first or "")))
        for category in categories:
            shown = [effect for effect in effects if category in effect.categories]
            if is_told or category == "manager-refused":
                tally.versions.update({(category, effect.new.audited.audited_version or "") for effect in shown})
            if category != "unmigrated" and len(tally.samples.get(category, ())) < 3:
                sample = sample_of(row, shown[0], category)
                is_named = is_told and category in OF_VERSIONS and bool(sample.text)
                where = f"at {shown[0].new.audited.audited_version}: " if is_named else ""
                tally.sample(category, sample._replace(text=f"{where}{sample.text}"))

    def _add_row(self, row: RowHead, new: DefinitionSide, change: PathChange) -> None:
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


def setup_upgrade(
    scan: UpgradePlan, parts: str, count: Callable[..., None] | None = None
) -> Callable[[SourceShard], UpgradeResult]:
    """Set up a worker, as `auditor.shards.shard_audit.setup` does."""
    gc.disable()
    return UpgradeAuditor(scan, parts, count)


def lost_upgrade_shard(
    item: SourceShard, error: Exception, *, scan: UpgradePlan, parts: str, count: Callable[..., None] | None = None
) -> UpgradeResult:
    """Write the rows of a shard whose worker died twice."""
    return UpgradeResult(item.shard.number, lost_shard(item, error, plan=scan.new, parts=parts, count=count))


def merge_apis(results: list[UpgradeResult]) -> ApiTally:
    """Return the uses of removed versions in all shards."""
    total = ApiTally()
    for result in sorted(results, key=lambda one: one.number):
        total.merge(result.apis)
    return total


def merge_tallies(results: list[UpgradeResult]) -> Iterator[tuple[str, UpgradeTally]]:
    """Yield (definition, tally of all shards), by name."""
    total: dict[str, UpgradeTally] = {}
    for result in sorted(results, key=lambda one: one.number):
        for name, tally in result.tallies.items():
            total.setdefault(name, UpgradeTally()).merge(tally)
    yield from sorted(total.items())
