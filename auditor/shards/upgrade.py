"""Stages of an upgrade scan: the plan with two sets of definitions, and shards judged under both.

A shard is audited as always, under the new definitions. Each object that comes out of it is compared with what it is
under the old ones; where nothing that it goes by changes, nothing is done for it a second time.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

import auditor
from auditor.base import tables
from auditor.base.paths import plain_path
from auditor.base.statuses import Impact, Status
from auditor.crds.as_v1 import as_manifest
from auditor.crds.definition import document_name
from auditor.crds.definitions_file import definition_entry, write_definitions
from auditor.gates.change import gate_changes
from auditor.gates.paths import places
from auditor.golang.jsontext import decode, encode
from auditor.plan.definition_paths import definition_documents
from auditor.plan.plan import Plan, make_plan
from auditor.program.impact import needs_webhook
from auditor.schema.structural import ABSENT
from auditor.shards.audit import ShardAuditor, lost_shard
from auditor.shards.columns import Rows, write_parquet
from auditor.shards.conversions import convert_ahead
from auditor.shards.updates import NOT_ASKED
from auditor.storage_read.read import ReadError, decode_value
from auditor.updates.field_path import locate
from auditor.updates.managed_fields import last_writer
from auditor.upgrade import (
    NEW_TRANSITION,
    Change,
    Pairing,
    Sample,
    Tally,
    UnknownFormats,
    after_update,
    common_version,
    compare_reads,
    compare_verdicts,
    has_value,
    in_cluster,
    schema_changes,
    worst_by_field,
)
from auditor.upgrade.changes import VERDICT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from auditor.base.records import AuditedObject, JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.gates.change import GateChanges
    from auditor.gates.paths import GatePath
    from auditor.plan.options import AuditOptions
    from auditor.plan.plan import SourceShard
    from auditor.shards.result import ShardResult
    from auditor.shards.updates import Outcome

__all__ = [
    "UpgradeOptions",
    "UpgradePlan",
    "UpgradeResult",
    "lost_upgrade_shard",
    "merge_tallies",
    "plan_upgrade",
    "setup_upgrade",
]


@dataclass(frozen=True, slots=True)
class UpgradeOptions:
    """What an upgrade scan is asked beside what an audit is.

    Attributes:
        new_crds: Files or folders with the definitions to come; ``-`` is standard input.
        missing: What becomes of definitions that are not among them: keep or delete.
        assumptions: Format that this release does not know, to one that it does.
        old_sidecars: Files of field-level gates of today, by name of the definition; those of the audit's options are
            the ones to come.
        via: Files or folders with the definitions of a release between; the scan is then that of the second hop.
        plan_file: Where the plan goes; empty: nowhere.
    """

    new_crds: tuple[str, ...]
    missing: str = "keep"
    assumptions: dict[str, str] = field(default_factory=dict)
    old_sidecars: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    plan_file: str = ""


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """The plans of the audits under the old and the new definitions: same sources, other definitions.

    Attributes:
        old: Definitions of the dump, replaced by name by those of --old-crds.
        new: The same, replaced by name by those of --new-crds; those to be deleted are kept in it.
        applied: Names of the definitions of --new-crds.
        deleted: Names of those to be deleted.
    """

    old: Plan
    new: Plan
    applied: frozenset[str]
    deleted: frozenset[str]
    options: UpgradeOptions

    def documents(self, name: str) -> tuple[JsonObject | None, JsonObject | None]:
        """Return the old and the new document of a definition, or None if it has none."""
        old, new = (
            next((plan.definitions_file.document(entry) for entry in plan.entries if entry.name == name), None)
            for plan in (self.old, self.new)
        )
        return None if old is None else with_status(self.old, name, old), None if name in self.deleted else new


def with_status(plan: Plan, name: str, document: JsonObject) -> JsonObject:
    """Return a definition of today as the cluster has it: one from a file has the status of the dump's."""
    replaced = plan.replaced.get(name)
    return in_cluster(document, None if replaced is None else decode(replaced).get("status"))


@dataclass(slots=True)
class UpgradeResult:
    """What one shard came to: the result of its audit, and a tally for each definition by name."""

    number: int
    audit: ShardResult
    tallies: dict[str, Tally] = field(default_factory=dict)


