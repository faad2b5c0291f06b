"""Tables of an earlier report: read part by part, rows taken by number, dictionaries turned into plain text.

Rows of a table are numbered through all its parts.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["PartTable", "concat", "encoded", "expand", "plain"]

_KEPT_ROWS: Final = 300_000
"""Rows of one table that stay in memory; parts read longest ago make room."""

Numbers = np.ndarray[Any, Any]


def plain(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema in its order, dictionaries as text."""
    kinds = [pa.string() if pa.types.is_dictionary(field.type) else field.type for field in schema]
    columns = [table[field.name].cast(kind) for field, kind in zip(schema, kinds, strict=True)]
    return pa.table(columns, schema=pa.schema(list(zip(schema.names, kinds, strict=True))))


def encoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a plain table in the types of a schema; dictionaries in the order in which their values appear."""
    columns = []
    for field in schema:
        column = table[field.name].combine_chunks()
        columns.append(column.dictionary_encode().cast(field.type) if pa.types.is_dictionary(field.type) else column)
    return pa.table(columns, schema=schema)


def concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return plain tables below each other; of none an empty one."""
    if not tables:
        return plain(schema.empty_table(), schema)
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


def expand(first: Numbers, count: Numbers) -> Numbers:
    """Return first[0], first[0] + 1 ... (count[0] numbers), then those of first[1], and so on."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Numbers = np.arange(total, dtype=np.int64) - np.repeat(ends - count, count) + np.repeat(first, count)
    return numbers


class PartTable:
    """One table of a report, or one partition of its index.

    Args:
        paths: Its part files, in order.
        schema: Columns that are wanted.
    """

    def __init__(self, paths: Sequence[Path], schema: pa.Schema) -> None:
        self.schema = schema
        self._files = [(path, pq.read_metadata(path)) for path in paths]
        counts = [metadata.num_rows for _, metadata in self._files]
        self._starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        self._read: OrderedDict[int, pa.Table] = OrderedDict()

    def __len__(self) -> int:
        return int(self._starts[-1])

    def columns(self, *names: str) -> pa.Table:
        """Return some columns of all rows."""
        schema = pa.schema([self.schema.field(name) for name in names])
        if len(self) <= _KEPT_ROWS:
            tables = [self._part(number).select(list(names)) for number in range(len(self._files))]
        else:
            tables = [self._load(number, schema) for number in range(len(self._files))]
        return concat(tables, schema)

    def gather(self, rows: Numbers) -> tuple[pa.Table, Numbers]:
        """Return (table, places): row rows[i] of this one is row places[i] of the table, which holds whole parts."""
        parts = np.searchsorted(self._starts, rows, side="right") - 1
        needed = np.unique(parts)
        begins = np.zeros(len(self._files) + 1, dtype=np.int64)
        begins[needed] = np.cumsum(self._starts[needed + 1] - self._starts[needed]) - (
            self._starts[needed + 1] - self._starts[needed]
        )
        table = concat([self._part(number) for number in needed.tolist()], self.schema)
        return table, rows - self._starts[parts] + begins[parts]

    def _part(self, number: int) -> pa.Table:
        found = self._read.get(number)
        if found is None:
            found = self._read[number] = self._load(number, self.schema)
            while len(self._read) > 1 and sum(table.num_rows for table in self._read.values()) > _KEPT_ROWS:
                self._read.popitem(last=False)
        else:
            self._read.move_to_end(number)
        return found

    def _load(self, number: int, schema: pa.Schema) -> pa.Table:
        path, metadata = self._files[number]
        with pq.ParquetFile(path, metadata=metadata) as file:
            return plain(file.read(schema.names, use_threads=False), schema)
