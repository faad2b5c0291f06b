"""Tables of an earlier report: whole where they are small, else read part by part; rows are taken by number.

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

_KEPT_ROWS: Final = 1 << 17
"""Rows of one table that stay in memory; of a larger one the parts read longest ago make room."""

Numbers = np.ndarray[Any, Any]


def plain(table: pa.Table) -> pa.Table:
    """Return a table whose dictionaries are plain text."""
    texts = [pa.types.is_dictionary(field.type) for field in table.schema]
    columns = [column.cast(pa.string()) if text else column for column, text in zip(table.columns, texts, strict=True)]
    return pa.table(columns, names=table.column_names)


def encoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table in the types of a schema; dictionaries hold what appears, in the order in which it does."""
    columns = []
    for field in schema:
        column = table[field.name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            appearing = column.indices.dictionary_encode()
            values = column.dictionary.take(appearing.dictionary)
            column = pa.DictionaryArray.from_arrays(appearing.indices.cast(pa.int32()), values)
        elif pa.types.is_dictionary(field.type):
            column = column.dictionary_encode().cast(field.type)
        columns.append(column)
    return pa.table(columns, schema=schema)


def concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return tables of the same columns below each other in one piece; of none an empty one."""
    if not tables:
        return schema.empty_table()
    whole = tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()
    return whole.combine_chunks()


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
        self._all: pa.Table | None = None

    def __len__(self) -> int:
        return int(self._starts[-1])

    def columns(self, *names: str) -> pa.Table:
        """Return some columns of all rows."""
        if self.is_small:
            return self._whole().select(list(names))
        schema = pa.schema([self.schema.field(name) for name in names])
        return concat([self._load(number, schema) for number in range(len(self._files))], schema)

    @property
    def is_small(self) -> bool:
        """Whether all of it stays in memory."""
        return len(self) <= _KEPT_ROWS

    def gather(self, rows: Numbers) -> tuple[pa.Table, Numbers]:
        """Return (table, places): row rows[i] of this one is row places[i] of the table, which holds whole parts."""
        if self.is_small:
            return self._whole(), rows
        parts = np.searchsorted(self._starts, rows, side="right") - 1
        needed = np.unique(parts)
        begins = np.zeros(len(self._files) + 1, dtype=np.int64)
        begins[needed] = np.cumsum(self._starts[needed + 1] - self._starts[needed]) - (
            self._starts[needed + 1] - self._starts[needed]
        )
        table = concat([self._part(number) for number in needed.tolist()], self.schema)
        return table, rows - self._starts[parts] + begins[parts]

    def _whole(self) -> pa.Table:
        if self._all is None:
            self._all = concat([self._load(number, self.schema) for number in range(len(self._files))], self.schema)
        return self._all

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
            return file.read(schema.names, use_threads=False).select(schema.names).cast(schema)
