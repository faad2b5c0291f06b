"""Typed columns of the objects that `query` prints: as they are in Parquet, as dotted leaves in CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.columns import KindColumns, TableRow
from auditor.columns.column_types import JSON, Kind
from auditor.columns.kind_columns import REST
from auditor.golang import jsontext
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import own_kind, stores_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from auditor.base.records import JsonObject
    from auditor.columns.column_types import Column
    from auditor.printing.discovery import Resource
    from auditor.server.fleet_store import AnyStore


_SHOWN: Final = frozenset(
    f"metadata.{name}"
    for name in ("namespace", "name", "uid", "creationTimestamp", "resourceVersion", "labels", "managedFields")
)
"""Leaves that have a column of another name in every CSV, and managedFields, which would be most of it."""


def columns_of(store: AnyStore, resources: Sequence[Resource]) -> KindColumns | None:
    """Return the columns of the kind of some objects; None for several kinds, and where there are no whole objects."""
    if len({(resource.group, resource.version, resource.kind) for resource in resources}) != 1:
        return None
    made = []
    for name, one in stores_of(store).items():
        own = own_kind(store, name, resources[0])
        if not isinstance(one, DumpStore):
            return None
        if own is not None:
            made.append(KindColumns.of(one.catalog.definition(own) or own, own.version))
    return KindColumns.merged(made) if made else None


def typed(columns: KindColumns, objects: Sequence[JsonObject]) -> dict[str, pa.Array]:
    """Return the fields of objects as Arrow columns, by name."""
    names = [*columns.fields, REST]
    batch = columns.batch([TableRow(object=obj) for obj in objects], names)
    return dict(zip(names, batch.columns, strict=True))


def flat(columns: KindColumns, obj: JsonObject) -> dict[str, str]:
    """Return the leaves of an object as text by their dotted paths; lists and maps are JSON."""
    return {
        path: text if type(text) is str else "" if text is None else jsontext.encode(text)
        for name, value in obj.items()
        if name not in ("apiVersion", "kind")
        for path, text in _leaves(columns.fields.get(name, JSON), value, name)
        if path not in _SHOWN
    }


def _leaves(column: Column, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if column.kind is not Kind.STRUCT or type(value) is not dict:
        yield path, value
        return
    fields = dict(column.fields)
    for name, below in value.items():
        yield from _leaves(fields.get(name, JSON), below, f"{path}.{name}")
