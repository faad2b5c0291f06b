"""Whether two reports of one revision are of one cluster: then each key has the same revision and value in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from auditor.base import tables
from auditor.base.arrow import plain, read_parquet, whole_parquet

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["differing_keys"]


def differing_keys(old: Path, new: Path, cluster: str, *, is_whole: bool) -> int:
    """Return how many keys two reports have with another revision or value.

    Args:
        old: Folder of the one report.
        new: Folder of the other.
        cluster: Whose keys; empty for all.
        is_whole: Whether a key that one of them lacks counts.
    """
    both = _keys(old, cluster).join(_keys(new, cluster), "key", right_suffix=" now", join_type="full outer")
    same = pc.and_(
        *(pc.equal(both[name], both[f"{name} now"]) for name in ("mod_revision", "value_hash"))
    )  # null where a side has no such key
    return int(pc.sum(pc.invert(pc.fill_null(same, not is_whole))).as_py() or 0)


def _keys(folder: Path, cluster: str) -> pa.Table:
    """Return the keys of a cluster in a report with their revisions and hashes, each once."""
    schema = pa.schema([tables.OBJECTS.field(name) for name in ("cluster", "key", "mod_revision", "value_hash")])
    parts = []
    for path in sorted((folder / "objects").glob("part-*.parquet")):
        table = plain(read_parquet(path, schema.names))
        with whole_parquet(path):
            part = table.cast(schema)
        is_known = pc.is_valid(part["key"])
        if cluster:
            is_known = pc.and_(is_known, pc.fill_null(pc.equal(part["cluster"], cluster), True))
        parts.append(part.filter(is_known).drop_columns(["cluster"]))
    rows = pa.concat_tables(parts)
    return rows.group_by(rows.column_names, use_threads=False).aggregate([])
