"""Rows of one shard and its counts. All rows are written and counted here, whichever path judged the object."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base import tables
from auditor.base.paths import plain_path
from auditor.base.release import VERSION
from auditor.base.statuses import Impact, KeyClass, Status
from auditor.plan.run_plan import has_objects
from auditor.program.impact import cache_key_fault, impacts_of, worst
from auditor.shards.finding_rows import FoundRows
from auditor.shards.index import IndexBuilder
from auditor.shards.result import RULES_GIVEN_UP, ShardResult, object_name
from auditor.shards.table_rows import ObjectRows, part_name, with_same, write_parquet
from auditor.shards.updates import NOT_ASKED, UpdateOutcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from auditor.base.records import AuditedObject, JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.shards.judge import JudgedVersion, ObjectJudge, RowHead
    from auditor.shards.result import Kind
    from auditor.shards.updates import Codes


_NO_REQUEST: Final = " (no API request reaches this key: only `etcdctl del` removes it)"
_LISTED: Final = (KeyClass.MISPLACED, KeyClass.BUILTIN, KeyClass.DEFINITION)


class RowClass(NamedTuple):
    """The class of rows that an object belongs to, by its number, and the impacts of that class."""

    number: int
    impacts: tuple[Impact, ...]


class RowWriter:
    """Rows of one shard, and its counts.

    Args:
        owner: The judge of its values.
        sink: Receives the rows.
        source: The name of its dump.
        number: Its number.
        live: Its rows of the live table.
        is_export: Whether the dump is an export.
    """

    def __init__(
        self, owner: ObjectJudge, sink: PartFiles, source: str, number: int, live: Any, *, is_export: bool
    ) -> None:
        self.owner = owner
        self.sink = sink
        self.is_export = is_export
        self.cluster = owner.plan.options.cluster or None
        self.source = source
        meta = {
            "tool": VERSION,
            "release": owner.plan.options.release.version,
            "crds": owner.plan.crds_sha256,
        }
        self.objects = ObjectRows(tables.with_metadata(tables.OBJECTS, **meta), live)
        self._append = self.objects.append
        self.note_controller = self.objects.note_controller
        self.found = FoundRows(tables.with_metadata(tables.FINDINGS, **meta), self.objects)
        self.index = sink.index(owner, self.cluster, source, meta, live)
        self.result = ShardResult(number)
        self._row_classes: dict[tuple[Any, ...], RowClass] = {}

    def write(
        self,
        at: int,
        number: int,
        namespace: str | None,
        name: str | None,
        uid: str | None,
        stored: bytes,
        codes: Codes = NOT_ASKED.codes,
        pruned: tuple[str, ...] = (),
        defaulted: tuple[str, ...] = (),
        reason: str | None = None,
        findings: int = 0,
        digest: str = "",
    ) -> str:
        """Write the row of a key in objects/; every row of it is written here.

        Args:
            at: Its position in the shard.
            number: The number of its class, which has all columns that repeat (`class_of`).
            namespace, name, uid: Those of the object, or of the key.
            stored: Its value, as it is stored.
            codes: The codes of its updates.
            pruned, defaulted: Fields that a read drops or sets.
            reason: Why it could not be read or judged.
            findings: How many it has.
            digest: The SHA-256 of the value, in hexadecimal digits, if the caller has it.
        Returns:
            That digest.
        """
        size, digest = len(stored), digest or sha256(stored).hexdigest()
        put, label, status = codes
        row = (at, number, namespace, name, uid, reason, findings, pruned, defaulted, put, label, status, size, digest)
        self._append(row)  # position, class, and the columns of ObjectRows.OWN
        return digest

    def row_class(
        self,
        row: RowHead,
        definition: CustomResourceDefinition,
        judged: JudgedVersion,
        metadata: JsonObject,
        outcome: UpdateOutcome,
        *,
        gave_up: bool = False,
    ) -> RowClass:
        """Return the class of a judged object's row: objects with equal facts have the same class."""
        audited, webhook, effect, _ = judged
        verdict = outcome.verdict
        is_deleting, is_invalid = "deletionTimestamp" in metadata, bool(audited.findings)
        facts = (
            *(definition.name, row.plural, audited.audited_version, audited.stored_version, effect, is_deleting),
            *(is_invalid, outcome.is_known, None if verdict is None else verdict.impacts),
            *(not audited.pruned, not audited.defaulted, gave_up),
            bool(cache_key_fault(audited.object, namespaced=definition.namespaced)),
        )
        row_class = self._row_classes.get(facts) if audited.unreadable is None else None
        if row_class is None:
            names = (row.group, row.plural, row.kind)
            row_class = self.new_row_class(
                names, definition, audited, effect, outcome, webhook=webhook, gave_up=gave_up
            )
            if audited.unreadable is None:
                self._row_classes[facts] = row_class
        return row_class

    def new_row_class(
        self,
        names: tuple[str | None, str | None, str | None],
        definition: CustomResourceDefinition,
        audited: AuditedObject,
        effect: str,
        outcome: UpdateOutcome,
        *,
        webhook: bool = False,
        gave_up: bool = False,
    ) -> RowClass:
        """Return the class of a judged object's row, computed from the object.

        Args:
            names: Group, plural and kind.
            definition: The definition of its kind.
            audited: The object.
            effect: The changes that the read made to its metadata.
            outcome: The answers to its updates.
            webhook: Whether only a webhook could have read it.
            gave_up: Whether its rules took too much time or memory.
        """
        impacts = impacts_of(
            audited,
            namespaced=definition.namespaced,
            by_webhook=webhook,
            metadata=effect,
            terminating=definition.terminating,
        )
        impacts = outcome.merge(impacts)
        is_invalid = bool(audited.findings)
        status = Status.INVALID if is_invalid else Status.NEEDS_CONVERSION if webhook else Status.VALID
        deleting = None
        if audited.unreadable is not None:
            status = Status.NEEDS_CONVERSION if webhook else Status.UNREADABLE
        elif audited.object is not None:
            deleting = "deletionTimestamp" in (audited.object.get("metadata") or ())
        impact = worst(impacts, invalid=is_invalid and not outcome.is_known)
        if gave_up and impact in (Impact.NONE, Impact.TOLERATED):
            impact = Impact.UNKNOWN
        number = self.class_of(names, audited, (status, impact, impacts), definition, deleting=deleting)
        return RowClass(number, impacts)

    def simple_row_class(
        self,
        row: RowHead,
        audited: AuditedObject,
        status: Status,
        impacts: tuple[Impact, ...],
        impact: Impact | None,
        *,
        deleting: bool | None = None,
    ) -> RowClass:
        """Return the class of the row of a key whose value was not judged."""
        names = (row.group, row.plural, row.kind)
        return RowClass(self.class_of(names, audited, (status, impact, impacts), None, deleting=deleting), impacts)

    def object_row(
        self,
        row: RowHead,
        audited: AuditedObject,
        row_class: RowClass,
        reason: str | None,
        outcome: UpdateOutcome = NOT_ASKED,
        controller: str | None = None,
    ) -> None:
        """Write the row of a key; of an object that breaks its kind, or cannot be deleted, keep the name and why.

        Args:
            row: The identity of the row.
            audited: Its value as audited.
            row_class: Its class.
            reason: Why it could not be read or judged; else it is the server's answer to any server-side apply.
            outcome: The answers to its updates.
            controller: The controller of the object, or None if it has none or it is not known.
        """
        if row_class.impacts:
            kind = (row.group or "", row.kind or row.plural or "")
            because = "" if reason is None or reason == RULES_GIVEN_UP else reason  # rules that gave up break no list
            if _is_out_of_reach(row):
                because += _NO_REQUEST
            self.alarm(kind, row.key, (row.namespace, row.name), row_class.impacts, because, outcome.why_stuck)
        value, digest = self.owner.proofs.last
        self.write(
            row.at,
            row_class.number,
            row.namespace,
            row.name,
            row.uid if type(row.uid) is str else None,
            row.stored,
            outcome.codes,
            audited.pruned,
            audited.defaulted,
            reason or outcome.apply_refusal or None,
            len(audited.findings),
            digest if value is row.stored else "",
        )
        if controller is not None:
            self.note_controller(controller)

    def alarm(
        self,
        kind: Kind,
        key: bytes | None,
        place: tuple[str | None, str | None],
        impacts: tuple[Impact, ...],
        reason: str = "",
        why_stuck: str = "",
    ) -> None:
        """Keep the first object of a kind that breaks its lists or worse, and the first that cannot be deleted.

        Args:
            kind: The kind.
            key: The key of the object.
            place: Its namespace and name, which name it if it has no key.
            impacts: Its impacts.
            reason: Why it could not be read.
            why_stuck: The server's answer to the end of its deletion.
        """
        is_breaking, is_stuck = impacts[0].is_breaking, Impact.BLOCKS_DELETE in impacts
        if is_breaking or is_stuck:
            called = object_name(key, *place)
            if is_breaking:
                self.result.note_breaking(kind, (called, reason, impacts[0]))
            if is_stuck:
                self.result.stuck.setdefault(kind, (called, why_stuck))

    def class_of(
        self,
        names: tuple[str | None, str | None, str | None],
        audited: AuditedObject,
        rating: tuple[Status, Impact | None, tuple[Impact, ...]],
        definition: CustomResourceDefinition | None,
        *,
        deleting: bool | None,
    ) -> int:
        """Return the number of the class of rows that an object belongs to.

        Args:
            names: Group, plural and kind.
            audited: The object.
            rating: Its status, impact and impacts.
            definition: The definition of its kind; None if it is not a judged custom resource.
            deleting: Whether it is being deleted; None if not known.
        """
        stored = None if self.is_export else audited.stored_version
        is_storage = None
        if definition is not None and stored is not None:
            storage = self.owner.storage_of(definition)
            is_storage = storage is not None and storage == stored
        return self.objects.class_of(
            (self.cluster, self.source, *names, stored, audited.audited_version, *rating, is_storage, deleting)
        )

    def finish(self) -> ShardResult:
        """Count the rows, pass them to the sink, return the counts."""
        self.result.rows = len(self.objects)
        for (kind, check, path, type_), count in self.found.counts():
            self.result.findings[(kind, check, plain_path(path), type_)] += count
        self.result.encrypted.update(self.owner.unsealer.counts)
        self.owner.unsealer.counts.clear()
        for (name, version), program in self.owner.programs.items():
            before = self.owner.counted.get((name, version), (0, 0))
            now = (program.proven, program.total - min(program.total, program.warm_up))
            self.result.proven[(name, version, True)] += now[0] - before[0]
            self.result.proven[(name, version, False)] += (now[1] - now[0]) - (before[1] - before[0])
            self.owner.counted[(name, version)] = now
            for (why, is_valid), count in program.fallbacks.take().items():
                self.result.fallbacks[(name, version, why, is_valid)] += count
        for shared, count in self.objects.counts():
            kind = (shared["group"] or "", shared["kind"] or shared["plural"] or "")
            self.result.statuses[(kind, shared["status"])] += count
            self.result.deleting += count if shared["deleting"] else 0
            for impact in {*shared["impacts"], shared["impact"]} - {None}:
                self.result.impacts[(kind, impact)] += count
        self.sink.write(self, self.owner.parts)
        return self.result


