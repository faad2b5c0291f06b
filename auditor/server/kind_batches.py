"""All objects of a kind in a dump or a report, as record batches of typed columns.

`kind_batches(store, resource)` is what `auditor tables`, `auditor sql` and `.table(kind)` read: a schema, and an
iterator of batches that are made while it is read, so that a kind needs no more memory than a batch. Every row of the
kind is there: one that could not be read has its key, its status and otherwise nulls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.base.errors import PlanError
from auditor.base.statuses import Status
from auditor.columns import KindColumns, TableRow
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import FleetStore
from auditor.server.object_reader import UndecodedObject, version_of
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from auditor.printing.discovery import Resource
    from auditor.server.dump_rows import StoredRow
    from auditor.server.fleet_store import AnyStore


BATCH_ROWS: Final = 4096
BATCH_BYTES: Final = 32 << 20
"""Stored bytes of the objects of a batch, apart from the last one."""


def kind_batches(
    store: AnyStore, resource: Resource, columns: Sequence[str] | None = None, *, rows: int = BATCH_ROWS
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema of a kind, and its rows in key order, cluster by cluster.

    Args:
        store: The store of a dump, a report or a fleet.
        resource: The kind; a custom resource is read at its storage version, whichever version this names.
        columns: Names of top-level columns, in this order; None for all. What the others hold is not converted.
        rows: Most rows of a batch.

    Raises:
        PlanError: Only the index of a report is there, which has no whole objects, or no cluster has the kind.
        KeyError: The kind has no such column.
    """
    parts = kind_parts(store, resource)
    table = KindColumns.merged([part.columns for part in parts])
    schema = table.schema_of(columns)

    def batches() -> Iterator[pa.RecordBatch]:
        for part in parts:
            for some in part.batches_of_rows(rows):
                yield table.batch(some, columns)

    return schema, batches()


def kind_parts(store: AnyStore, resource: Resource) -> list[KindPart]:
    """Return the objects of a kind in each cluster that has the kind; one part for a dump.

    Raises:
        PlanError: As `kind_batches`.
    """
    stores = store.stores if isinstance(store, FleetStore) else {"": store}
    parts = []
    for name, one in stores.items():
        if not isinstance(one, DumpStore):
            raise PlanError(name or resource.plural, "an index has no whole objects", "", "name its dump with --dump")
        own = store.own(name, resource) if isinstance(store, FleetStore) else resource
        if own is not None:
            parts.append(KindPart(one, own, name))
    if not parts:
        raise PlanError(resource.group_resource, "is not a kind of any of these clusters", "")
    return parts


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

    def batches_of_rows(self, most: int = BATCH_ROWS) -> Iterator[list[TableRow]]:
        """Yield the rows in lists that are bounded in rows and in bytes."""
        some: list[TableRow] = []
        size = 0
        for stored in self.store.rows.of(self.resource):
            some.append(self._row(stored))
            size += stored.length
            if len(some) >= most or size >= BATCH_BYTES:
                yield some
                some, size = [], 0
        if some:
            yield some

    def _row(self, stored: StoredRow) -> TableRow:
        key = None if stored.key is None else printable_key(stored.key)
        row = TableRow(self.cluster, key, stored.mod_revision)
        reader = self.store.reader
        try:
            if reader.mode.stored:
                obj = reader.as_stored(self.resource, stored)
                version = version_of(obj)
            else:
                obj, version = reader.read_with_version(self.resource, stored)
            return row._replace(stored_version=version, object=reader.concealed(self.resource, obj))
        except UndecodedObject as error:
            return self._unread(row, stored, error)
        except Exception as error:  # noqa: BLE001 - it is a row without values
            self.store.leave_out(self.store.rows.place(stored), error)
            return row._replace(audit_status=Status.UNREADABLE)

    def _unread(self, row: TableRow, stored: StoredRow, error: UndecodedObject) -> TableRow:
        """Return the row of an object that a server cannot read, and count it."""
        left_out = self.store.reader.left_out
        if error.lacks_key:
            left_out.sealed += 1
            return row._replace(audit_status=Status.SEALED)
        if not error.needs_webhook:
            left_out.corrupt += 1
            return row._replace(audit_status=Status.UNREADABLE)
        obj = self.store.reader.as_stored(self.resource, stored)
        return row._replace(audit_status=Status.NEEDS_CONVERSION, stored_version=version_of(obj), stored_object=obj)
