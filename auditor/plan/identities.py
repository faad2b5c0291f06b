"""Identities of the objects of the dumps given with --old: one small file, sorted, which workers map and search.

An object is found by its kind, namespace and name. The plan writes the file; `OldObjects` reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

from auditor.base.statuses import KeyClass
from auditor.golang import jsontext
from auditor.plan.dumps import cut_value, open_live, open_values
from auditor.sources.registry_key import classify, split_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from auditor.base.records import JsonObject
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.sources import SourcePlan

__all__ = ["identity", "namespace_of", "write_identities"]

_BATCH: Final = 50_000
_SCHEMA: Final = pa.schema([("identity", pa.binary()), ("source", pa.int32()), ("row", pa.int64())])


def identity(group: str, plural: str, namespace: str, name: str) -> bytes:
    """Return the key by which an object is looked up."""
    return f"{group}\0{plural}\0{namespace}\0{name}".encode("utf-8", "surrogatepass")


def write_identities(
    path: Path, sources: Sequence[SourcePlan], entries: Sequence[DefinitionEntry], etcd_prefix: str
) -> int:
    """Write the identities of all custom resources of some sources; if two are equal, the last one counts.

    Returns:
        Their number.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - it makes 300 functions when it is loaded

    scopes = {(entry.group, entry.plural): entry.namespaced for entry in entries}
    kinds = {(entry.group, entry.kind): entry for entry in entries}
    batches: list[pa.RecordBatch] = [pa.RecordBatch.from_pylist([], schema=_SCHEMA)]
    for number, source in enumerate(sources):
        found: list[tuple[bytes, int]] = []
        for row, name in _identities(source, scopes, kinds, etcd_prefix):
            found.append((name, row))
            if len(found) >= _BATCH:
                batches.append(_batch(found, number))
                found = []
        batches.append(_batch(found, number))
    table = pa.Table.from_batches(batches, schema=_SCHEMA).combine_chunks()
    keys = [("identity", "ascending"), ("source", "ascending"), ("row", "ascending")]
    table = table.take(pc.sort_indices(table, sort_keys=keys))
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, _SCHEMA) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(table.num_rows, 1))
    return int(pc.count_distinct(table["identity"]).as_py())


def _batch(found: list[tuple[bytes, int]], source: int) -> pa.RecordBatch:
    columns = [
        pa.array([name for name, _ in found], pa.binary()),
        pa.array([source] * len(found), pa.int32()),
        pa.array([row for _, row in found], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _identities(
    source: SourcePlan,
    scopes: Mapping[tuple[str, str], bool],
    kinds: Mapping[tuple[str, str], DefinitionEntry],
    etcd_prefix: str,
) -> Iterator[tuple[int, bytes]]:
    table = open_live(source)
    if not source.is_export:
        for row, key in enumerate(table["key"].to_pylist()):
            place = classify(split_key(key, etcd_prefix), scopes)
            if place.status is KeyClass.CUSTOM:
                yield row, identity(place.group or "", place.plural or "", place.namespace or "", place.name or "")
        return
    values = open_values(source)
    spans = zip(*(table[name].to_pylist() for name in ("offset", "length", "encoding")), strict=True)
    for row, (offset, length, encoding) in enumerate(spans):
        found = _of_document(cut_value(values, offset, length, encoding), kinds)
        if found is not None:
            yield row, found


def _of_document(data: bytes, kinds: Mapping[tuple[str, str], DefinitionEntry]) -> bytes | None:
    document: Any
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            document = jsontext.decode(data)
        except jsontext.GoJsonError:
            return None
    if type(document) is not dict:
        return None
    api_version, kind, metadata = document.get("apiVersion"), document.get("kind"), document.get("metadata")
    if type(api_version) is not str or type(kind) is not str or type(metadata) is not dict:
        return None
    entry = kinds.get((api_version.rpartition("/")[0], kind))
    name = metadata.get("name")
    if entry is None or type(name) is not str:
        return None
    return identity(entry.group, entry.plural, namespace_of(entry, metadata), name)


def namespace_of(entry: DefinitionEntry, metadata: JsonObject) -> str:
    """Return the namespace of a manifest, or the client's default if it names none."""
    if not entry.namespaced:
        return ""
    namespace = metadata.get("namespace")
    return namespace if type(namespace) is str and namespace else "default"
