"""Rows of reports as a comparison needs them: short texts to find them by, whole rows only where they are shown.

A report may hold thousands of findings whose messages are long and alike: its file has each text once. Texts are read
as dictionaries, row group by row group, and long ones are cut.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auditor.base import tables
from auditor.base.arrow import concat, has_codes, parquet_footer, plain, whole_parquet
from auditor.base.longtext import LONG, cut
from auditor.shards.table_rows import GROUP_ROWS, GROUP_TEXT
from auditor.validation.bounded_texts import LONGEST, SHORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path


Numbers = np.ndarray[Any, Any]

_BATCH: Final = 1 << 7
"""Rows whose texts are written out at the same time."""
_LIMIT: Final = LONGEST + SHORT
"""Characters of a text that an audit cut, and that says so, at most."""


def row_groups(path: Path, schema: pa.Schema, plain_up_to: int = -1) -> Iterator[pa.Table]:
    """Yield the row groups of a part in the columns of a schema; texts are dictionaries.

    Args:
        path: The part.
        schema: The columns.
        plain_up_to: A column that the file has without a dictionary stays so if no text in it has more bytes.
    """
    names = [field.name for field in schema if _is_text(field.type)]
    wanted = pa.schema([(field.name, tables.DICTIONARY if field.name in names else field.type) for field in schema])
    with whole_parquet(path):
        footer = parquet_footer(path)
        texts = sorted(set(names) - _written_out(footer))
        with pq.ParquetFile(path, metadata=footer, read_dictionary=texts) as file:
            for number in range(file.num_row_groups):
                table = file.read_row_group(number, columns=schema.names, use_threads=False).select(schema.names)
                yield _typed(table, wanted, plain_up_to)


def _written_out(footer: pq.FileMetaData) -> set[str]:
    """Return the columns that Arrow does not read as dictionaries."""
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    columns = (group.column(position) for group in groups for position in range(group.num_columns))
    return {column.path_in_schema for column in columns if not has_codes(column)}


def _typed(table: pa.Table, schema: pa.Schema, plain_up_to: int) -> pa.Table:
    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        is_plain = pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type)
        if is_plain and (pc.max(pc.binary_length(column)).as_py() or 0) <= plain_up_to:
            columns.append(column.cast(pa.string()))
        else:
            columns.append((pc.dictionary_encode(column) if is_plain else column).cast(field.type))
    return pa.table(columns, names=schema.names)


def identified(path: Path, schema: pa.Schema, shown: Sequence[str] = ()) -> pa.Table:
    """Return a part with short texts: a long one is replaced by its beginning and its digest.

    Args:
        path: The part.
        schema: The columns that are wanted.
        shown: Columns of text that people read: they stay dictionaries, and long texts in them are cut.
    """
    groups = []
    for group in row_groups(path, schema, LONG):
        short = _rewritten(group, LONG, _digested, [name for name in schema.names if name not in shown])
        short = _rewritten(short, _LIMIT, _cut, shown)
        others = plain(short.drop_columns(list(shown)))
        for name in shown:
            column = short[name]
            is_plain = not pa.types.is_dictionary(column.type)
            others = others.append_column(name, pc.dictionary_encode(column) if is_plain else column)
        groups.append(others.select(schema.names))
    return pa.concat_tables(groups) if groups else plain(schema.empty_table())


class Selected:
    """Some rows of a table of a report, read from its parts each time they are needed.

    Args:
        paths: The parts.
        counts: Rows of each.
        mask: For each row of all parts, whether it is selected.
        schema: The columns.
    """

    def __init__(self, paths: Sequence[Path], counts: Sequence[int], mask: Numbers, schema: pa.Schema) -> None:
        self.paths, self.counts, self.mask, self.schema = paths, counts, mask, schema

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows; texts are dictionaries, and those longer than any that an audit writes are cut."""
        start = 0
        for path, count in zip(self.paths, self.counts, strict=True):
            mine = self.mask[start : start + count]
            start += count
            if not mine.any():
                continue
            first = 0
            for group in row_groups(path, self.schema):
                kept = pa.array(mine[first : first + group.num_rows])
                first += group.num_rows
                if kept.true_count:
                    yield _rewritten(group.filter(kept), _LIMIT, _cut, group.column_names)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows one by one."""
        for table in self.tables():
            for batch in table.to_batches(max_chunksize=_BATCH):
                yield from batch.to_pylist()

    def groups(self) -> Iterator[pa.Table]:
        """Yield the rows in tables that may be written out as row groups."""
        waiting: list[pa.Table] = []
        text = rows = 0
        for table in self.tables():
            for piece, size in _pieces(table):
                if waiting and (text + size > GROUP_TEXT or rows + piece.num_rows > GROUP_ROWS):
                    yield concat(waiting, table.schema)
                    waiting, text, rows = [], 0, 0
                waiting.append(piece)
                text, rows = text + size, rows + piece.num_rows
        if waiting:
            yield concat(waiting, waiting[0].schema)


def _pieces(table: pa.Table) -> Iterator[tuple[pa.Table, int]]:
    """Yield a table in pieces, and the bytes of the texts of each."""
    sizes = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            lengths = [pc.take(pc.binary_length(chunk.dictionary), chunk.indices) for chunk in column.chunks]
            sizes += pc.fill_null(pa.chunked_array(lengths, pa.int32()), 0).to_numpy()
    ends = np.cumsum(sizes)
    first = 0
    while first < table.num_rows:
        before = int(ends[first - 1]) if first else 0
        fits = int(np.searchsorted(ends, before + GROUP_TEXT, side="right"))
        end = min(max(fits, first + 1), first + GROUP_ROWS)
        yield table.slice(first, end - first), int(ends[end - 1]) - before
        first = end


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_dictionary(kind))


def _rewritten(table: pa.Table, limit: int, change: Callable[[str], str], names: Iterable[str]) -> pa.Table:
    """Return a table in whose dictionaries the texts longer than a limit are changed."""
    for name in names:
        column = table[name]
        if not pa.types.is_dictionary(column.type):
            continue
        chunks = [_changed(chunk, limit, change) for chunk in column.chunks]
        if any(new is not old for new, old in zip(chunks, column.chunks, strict=True)):
            position = table.schema.get_field_index(name)
            table = table.set_column(position, name, pa.chunked_array(chunks, column.type))
    return table


def _changed(chunk: pa.DictionaryArray, limit: int, change: Callable[[str], str]) -> pa.DictionaryArray:
    longest = pc.max(pc.binary_length(chunk.dictionary)).as_py()
    if longest is None or longest <= limit:
        return chunk
    values = (value.as_py() for value in chunk.dictionary)
    short = pa.array([text if text is None or len(text) <= limit else change(text) for text in values], pa.string())
    return pa.DictionaryArray.from_arrays(chunk.indices, short)


def _digested(text: str) -> str:
    return f"{text[:LONG]}\1{hashlib.sha256(text.encode()).hexdigest()}"


def _cut(text: str) -> str:
    return cut(text, LONGEST)
