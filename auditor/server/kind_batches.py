"""All objects of a kind in a dump or a report, as record batches of typed columns.

`kind_batches(store, resource)` is what `auditor tables`, `auditor sql` and `.table(kind)` read: a schema, and an
iterator of batches that are made while it is read, so that a kind needs no more memory than a batch. Every row of the
kind is there: one that could not be read has its key, its status and otherwise nulls.

Rows of a report come from its objects/, with status, impact and causes; the objects from its dump, which is not
scanned again. Those of a dump have a status only if the object could not be read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.base.arrow import plain
from auditor.base.errors import PlanError
from auditor.base.statuses import Status
from auditor.causes.rows_with_causes import WHOSE, Whose
from auditor.columns import KindColumns, TableRow
from auditor.crds.conversion import LostWebhook
from auditor.server.dump import DumpStore
from auditor.server.dump_rows import StoredRow
from auditor.server.fleet_store import own_kind, stores_of
from auditor.server.object_reader import UndecodedObject, version_of
from auditor.server.report import ReportStore
from auditor.shards.result import FAILED, NOT_JUDGED
from auditor.sources.crd_files import no_collector
from auditor.sources.registry_key import printable_key
from auditor.store.selected_rows import Mask, is_one_of, rows_where

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from auditor.columns.column_types import Paths
    from auditor.columns.records import RecordReader
    from auditor.printing.discovery import Resource
    from auditor.server.audited_report import AuditedReport
    from auditor.server.fleet_store import AnyStore


BATCH_ROWS: Final = 1024
BATCH_BYTES: Final = 32 << 20
"""Stored bytes of the objects of a batch, apart from the last one."""
ENOUGH_FOR_RECORDS: Final = 100
"""Rows of a batch for which types of records are made, which takes 1 to 30 ms."""
_COLUMNS: Final = (
    *("source", "offset", "length", "cluster", "key", "mod_revision", "status", "impact", "stored_version", "reason"),
)
"""Columns of objects/ that say where an object is, and what the report says of it."""
AUDITED_COLUMNS: Final = tuple(dict.fromkeys((*_COLUMNS, *WHOSE)))
CausesOfPart = dict[Whose, tuple[str, ...]]


def kind_batches(
    store: AnyStore,
    resource: Resource,
    columns: Sequence[str] | None = None,
    *,
    rows: int = BATCH_ROWS,
    paths: Paths | None = None,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema of a kind, and its rows in key order, cluster by cluster.

    Args:
        store: The store of a dump, a report or a fleet.
        resource: The kind; a custom resource is read at its storage version, whichever version this names.
        columns: Names of top-level columns, in this order; None for all. What the others hold is not converted.
        rows: Most rows of a batch.
        paths: Fields to which columns are narrowed (`KindColumns.narrowed`); None for whole columns.

    Raises:
        PlanError: Only the index of a report is there, which has no whole objects, or no cluster has the kind.
        KeyError: The kind has no such column.
    """
    parts = kind_parts(store, resource)
    table = KindColumns.merged([part.columns for part in parts])
    if paths is not None:
        table = table.narrowed(paths)
    schema = table.schema_of(columns)

    def batches() -> Iterator[pa.RecordBatch]:
        for part in parts:
            for some in part.batches_of_rows(rows, table=table, columns=columns):
                yield table.batch(some, columns)

    return schema, batches()


def kind_parts(store: AnyStore, resource: Resource) -> list[KindPart]:
    """Return the objects of a kind in each cluster that has the kind; one part for a dump.

    Raises:
        PlanError: As `kind_batches`.
    """
    parts: list[KindPart] = []
    for name, one in stores_of(store).items():
        if not isinstance(one, DumpStore):
            raise PlanError(name or resource.plural, "an index has no whole objects", "", "name its dump with --dump")
        own = own_kind(store, name, resource)
        if own is not None:
            parts.append(kind_part(one, own, name))
    if not parts:
        raise PlanError(resource.group_resource, "is not a kind of any of these clusters", "")
    return parts