def plan_upgrade(options: AuditOptions, upgrade: UpgradeOptions, workdir: Path) -> UpgradePlan:
    """Open every dump once, and set the new definitions beside the old ones.

    Raises:
        AuditorError: A dump or a file of definitions cannot be read.
    """
    asked = replace(options, field_gates="", gate_sidecars=upgrade.old_sidecars)
    old = make_plan(asked, workdir, go_on=True)
    if upgrade.via:
        old = _applied(old, _given(upgrade.via), workdir / "definitions-between.ndjson")
    given = _given(upgrade.new_crds)
    before = {entry.name for entry in old.entries}
    new = replace(_applied(old, given, workdir / "definitions-new.ndjson"), options=options)
    gone = before - given.keys() if upgrade.missing == "delete" else ()
    return UpgradePlan(old, new, frozenset(given), frozenset(gone), upgrade)


def _given(paths: tuple[str, ...]) -> dict[str, JsonObject]:
    given = {document_name(document): _as_sent(document) for document in definition_documents(paths)}
    if not given:
        raise auditor.AuditorError(", ".join(paths), "no definition found", "CustomResourceDefinitions")
    return given


def _as_sent(document: JsonObject) -> JsonObject:
    """Return a definition as a client sends it: one from another cluster without what its server wrote."""
    metadata = document.get("metadata")
    is_stored = type(metadata) is dict and "uid" in metadata and document.get("apiVersion") == "apiextensions.k8s.io/v1"
    return as_manifest(document) if is_stored else document


def _applied(old: Plan, given: dict[str, JsonObject], path: Path) -> Plan:
    """Return a plan with definitions applied over those that it has.

    Args:
        old: The plan before.
        given: The definitions to apply, by name.
        path: The file that all go to.
    """
    entries, sha256 = write_definitions(path, _new_definitions(old, given))
    return replace(
        old,
        definitions=str(path),
        entries=entries,
        from_files=old.from_files | given.keys(),
        crds_sha256=sha256,
        files_sha256="",
    )


def _new_definitions(old: Plan, given: dict[str, JsonObject]) -> Iterator[tuple[DefinitionEntry, bytes]]:
    """Yield the definitions after the upgrade, by name: those of a plan, and what an update with those given makes."""
    before = {entry.name: entry for entry in old.entries}
    file = old.definitions_file
    for name in sorted(before.keys() | given.keys()):
        entry = before.get(name)
        if name in given:
            today = None if entry is None else with_status(old, name, file.document(entry))
            document = after_update(today, given[name])
            yield definition_entry(name, document, False), _encoded(document)
        elif entry is not None:
            yield entry, file.text(entry)


def _encoded(document: JsonObject) -> bytes:
    """Return a document as JSON in which numbers keep their types: 1.0 is no integer."""
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # a number or a string that only Go's own decoder makes
        return encode(document).encode("utf-8", "surrogatepass")


class _Side(NamedTuple):
    """An object under one set of definitions."""

    audited: AuditedObject
    outcome: Outcome
    standing: Status | Impact

    @property
    def rank(self) -> int:
        """How bad it is: 0 valid, 1 tolerated, 2 invalid (no update verdict), 3 blocked, 4 not to be read."""
        if isinstance(self.standing, Impact):
            return 3 if self.standing.blocks else 1
        return {Status.VALID: 0, Status.INVALID: 2}.get(self.standing, 4)


def _side(audited: AuditedObject, outcome: Outcome) -> _Side:
    return _Side(audited, outcome, _standing(audited, outcome))


def _standing(audited: AuditedObject, outcome: Outcome) -> Status | Impact:
    if audited.unreadable is not None:
        return Status.NEEDS_CONVERSION if needs_webhook(audited) else Status.UNREADABLE
    impacts = outcome.verdict.impacts if outcome.verdict is not None else ()
    blocks = [impact for impact in impacts if impact.blocks]
    if blocks:
        return min(blocks, key=attrgetter("rank"))
    if audited.findings:
        return Impact.TOLERATED if outcome.is_known else Status.INVALID
    return Status.VALID