def _is_out_of_reach(row: RowHead) -> bool:
    """Return whether a LIST reads the key of a row but no request names it: no object of its kind has such a key."""
    place = row.place
    return place is not None and place.status in _LISTED and bool(place.reason)


class PartFiles:
    """The sink of an audit: it writes the rows of a shard to part files.

    A sink decides where rows go, which keys the dump has, and whether there is an index.

    Args:
        count: Called with the rows of a shard, the tables of its objects and of any findings, and the folder.
    """

    def __init__(self, count: Callable[[RowWriter, pa.Table, pa.Table | None, Path], None] | None = None) -> None:
        self.count = count

    def index(self, owner: ObjectJudge, cluster: str | None, source: str, meta: dict[str, str], live: pa.Table) -> Any:
        """Return the collector of the index rows of a shard."""
        return IndexBuilder(owner, cluster, source, meta, live)

    def has_objects(self, owner: ObjectJudge, keys: pa.ChunkedArray, entry: DefinitionEntry) -> bool:
        """Return whether a dump has objects of a definition.

        Args:
            owner: The auditor of the shard.
            keys: The keys of the dump.
            entry: The definition.
        """
        return has_objects(keys, entry, owner.plan.options.etcd_prefix)

    def write(self, rows: RowWriter, parts: Path) -> None:
        """Write the part files of a shard below a folder."""
        name = part_name(rows.result.number)
        objects = rows.objects.table()
        findings = rows.found.table(objects) if len(rows.found) else None
        is_compared = bool(rows.owner.plan.options.diff)
        write_parquet(with_same(objects) if is_compared else objects, parts / "objects" / name)
        if findings is not None:
            write_parquet(with_same(findings) if is_compared else findings, parts / "findings" / name)
        rows.index.write(parts / "index", name)
        if self.count is not None:
            self.count(rows, objects, findings, parts)