def kind_part(store: DumpStore, resource: Resource, cluster: str = "") -> KindPart:
    """Return the objects of a kind in the store of a dump or of a report."""
    if isinstance(store, ReportStore):
        return ReportKindPart(store, resource, cluster, store.audited)
    return KindPart(store, resource, cluster)


class KindPart:
    """The objects of a kind in one dump.

    Args:
        store: The store of the dump.
        resource: The kind.
        cluster: The name of its cluster in a fleet; else empty.

    Attributes:
        columns: The columns of the kind, by the definition of this dump.
    """

    def __init__(self, store: DumpStore, resource: Resource, cluster: str = "") -> None:
        definition = store.catalog.definition(resource)
        storage = None if definition is None else definition.storage_version
        self.store = store
        self.resource = resource if storage is None else replace(resource, version=storage.name)
        self.cluster = cluster or None
        self.columns = KindColumns.of(resource if definition is None else definition)
        self._definition = definition
        self._reader: tuple[RecordReader | None] | None = None
        self._is_lost = definition is not None and isinstance(definition.webhook, LostWebhook)

    def is_empty(self) -> bool:
        """Return whether there is no object of the kind."""
        return next(self.store.rows.of(self.resource), None) is None

    def batches_of_rows(
        self, most: int = BATCH_ROWS, *, table: KindColumns | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[list[TableRow]]:
        """Yield the rows in lists that are bounded in rows and in bytes.

        Args:
            most: Most rows of a list.
            table: What makes batches of them; None for rows that have objects, and no records.
            columns: The columns that it will be asked for; None for all.
        """
        some: list[tuple[StoredRow | None, TableRow]] = []
        size = 0
        for stored, row in self.rows():
            some.append((stored, row))
            size += 0 if stored is None else stored.length
            if len(some) >= most or size >= BATCH_BYTES:
                yield self._with_objects(some, table, columns)
                some, size = [], 0
        if some:
            yield self._with_objects(some, table, columns)

    @no_collector()
    def _with_objects(
        self, rows: list[tuple[StoredRow | None, TableRow]], table: KindColumns | None, columns: Sequence[str] | None
    ) -> list[TableRow]:
        """Return rows with their objects, as records where there are enough of them to be worth the code."""
        if self._reader is None and table is not None and len(rows) >= ENOUGH_FOR_RECORDS:
            definition = None if self.store.reader.mode.stored else self._definition
            self._reader = (None if definition is None else table.reader(definition, columns),)
        reader = None if self._reader is None else self._reader[0]
        if reader is None:
            return [self._with_object(stored, row) for stored, row in rows]
        values = [b"" if stored is None else self._plain_bytes(stored) for stored, _ in rows]
        recorded = reader.read_all(values, [row.mod_revision for _, row in rows])
        version = reader.version.name
        return [
            self._with_object(stored, row)
            if made is None or stored is None
            else TableRow(*row[:6], row.stored_version if row[6] is not None or stored.key is None else version, made)
            for (stored, row), made in zip(rows, recorded, strict=True)
        ]

    def _plain_bytes(self, stored: StoredRow) -> bytes:
        """Return the bytes of a row, decrypted; empty if they cannot be: the object reader has the reason."""
        try:
            return self.store.reader.plain_bytes(stored, self.resource)
        except UndecodedObject:
            return b""

    def rows(self) -> Iterator[tuple[StoredRow | None, TableRow]]:
        """Yield where each object is stored, and its row without the object; None if the object is not to be read."""
        for stored in self.store.rows.of(self.resource):
            key = None if stored.key is None else printable_key(stored.key)
            yield stored, TableRow(self.cluster, key, stored.mod_revision)

    def _with_object(self, stored: StoredRow | None, row: TableRow) -> TableRow:
        reader = self.store.reader
        if stored is None:  # its audit did not judge it: reading it may take all memory, or end a worker
            reader.left_out.corrupt += 1
            return row
        try:
            if reader.mode.stored:
                obj = reader.as_stored(self.resource, stored)
                version = version_of(obj)
            else:
                obj, version = reader.read_with_version(self.resource, stored)
                if row.stored_version is not None or stored.key is None:  # an export has what a server read
                    version = row.stored_version
            return TableRow(*row[:6], version, reader.concealed(self.resource, obj))
        except UndecodedObject as error:
            return self._unread(row, stored, error)
        except Exception as error:  # noqa: BLE001 - it is a row without values
            self.store.leave_out(self.store.rows.place(stored), error)
            return row._replace(audit_status=row.audit_status or Status.UNREADABLE)

    def _unread(self, row: TableRow, stored: StoredRow, error: UndecodedObject) -> TableRow:
        """Return the row of an object that a server cannot read, and count it."""
        left_out = self.store.reader.left_out
        if error.lacks_key:
            left_out.sealed += 1
            return row._replace(audit_status=row.audit_status or Status.SEALED)
        if not error.needs_webhook:
            left_out.corrupt += 1
            return row._replace(audit_status=row.audit_status or Status.UNREADABLE)
        obj = self.store.reader.as_stored(self.resource, stored)
        status = row.audit_status or (Status.UNREADABLE if self._is_lost else Status.NEEDS_CONVERSION)
        return row._replace(audit_status=status, stored_version=version_of(obj), stored_object=obj)


class ReportKindPart(KindPart):
    """The objects of a kind in a dump that was audited: the rows of the report, with what it says of them.

    Args:
        store, resource, cluster: As of `KindPart`.
        report: The report.
    """

    def __init__(self, store: DumpStore, resource: Resource, cluster: str, report: AuditedReport) -> None:
        super().__init__(store, resource, cluster)
        self._report = report

    def is_empty(self) -> bool:
        """Return whether the report has no row of the kind, by its manifest."""
        names = {(kind["group"], kind["kind"]) for kind in self._report.manifest["kinds"] if kind["objects"]}
        return not any((self.resource.group, name) in names for name in (self.resource.kind, self.resource.plural))

    def rows(self) -> Iterator[tuple[StoredRow | None, TableRow]]:
        """Yield the rows of objects/; of an object that was judged at several versions the first."""
        return audited_rows(self._tables(), self._report.manifest["inputs"])

    def _tables(self) -> Iterator[tuple[pa.Table, CausesOfPart]]:
        """Yield the rows of the kind in the row groups of objects/, with the causes of their part."""
        for path in self._report.parts:
            for table in rows_where(path, self._is_of_kind, ["group", "plural", "kind"], AUDITED_COLUMNS):
                yield table, self._report.causes_of(path.name)

    def _is_of_kind(self, rows: pa.Table) -> Mask:
        resource = self.resource
        mask = is_one_of(rows["plural"], resource.plural)  # the value of an export has its kind alone
        mask |= is_one_of(rows["plural"], None) & is_one_of(rows["kind"], resource.kind)
        mask &= is_one_of(rows["group"], resource.group)
        return mask


def audited_rows(
    tables: Iterable[tuple[pa.Table, CausesOfPart]], inputs: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[StoredRow | None, TableRow]]:
    """Yield the rows of a kind in objects/ as `KindPart.rows` does.

    Args:
        tables: `AUDITED_COLUMNS` of them, with the causes of each object that has any.
        inputs: Name and format of each dump.
    """
    sources = {source["name"]: number for number, source in enumerate(inputs)}
    encodings = [int(source["format"] == "etcdctl-json") for source in inputs]
    last: tuple[Any, ...] = ()
    for table, of_part in tables:
        columns = dict(zip(AUDITED_COLUMNS, (column.to_pylist() for column in plain(table).columns), strict=True))
        whose = zip(*(columns[name] for name in WHOSE), strict=True)
        rows = zip(*(columns[name] for name in _COLUMNS), strict=True)
        for (name, offset, length, cluster, key, revision, status, impact, version, reason), own in zip(
            rows, whose, strict=True
        ):
            place = name, offset, key
            if place != last:
                last, source = place, sources[name]
                stored = StoredRow(
                    source, None if key is None else key.encode(), revision, offset, length, encodings[source]
                )
                is_judged = reason is None or not reason.startswith((*NOT_JUDGED, FAILED))
                row = TableRow(cluster, key, revision, status, impact, of_part.get(own, ()), version)
                yield stored if is_judged else None, row
