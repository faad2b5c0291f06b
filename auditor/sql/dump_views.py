"""The tables `keys` and `objects` of a dump, which nothing has judged."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from auditor.printing.discovery import stored_kinds
from auditor.sources.registry_key import printable_key
from auditor.sql.views import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from auditor.server.dump import DumpStore


_ROWS: Final = 8192
_KEYS: Final = pa.schema(
    [
        ("cluster", pa.string()),
        ("source", pa.string()),
        ("key", pa.string()),
        ("create_revision", pa.int64()),
        ("mod_revision", pa.int64()),
        ("key_version", pa.int64()),
        ("size", pa.int64()),
    ]
)
_OBJECTS: Final = pa.schema(
    [
        *(("cluster", pa.string()), ("source", pa.string()), ("key", pa.string()), ("mod_revision", pa.int64())),
        *((name, pa.string()) for name in ("group", "plural", "kind", "namespace", "name")),
        ("size", pa.int64()),
    ]
)
NO_KEYS: Final = "an export has objects, and no etcd keys"


def dump_views(stores: Mapping[str, DumpStore]) -> list[View]:
    """Return the tables of dumps by cluster; exports alone have no keys."""
    views = [
        View(
            "objects",
            "an object: kind, namespace, name, key and size",
            lambda: _OBJECTS,
            lambda columns: _objects(stores, columns),
        )
    ]
    if any(not source.is_export for store in stores.values() for source in store.plan.sources):
        about = "a live key of etcd, whatever its value is"
        views.append(View("keys", about, lambda: _KEYS, lambda columns: _keys(stores, columns)))
    return views


def _keys(stores: Mapping[str, DumpStore], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([_KEYS.field(name) for name in columns])
    for cluster, store in stores.items():
        for number in range(len(store.plan.sources)):
            table, _ = store.rows.source(number)
            source = store.plan.sources[number]  # the plan of a report is made by the line above
            if source.is_export:
                continue
            for batch in table.to_batches(max_chunksize=_ROWS):
                constants = {"cluster": cluster or None, "source": source.name}
                arrays = [_key_column(batch, name, constants) for name in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _key_column(batch: pa.RecordBatch, name: str, constants: dict[str, str | None]) -> Any:
    if name in constants:
        return pa.array([constants[name]] * batch.num_rows, pa.string())
    if name == "size":
        is_plain = pc.equal(batch["encoding"], 0)  # the length of base64 is not that of the value
        return pc.if_else(is_plain, batch["length"], pa.scalar(None, pa.int64()))
    if name == "key":
        return pa.array(map(printable_key, batch["key"].to_pylist()), pa.string())
    return batch[name]


def _objects(stores: Mapping[str, DumpStore], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([_OBJECTS.field(name) for name in columns])
    rows = _object_rows(stores)
    while some := list(islice(rows, _ROWS)):
        yield pa.RecordBatch.from_pylist(some, schema)


def _object_rows(stores: Mapping[str, DumpStore]) -> Iterator[dict[str, Any]]:
    for cluster, store in stores.items():
        for resource in stored_kinds(store.discovery):
            for row in store.rows.of(resource):
                namespace, name = store.rows.place_in(resource, row) or ("", None)
                yield {
                    "cluster": cluster or None,
                    "source": store.plan.sources[row.source].name,
                    "key": None if row.key is None else printable_key(row.key),
                    "mod_revision": row.mod_revision,
                    "group": resource.group,
                    "plural": resource.plural,
                    "kind": resource.kind,
                    "namespace": namespace or None,
                    "name": name,
                    "size": None if row.encoding else row.length,
                }
