"""Rows collected as tuples, turned into Arrow columns at the end of a shard, written as one Parquet part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Rows", "write_parquet"]


class Rows:
    """Rows of one table; a row is a tuple in the order of the schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows: list[tuple[Any, ...]] = []
        self.append = self.rows.append

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.schema)
        arrays = [_array(values, field.type) for values, field in zip(columns, self.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode().cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_map(kind):
        offsets, keys, items = [0], [], []
        for labels in values:
            keys.extend(labels)
            items.extend(labels.values())
            offsets.append(len(keys))
        return pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()), pa.array(keys, pa.string()), pa.array(items, pa.string())
        )
    return pa.array(values, kind)


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write one part: zstd, statistics on, row groups of at most 128k rows; same rows, same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd", compression_level=1, row_group_size=128 << 10)
