"""Rows of an index as a server lists them: in the order of keys; and of a kind what stands in no index is told.

An index is sorted by namespace and name, part by part. A server lists by key, where ``a-b/x`` comes before ``a/x``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from auditor.sources.kernels import whole_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from auditor.printing.discovery import Resource
    from auditor.selectors.query import IndexedKind

__all__ = ["in_key_order", "rows_named", "tell_missing"]

_TOLD: Final = 10
_READ: Final = ("valid", "invalid", "unreadable", "needs-conversion")
"""Statuses of objects that a list of their kind has to read."""


def in_key_order(found: Iterable[pa.Table], inputs: Sequence[Mapping[str, Any]]) -> Iterator[pa.Table]:
    """Yield rows of an index in the order of their dumps, and in each as a server lists them.

    Args:
        found: Tables with columns ``source`` and ``namespace``, sorted part by part by namespace and name.
        inputs: The dumps, as the manifest tells them.
    """
    tables = list(found)
    if not tables:
        return
    table = pa.concat_tables(tables)
    dumps = [source["name"] for source in inputs]
    pairs = list(zip(table["source"].to_pylist(), table["namespace"].to_pylist(), strict=True))
    ranks = {pair: rank for rank, pair in enumerate(sorted(set(pairs), key=lambda pair: _place(pair, dumps)))}
    order = np.fromiter((ranks[pair] for pair in pairs), np.int64, len(pairs))
    if (order[1:] < order[:-1]).any():
        table = table.take(np.argsort(order, kind="stable"))
    yield table


def tell_missing(
    report: Path,
    kinds: Sequence[Mapping[str, Any]],
    resource: Resource,
    place: IndexedKind,
    why: Callable[[dict[str, Any]], str],
    warn: Callable[[str], None],
) -> None:
    """Say on standard error which objects of a kind are not in the index of a version, since no read gives them there.

    Args:
        kinds: The counts of the report's manifest.
        resource: The kind at a version.
        place: Its partition.
        why: Gives the reason for a row of the report's objects that was read at another version only.
        warn: Takes the text.
    """
    parts = sorted((report / "objects").glob("*.parquet"))
    for part in parts:
        with whole_parquet(part):
            pq.read_metadata(part)
    rows = sum(pq.read_metadata(part).num_rows for part in place.parts)
    if any((one["group"], one["kind"], one["objects"]) == (resource.group, resource.kind, rows) for one in kinds):
        return
    positions = ["source", "offset"]
    indexed = {pair for part in place.parts for pair in _pairs(pq.ParquetFile(part).read(columns=positions))}
    told = 0
    for row in _objects(parts, _of_kind(resource)):
        pair = (row["source"], row["offset"])
        if pair in indexed:
            continue
        indexed.add(pair)  # at several versions a key has several rows
        told += 1
        if told <= _TOLD:
            here = row["reason"] and row["audited_version"] in (None, resource.version)
            reason = row["reason"] if here else why(row)
            name = row["key"] or f"{row['source']} at byte {row['offset']}"
            warn(f"500: corrupt object {name}: {reason[:297]}\n")
    if told > _TOLD:
        warn(f"500: and {told - _TOLD} more corrupt objects\n")
    if told:
        warn(f"a live server answers no LIST of {resource.group_resource}; --as-server shows what it says\n")


def _place(pair: tuple[str, str | None], dumps: list[str]) -> tuple[int, str]:
    source, namespace = pair
    return dumps.index(source), f"{namespace or ''}/"


def rows_named(
    report: Path, inputs: Sequence[Mapping[str, Any]], resource: Resource, namespace: str, name: str
) -> list[dict[str, Any]]:
    """Return the rows of a report's objects whose key ends with a name, in the order of keys.

    In the index stand the names that objects give themselves, which need not be those of their keys.

    Args:
        inputs: The dumps, as the manifest tells them.
        namespace: Of the key; empty: any.
    """
    parts = sorted((report / "objects").glob("*.parquet"))
    names = [("name", "=", name), *([("namespace", "=", namespace)] if namespace and resource.namespaced else ())]
    dumps = [source["name"] for source in inputs]
    found = _objects(parts, [*_of_kind(resource), *names])
    return sorted(found, key=lambda row: _place((row["source"], row["namespace"]), dumps))


def _of_kind(resource: Resource) -> list[tuple[str, str, Any]]:
    return [("group", "=", resource.group), ("plural", "=", resource.plural), ("status", "in", _READ)]


def _objects(parts: Sequence[Path], filters: list[tuple[str, str, Any]]) -> Iterator[dict[str, Any]]:
    columns = ["key", "source", "offset", "length", "namespace", "name", "mod_revision"]
    columns += ["stored_version", "audited_version", "reason"]
    for part in parts:
        with whole_parquet(part):
            table = pq.read_table(part, columns=columns, filters=filters)
        yield from table.to_pylist()


def _pairs(table: pa.Table) -> Iterator[tuple[str, int]]:
    return zip(table["source"].to_pylist(), table["offset"].to_pylist(), strict=True)