class UpgradeAuditor(ShardAuditor):
    """Audits shards under the new definitions and compares every object with what it is under the old ones."""

    def __init__(self, scan: UpgradePlan, parts: str) -> None:
        super().__init__(scan.new, parts)
        self.scan = scan
        self.before = ShardAuditor(scan.old, parts)
        self.tallies: dict[str, Tally] = {}
        self.pairings: dict[tuple[str, str, str], Pairing] = {}
        self.formats: dict[tuple[str, str], UnknownFormats] = {}
        self.gate_changes: dict[str, tuple[GateChanges, tuple[GatePath, ...]]] = {}
        self.old_entries = {entry.name: entry for entry in scan.old.entries}
        self.concerns: dict[str, _Concerns] = {}
        self.exported: dict[int, AuditedObject] = {}
        self.rows = Rows(tables.CHANGES)
        self.source_name = ""
        self.is_export = False

    def __call__(self, item: SourceShard) -> Any:
        """Audit one shard and write what changes; the answer is an UpgradeResult."""
        source = self.plan.sources[item.source]
        self.source_name, self.is_export = source.name, source.is_export
        self.begin()
        convert_ahead(self.before, item)
        result = super().__call__(item)
        if len(self.rows):
            write_parquet(self.rows.table(), self.parts / "changes" / f"part-{item.shard.number:05d}.parquet")
        return UpgradeResult(item.shard.number, result, self.tallies)

    def begin(self) -> None:
        """Forget what was noticed of objects."""
        meta = {"tool": auditor.__version__, "release": auditor.KUBERNETES_RELEASE, "crds": self.plan.crds_sha256}
        self.rows = Rows(tables.with_metadata(tables.CHANGES, **meta))
        self.tallies = {}

    # ---- one object

    def judge(self, definition: CustomResourceDefinition, data: bytes, at: str) -> list[tuple[AuditedObject, bool]]:
        """Judge an object under the new definition.

        An export shows objects at a version that a client asked for. Where that version goes, the object is judged as
        it is at one that remains: nothing says that it is stored at the version that the export shows.
        """
        judged = super().judge(definition, data, at)
        self.exported.clear()
        audited = judged[0][0]
        if not self.is_export or audited.object is not None or not self._may_be_migrated(definition, audited):
            return judged
        old = self.before.definition(self.old_entries[definition.name])
        version = None if isinstance(old, str) else common_version(old, definition)
        if isinstance(old, str) or version is None:
            return judged
        first, needs_webhook = self.before.at_version(old, version, data)
        if first.object is None:
            return [(first, True)] if needs_webhook else judged
        rewritten = encode(first.object).encode("utf-8", "surrogatepass")
        judged = super().judge(definition, rewritten, "stored")
        self.exported[id(judged[0][0])] = first
        return judged

    def saw(self, row: Any, definition: CustomResourceDefinition, audited: AuditedObject, outcome: Outcome) -> None:
        """Compare an object, judged under the new definition, with what it is under the old one."""
        tally = self.tallies.get(definition.name)
        if tally is None:
            tally = self.tallies[definition.name] = Tally()
        tally.objects += 1
        new = _side(audited, outcome)
        self._count_facts(tally, row, definition, new)
        if definition.name in self.scan.deleted:
            self._add(row, tally, new, [Change(VERDICT, None, str(new.standing), "deleted")], {"deleted"})
            return
        entry = self.old_entries.get(definition.name)
        old_definition = None if entry is None else self.before.definition(entry)
        if old_definition is None or isinstance(old_definition, str) or not old_definition.established:
            was = Status.ORPHANED if entry is None else Status.UNSERVED
            self._add(row, tally, new, [Change(VERDICT, None, str(was), str(new.standing))], _newly(new, 0))
            return
        self._count_gates(tally, row, definition, old_definition)
        self._count_concerns(tally, row, definition, old_definition)
        pairing = self._pairing(old_definition, definition, audited)
        if pairing is not None and pairing.is_same(audited.stored_version):
            tally.unreadable_before += new.rank == 4
            self._add(row, tally, new, [], {"broken-before"} if new.rank >= 3 else set())
            return
        may_confuse = pairing is None or pairing.may_confuse
        self._compare(row, tally, definition, old_definition, new, may_confuse=may_confuse)

    def _pairing(
        self, old: CustomResourceDefinition, new: CustomResourceDefinition, audited: AuditedObject
    ) -> Pairing | None:
        """Return how two definitions are paired, or None if only one of them has the version of the judged object."""
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
        """Return the version of the old definition at which an object is judged that was judged at one of the new."""
        at = self.plan.options.at_of_exports if self.is_export else self.plan.options.at
        storage = self.before.storage_of(old)
        if at == "storage":
            # Where the read at the storage version failed, the object was judged at its own.
            return storage if storage == version or version not in old.versions else None
        return version if version in old.versions else storage

    def _judged_before(self, old: CustomResourceDefinition, version: str, data: bytes) -> AuditedObject:
        at = self.plan.options.at_of_exports if self.is_export else self.plan.options.at
        if at in ("storage", "stored"):
            return self.before.judge(old, data, at)[0].audited
        fallback = self.before.storage_of(old) or next(iter(old.versions))
        return self.before.at_version(old, version if version in old.versions else fallback, data).audited

    def _outcome_of(
        self, side: ShardAuditor, row: Any, definition: CustomResourceDefinition, audited: AuditedObject, data: bytes
    ) -> Outcome:
        if audited.object is None or not self.plan.options.judges_updates:
            return NOT_ASKED
        program = side.program(definition, audited.audited_version or "")
        place = (row.namespace, row.name)
        return side.verdicts.judge(program, audited, data, place, row.revision, is_export=row.key is None)

    def _compare(
        self,
        row: Any,
        tally: Tally,
        new_definition: CustomResourceDefinition,
        old: CustomResourceDefinition,
        new: _Side,
        *,
        may_confuse: bool,
    ) -> None:
        before = self.exported.get(id(new.audited)) or self._judged_before(
            old, new.audited.audited_version or "", row.data
        )
        outcome = NOT_ASKED
        if before.findings or new.audited.findings or new.outcome.verdict is not None or new.audited.object is None:
            outcome = self._outcome_of(self.before, row, old, before, row.data)
        was = _side(before, outcome)
        categories: set[str] = set()
        changes: list[Change] = []
        if id(new.audited) in self.exported:
            changes += self._lost_on_the_way(row, old, self.before.judge(old, row.data, "stored")[0][0], before)
        if new.standing is Status.UNREADABLE and self._may_be_migrated(new_definition, new.audited):
            migrated = None if before.object is None else self._after_migration(row, new_definition, old)
            if migrated is None:
                tally.rewrites["refused"] += 1
            else:
                first, after, first_outcome = migrated
                if not self.is_export:  # an export shows another version than it is stored at
                    categories.add("unmigrated")
                    refused = _is_refused(first_outcome)
                    tally.migration_refused += refused
                    tally.rewrites["refused" if refused else "passed"] += 1
                    changes.append(Change(VERDICT, None, str(was.standing), str(Status.UNREADABLE)))
                    tally.sample("unmigrated", Sample(_shown_key(row), _reason(new.audited)))
                changes += self._lost_on_the_way(row, old, before, first)
                was, new = _side(first, first_outcome), after
                self._count_object(tally, row, new_definition, new.audited)
        categories |= {"data-loss"} if any(one.is_loss for one in changes) else set()
        if was.audited.object is not None and new.audited.object is not None:
            if was.rank or new.rank:
                if new.standing != was.standing:
                    changes.append(Change(VERDICT, None, str(was.standing), str(new.standing)))
                changes += compare_verdicts(_by_field(was), _by_field(new))
            reads = compare_reads(was.audited, new.audited, lambda: _decoded(row.data), may_confuse=may_confuse)
            categories |= _categories_of(reads)
            changes += reads
        elif new.standing != was.standing:
            changes.append(Change(VERDICT, None, str(was.standing), str(new.standing)))
        if self._needs_webhook(self, new_definition, new.audited) and not self._needs_webhook(self.before, old, before):
            categories.add("needs-conversion")
        categories |= _newly(new, was.rank)
        if self.is_export and new.standing is Status.NEEDS_CONVERSION and new.audited.audited_version in old.versions:
            categories = (categories - {"needs-conversion"}) | {"unconverted"}
        tally.unreadable_before += new.rank == 4 and was.rank == 4
        if new.rank in (1, 2) and any(one.change == VERDICT and one.path and one.old is ABSENT for one in changes):
            categories.add("tolerated" if new.rank == 1 else "invalid")
        self._add(row, tally, new, changes, categories)

    def _lost_on_the_way(
        self, row: Any, old: CustomResourceDefinition, before: AuditedObject, first: AuditedObject
    ) -> list[Change]:
        """Return what an object loses when it is rewritten at a version that remains; a webhook may move it instead."""
        if old.conversion == "Webhook" or before.object is None or first.object is None:
            return []
        return [one for one in compare_reads(before, first, lambda: _decoded(row.data)) if one.is_loss]

    def _needs_webhook(self, side: ShardAuditor, definition: CustomResourceDefinition, audited: AuditedObject) -> bool:
        """Whether only a webhook can read an object at the storage version; of exports nobody knows."""
        return (
            not self.is_export
            and definition.conversion == "Webhook"
            and definition.webhook is None
            and audited.stored_version in definition.versions
            and audited.stored_version != side.storage_of(definition)
        )

    def _may_be_migrated(self, definition: CustomResourceDefinition, audited: AuditedObject) -> bool:
        """Whether an object cannot be read only because its version goes: under the old definition it can be rewritten.

        That takes a version that both definitions have, and can be read at.
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
        self, row: Any, new_definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> tuple[AuditedObject, _Side, Outcome] | None:
        """Judge an object as it would be once it was rewritten under the old definition; None: that would not help.

        Returns:
            What it is under the old definition at the version it would be written at, what it would then be under the
            new one, and what the old server says to the write.
        """
        at = common_version(old, new_definition)
        if at is None:
            return None
        first = self.before.at_version(old, at, row.data).audited
        if first.object is None:
            return None
        outcome = self._outcome_of(self.before, row, old, first, row.data)
        data = encode(first.object).encode("utf-8", "surrogatepass")
        after = self.judge(new_definition, data, "stored" if self.is_export else "storage")[0].audited
        return first, _side(after, self._outcome_of(self, row, new_definition, after, data)), outcome

    # ---- what is told

    def _count_facts(self, tally: Tally, row: Any, definition: CustomResourceDefinition, new: _Side) -> None:
        """Count what hangs on the new definition alone: migration, managedFields, unknown formats."""
        audited = new.audited
        storage = self.storage_of(definition)
        if not self.is_export and audited.stored_version is not None and audited.stored_version != storage:
            tally.to_migrate += 1
        if audited.object is None and self._may_be_migrated(definition, audited):
            return  # what the server says to a write under the old definition counts (`_compare`)
        if audited.object is None:
            tally.rewrites["unknown" if new.standing is Status.NEEDS_CONVERSION else "refused"] += 1
            if new.standing is not Status.NEEDS_CONVERSION:
                tally.sample("rewrite-refused", Sample(_shown_key(row), _reason(audited)))
            return
        code = new.outcome.codes[0]
        tally.rewrites["unknown" if code is None else "passed" if code < 300 else "refused"] += 1
        if code is not None and code >= 300 and new.outcome.verdict is not None:
            tally.sample("rewrite-refused", Sample(_shown_key(row), new.outcome.verdict.put.message))
        self._count_object(tally, row, definition, audited)

    def _count_object(
        self, tally: Tally, row: Any, definition: CustomResourceDefinition, audited: AuditedObject
    ) -> None:
        """Count what an object holds: versions in managedFields that go, values of unknown formats."""
        obj = audited.object or {}
        for version in _managed_versions(obj, definition):
            tally.managed[version] += 1
            tally.sample(f"managed {version}", Sample(_shown_key(row), ""))
        formats = self._formats(definition, audited.audited_version or "")
        if formats:
            for place, name, value, fails in formats.values(obj):
                tally.formats[(place, name)] += 1
                if fails:
                    tally.failing[(place, name)] += 1
                    tally.sample(f"format {place} {name}", Sample(_shown_key(row), encode(value)))

    def _count_gates(
        self, tally: Tally, row: Any, definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> None:
        """Count the use of fields whose gates change."""
        found = self.gate_changes.get(definition.name)
        if found is None:
            made = gate_changes(self.before.gated.gates(old), self.gated.gates(definition))
            paths = {path for change in made.changes for path in change.paths} | {*made.closed, *made.opened}
            found = self.gate_changes[definition.name] = made, tuple(sorted(paths, key=str))
        changes, concerned = found
        if not concerned:
            return
        stored = _decoded(row.data)
        for path in concerned:
            if any(True for _ in places(stored, path.steps)):
                tally.gates[str(path)] += 1
                if path in changes.closed:
                    tally.closed[str(path)] += 1
                    tally.sample(f"gate {path}", Sample(_shown_key(row), f"{path} is switched off"))

    def _count_concerns(
        self, tally: Tally, row: Any, definition: CustomResourceDefinition, old: CustomResourceDefinition
    ) -> None:
        """Count who uses versions and subresources that go, and the objects under new transition rules."""
        found = self.concerns.get(definition.name)
        if found is None:
            found = self.concerns[definition.name] = _concerns(old, definition)
        if not found:
            return
        stored = _decoded(row.data)
        for path in found.transitions:
            tally.hits[("has", path)] += has_value(stored, path)
        if found.versions or found.subresources:
            used = set(_used(stored, found))
            tally.users.update(used)
            tally.uses.update({what for what, _ in used})

    def _formats(self, definition: CustomResourceDefinition, version: str) -> UnknownFormats:
        found = self.formats.get((definition.name, version))
        if found is None:
            schema = definition.versions[version].schema
            found = self.formats[(definition.name, version)] = UnknownFormats(schema, self.scan.options.assumptions)
        return found

    def _add(self, row: Any, tally: Tally, new: _Side, changes: list[Change], categories: set[str]) -> None:
        for change in changes:
            self._add_row(row, new, change)
            tally.count(change, plain_path(change.path or ""))
        tally.hits.update({hit for change in changes if (hit := _hit(change)) is not None})
        tally.categories.update(categories or {"unchanged"})
        for category in categories - {"unmigrated"}:
            if len(tally.samples.get(category, ())) < 3:
                tally.sample(category, _sample(row, new, changes, category))

    def _add_row(self, row: Any, new: _Side, change: Change) -> None:
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


# -- what goes, and who uses it ----------------------------------------------------------------------------------------


class _Concerns(NamedTuple):
    """What an upgrade takes away from the clients of a kind.

    Attributes:
        versions: Versions that are no longer served, with the group.
        subresources: Subresources that go.
        transitions: Paths of new transition rules.
    """

    versions: dict[str, str]
    subresources: frozenset[str]
    transitions: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.versions or self.subresources or self.transitions)


def _concerns(old: CustomResourceDefinition, new: CustomResourceDefinition) -> _Concerns:
    served = {one.name for one in new.served_versions}
    versions = {f"{old.group}/{one.name}": one.name for one in old.served_versions if one.name not in served}
    gone = set()
    for one in old.served_versions:
        after = new.versions.get(one.name)
        if after is not None and after.served:
            gone |= {"status"} if one.has_status and not after.has_status else set()
            gone |= {"scale"} if one.scale is not None and after.scale is None else set()
    rules = {one.path for one in schema_changes(old, new) if one.change == NEW_TRANSITION}
    return _Concerns(versions, frozenset(gone), tuple(sorted(rules)))


def _used(obj: Any, concerns: _Concerns) -> Iterator[tuple[str, str]]:
    """Yield (what goes, manager that used it) by the managedFields of an object."""
    metadata = obj.get("metadata") if type(obj) is dict else None
    entries = metadata.get("managedFields") if type(metadata) is dict else None
    for entry in entries if type(entries) is list else ():
        if type(entry) is dict:
            manager, api = entry.get("manager"), entry.get("apiVersion")
            name = manager if type(manager) is str and manager else "unknown"
            if type(api) is str and api in concerns.versions:
                yield f"version {concerns.versions[api]}", name
            if entry.get("subresource") in concerns.subresources:
                yield f"subresource {entry['subresource']}", name


def _hit(change: Change) -> tuple[str, str] | None:
    """Return what a change of an object is counted as for the changes of the schema."""
    if change.change == VERDICT and change.path and change.old is ABSENT:
        return "invalid", plain_path(change.path)
    return ("lost", plain_path(change.path or "")) if change.is_loss else None


# -- judging the two sides ---------------------------------------------------------------------------------------------


def _newly(new: _Side, before: int) -> set[str]:
    """Return the categories that follow from how bad an object is, and was."""
    if new.rank >= 3 and before >= new.rank:
        return {"broken-before"}
    if new.rank < before:
        return {"mended"}
    if new.rank == before:
        return set()
    if new.rank == 4:
        return {str(new.standing)}
    return {("tolerated", "invalid", "blocked")[new.rank - 1]}


_NOT_CHECKED: Final = "some validation rules were not checked"
_CATEGORY: Final = {"defaulted": "drift", "default-changed": "drift", "selector": "selector"}


def _categories_of(changes: list[Change]) -> set[str]:
    return {"data-loss" if one.is_loss else _CATEGORY.get(one.change, "drift") for one in changes}


def _by_field(side: _Side) -> dict[str, str]:
    return worst_by_field((finding.field, told.verdict) for finding, told in side.outcome.rows(side.audited))


def _is_refused(outcome: Outcome) -> bool:
    code = outcome.codes[0]
    return code is not None and code >= 300


def _reason(audited: AuditedObject) -> str:
    return "" if audited.unreadable is None else audited.unreadable.reason


def _shown_key(row: Any) -> str:
    """Return what `auditor show` finds a row by."""
    return row.text_key or f"{row.namespace or ''}/{row.name}"


def _decoded(data: bytes) -> Any:
    try:
        return decode_value(data)
    except ReadError:
        return {}


def _managed_versions(obj: JsonObject, definition: CustomResourceDefinition) -> set[str]:
    """Return the versions that managedFields name and the definition does not have."""
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if type(metadata) is dict else None
    if not entries:
        return set()
    start = f"{definition.group}/"
    named = {entry.get("apiVersion") for entry in entries if type(entry) is dict}
    versions = {text.removeprefix(start) for text in named if type(text) is str and text.startswith(start)}
    return versions - definition.versions.keys()


def _sample(row: Any, new: _Side, changes: list[Change], category: str) -> Sample:
    """Return an object as an example of a category: what the matter is, and who last wrote the field."""
    key = _shown_key(row)
    if category in ("unreadable", "needs-conversion"):
        return Sample(key, _reason(new.audited))
    if category in ("blocked", "invalid", "tolerated"):
        fields = {change.path for change in changes if change.change == VERDICT}
        told = [one for one in new.outcome.rows(new.audited) if one[0].field in fields or None in fields]
        # The note that rules were not checked is the consequence of another finding, which names the cause.
        told.sort(key=lambda one: (_NOT_CHECKED in one[0].message, one[0].field == "<nil>"))
        if told:
            finding, about = told[0]
            return Sample(key, finding.message, about.last_manager, about.last_write)
        verdict = new.outcome.verdict
        return Sample(key, verdict.put.message if verdict is not None else "")
    for change in changes:
        if change.change != VERDICT and category in _categories_of([change]):
            return _sample_of_change(key, row, change)
    return Sample(key, _reason(new.audited))


def _sample_of_change(key: str, row: Any, change: Change) -> Sample:
    old, new = (_cut(text) for text in change.texts())
    text = f"{change.path} = {old}" if change.is_loss else f"{change.path}: {old} -> {new}"
    stored = _decoded(row.data)
    found = last_writer(stored, locate(stored, change.path or "")[0]) or (None, None)
    return Sample(key, text, *found)


def _cut(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text if len(text) <= 80 else f"{text[:80]}..."


# -- workers -----------------------------------------------------------------------------------------------------------


def setup_upgrade(scan: UpgradePlan, parts: str) -> Callable[[SourceShard], UpgradeResult]:
    """Make a worker ready, as `auditor.shards.audit.setup` does."""
    gc.disable()
    return UpgradeAuditor(scan, parts)


def lost_upgrade_shard(item: SourceShard, error: Exception, *, scan: UpgradePlan, parts: str) -> UpgradeResult:
    """Write the rows of a shard whose worker died twice."""
    return UpgradeResult(item.shard.number, lost_shard(item, error, plan=scan.new, parts=parts))


def merge_tallies(results: list[UpgradeResult]) -> Iterator[tuple[str, Tally]]:
    """Yield (definition, tally of all shards), by name."""
    total: dict[str, Tally] = {}
    for result in sorted(results, key=lambda one: one.number):
        for name, tally in result.tallies.items():
            total.setdefault(name, Tally()).merge(tally)
    yield from sorted(total.items())
