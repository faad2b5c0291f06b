"""Rows of an index in the order in which a server lists them (by key), and objects of a kind that are not in the index.

An index is sorted by namespace and name, part by part. A server lists by key, where ``a-b/x`` comes before ``a/x``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.base.arrow import parquet_footer, read_parquet
from auditor.base.statuses import Status
from auditor.crds.conversion import NEEDS_WEBHOOK
from auditor.store.selected_rows import is_one_of, rows_where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from auditor.printing.discovery import Resource
    from auditor.selectors.query import IndexedKind

__all__ = ["in_key_order", "rows_named", "tell_missing"]

Numbers = np.ndarray[Any, Any]

_TOLD: Final = 10
_BATCH: Final = 1 << 13
"""Rows that become Python objects at the same time."""
_NO_OFFSETS: Final = np.empty(0, dtype=np.int64)
_READ: Final = tuple(status for status in Status if status.is_listed)
"""Statuses of objects that a LIST of their kind has to read."""


def in_key_order(found: Iterable[pa.Table], inputs: Sequence[Mapping[str, Any]]) -> Iterator[pa.Table]:
    """Yield rows of an index dump by dump, those of each dump in the order in which a server lists them.

    Args:
        found: Tables with columns ``source`` and ``namespace``, sorted part by part by namespace and name.
        inputs: The dumps in the order of the manifest.
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
    for first in range(0, table.num_rows, _BATCH):
        yield table.slice(first, _BATCH)


def tell_missing(
    report: Path,
    kinds: Sequence[Mapping[str, Any]],
    resource: Resource,
    place: IndexedKind,
    why: Callable[[dict[str, Any]], str],
    warn: Callable[[str], None],
) -> int:
    """Report on standard error which objects of a kind are not in the index of a version, as they cannot be read at it.

    Args:
        kinds: The counts of the report's manifest.
        resource: The kind and version.
        place: The partition of `resource`.
        why: Returns the reason for a row of the report's objects that was read only at another version.
        warn: Called with the text.

    Returns:
        How many objects no server can read.
    """
    parts = sorted((report / "objects").glob("*.parquet"))
    for part in parts:
        parquet_footer(part)
    rows = sum(parquet_footer(part).num_rows for part in place.parts)
    if any((one["group"], one["kind"], one["objects"]) == (resource.group, resource.kind, rows) for one in kinds):
        return 0
    indexed: dict[str, list[Numbers]] = {}
    for part in place.parts:
        for source, own in _by_source(read_parquet(part, ["source", "offset"])):
            indexed.setdefault(source, []).append(own["offset"].to_numpy())
    offsets = {source: np.sort(np.concatenate(some)) for source, some in indexed.items()}
    told = unconverted = 0
    for row in _not_indexed(parts, resource, offsets):
        here = row["reason"] and row["audited_version"] in (None, resource.version)
        reason = row["reason"] if here else why(row)
        if reason.startswith(NEEDS_WEBHOOK):
            unconverted += 1
            continue
        told += 1
        if told <= _TOLD:
            name = row["key"] or f"{row['source']} at byte {row['offset']}"
            warn(f"500: corrupt object {name}: {reason[:297]}\n")
    if told > _TOLD:
        warn(f"500: and {told - _TOLD} more corrupt objects\n")
    if told:
        warn(f"a live server answers no LIST of {resource.group_resource}; --as-server shows what it says\n")
    if unconverted:
        warn(
            f"note: {unconverted} objects of {resource.group_resource} are not in the index at {resource.version}, "
            "where only the conversion webhook can read them; the dump has them as stored\n"
        )
    return told


def _not_indexed(parts: Sequence[Path], resource: Resource, offsets: dict[str, Numbers]) -> Iterator[dict[str, Any]]:
    """Yield the first row of each object of a kind whose offset is not among the given offsets, which ascend."""
    seen: set[tuple[str, int]] = set()  # an object that was read at several versions has several rows
    for table in _objects(parts, _is_of(resource)):
        for source, own in _by_source(table):
            known, wanted = offsets.get(source, _NO_OFFSETS), own["offset"].to_numpy()
            left = np.searchsorted(known, wanted) == np.searchsorted(known, wanted, side="right")
            for row in own.filter(pa.array(left)).to_pylist():
                if (source, row["offset"]) not in seen:
                    seen.add((source, row["offset"]))
                    yield row


def _by_source(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for source in pc.unique(table["source"]).to_pylist():
        yield source, table.filter(pc.equal(table["source"], source))


def _place(pair: tuple[str, str | None], dumps: list[str]) -> tuple[int, str]:
    source, namespace = pair
    return dumps.index(source), f"{namespace or ''}/"


def rows_named(
    report: Path, inputs: Sequence[Mapping[str, Any]], resource: Resource, namespace: str, name: str
) -> list[dict[str, Any]]:
    """Return the rows of a report's objects whose key ends with a name, in the order of keys.

    The index has the names of the objects' metadata, which may differ from the names in their keys.

    Args:
        inputs: The dumps, as the manifest lists them.
        namespace: The namespace of the key; empty for any.
    """
    parts = sorted((report / "objects").glob("*.parquet"))
    names = {"name": name, **({"namespace": namespace} if namespace and resource.namespaced else {})}
    dumps = [source["name"] for source in inputs]
    found = [row for table in _objects(parts, _is_of(resource, **names)) for row in table.to_pylist()]
    return sorted(found, key=lambda row: _place((row["source"], row["namespace"]), dumps))


def _is_of(resource: Resource, **names: str) -> Callable[[pa.Table], Numbers]:
    """Return a condition that selects the rows of a kind, and optionally of some names."""

    def wanted(rows: pa.Table) -> Numbers:
        mask = is_one_of(rows["group"], resource.group) & is_one_of(rows["plural"], resource.plural)
        mask &= is_one_of(rows["status"], *_READ)
        for column, value in names.items():
            mask &= is_one_of(rows[column], value)
        return mask

    return wanted


def _objects(parts: Sequence[Path], wanted: Callable[[pa.Table], Numbers]) -> Iterator[pa.Table]:
    columns = ["key", "source", "offset", "length", "namespace", "name", "mod_revision"]
    columns += ["stored_version", "audited_version", "reason"]
    for part in parts:
        yield from rows_where(part, wanted, ["group", "plural", "status", "name", "namespace"], columns)
