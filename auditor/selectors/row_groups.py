"""Reads the row groups of the index that may hold a match by their statistics, and returns the matching rows.

A selector reads the columns that it compares, row group by row group, skipping those whose statistics rule it out, and
the other columns only in row groups with a match. A few row groups are read ahead, on one thread a processor.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from auditor.base.arrow import has_codes
from auditor.base.machine import processors
from auditor.selectors.filters import Filter, mask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from auditor.selectors.predicates import Predicate


_BYTES_A_CODE = 4
"""A text column with fewer bytes a value is read as codes."""
UNKNOWN = "auditor:unknown"
"""Column of what is known of rows: 0 (selected), `UNDECIDED`, `FAILS` (an error), `MAY_FAIL` (false or an error)."""
UNDECIDED, FAILS, MAY_FAIL = 1, 2, 3


@dataclass(slots=True)
class Scan:
    """Counters of a selection: rows of the partition, rows of the row groups that were read, and selected rows.

    Attributes:
        failed: Rows on which the predicate is an error.
    """

    rows: int = 0
    scanned: int = 0
    kept: int = 0
    row_groups: int = 0
    skipped: int = 0
    failed: int = 0


class Group(NamedTuple):
    """One row group of one part."""

    path: Path
    footer: pq.FileMetaData
    number: int


def in_order(work: Callable[[Group], pa.Table | None], groups: list[Group]) -> Iterator[pa.Table | None]:
    """Yield the result of `work` for each row group, in order; a few are computed ahead, on one thread a processor."""
    workers = min(processors(), len(groups))
    if workers <= 1:
        yield from map(work, groups)
        return
    with ThreadPoolExecutor(workers) as pool:
        ahead: deque[Future[pa.Table | None]] = deque()
        todo = iter(groups)
        for group in todo:
            ahead.append(pool.submit(work, group))
            if len(ahead) > 2 * workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def with_decided(rows: pa.Table, decide: Callable[[pa.Table], Iterable[bool | None]], scan: Scan) -> pa.Table:
    """Return rows with a column `UNKNOWN` in which none is `UNDECIDED`.

    Args:
        rows: Rows of a scan with a predicate.
        decide: Returns for each of some rows whether the predicate holds; None if its evaluation fails.
        scan: Its counters.
    """
    codes = rows[UNKNOWN].to_pylist()
    if UNDECIDED not in codes:
        return rows
    undecided = np.array([code == UNDECIDED for code in codes])
    found = iter(decide(rows.filter(undecided)))
    made = [{True: 0, False: MAY_FAIL, None: FAILS}[next(found)] if code == UNDECIDED else code for code in codes]
    scan.failed += made.count(FAILS) - codes.count(FAILS)
    position = rows.column_names.index(UNKNOWN)
    return rows.set_column(position, UNKNOWN, pa.array(made, rows.schema.field(position).type))


def may_match(footer: pq.FileMetaData, number: int, condition: Filter, where: Predicate | None) -> bool:
    """Return whether a row group may hold a matching row, or one on which the predicate fails, by its statistics."""
    statistics = _Statistics(footer, number)
    if not condition.may_match(statistics):
        return False
    return where is None or not where.possible(statistics).isdisjoint("TE")


def spared(group: Group, columns: set[str]) -> set[str]:
    """Return the columns that are not needed: texts that explain a missing value, if no value is missing."""
    statistics = _Statistics(group.footer, group.number)
    return {
        name
        for name in columns
        if name.startswith("field:") and statistics.has_nulls(f"value:{name.removeprefix('field:')}") is False
    }


def _repeating(footer: pq.FileMetaData, number: int, columns: Iterable[str]) -> list[str]:
    """Return the text columns whose values repeat: these are read as codes, which is several times cheaper."""
    wanted = set(columns)
    out = []
    group = footer.row_group(number)
    for position in range(group.num_columns):
        column = group.column(position)
        path = column.path_in_schema
        if path in wanted or path.partition(".key_value.")[0] in wanted:
            is_text = column.physical_type == "BYTE_ARRAY" and has_codes(column)
            if is_text and column.total_uncompressed_size < _BYTES_A_CODE * max(column.num_values, 1):
                out.append(path)
    return out


def scan_group(
    place: Group, condition: Filter, compared: list[str], wanted: list[str], where: Predicate | None
) -> pa.Table | None:
    """Return the rows of a row group that match.

    Args:
        place: The row group.
        condition: What the rows must match.
        compared: Columns that are read first, to compare them.
        wanted: Columns of the result.
        where: A predicate that they must also match; then there is a column `UNKNOWN`, and also rows on which the
            predicate fails.
    Returns:
        None if no row matches.
    """
    count = place.footer.row_group(place.number).num_rows
    codes = _repeating(place.footer, place.number, [*compared, *wanted])
    with pq.ParquetFile(place.path, metadata=place.footer, read_dictionary=codes, memory_map=True) as part:

        def read(columns: list[str]) -> pa.Table:
            return part.read_row_group(place.number, columns=columns, use_threads=False)

        seen = read(compared) if compared else pa.table({"": pa.nulls(count)})
        mask = mask_of(condition, seen)
        unknown = None
        if where is not None:
            known = where.known(seen)
            mask = mask & (known.true | known.error)
            failing = np.where(known.false, MAY_FAIL, FAILS)
            unknown = np.where(known.true, np.where(known.is_one, 0, UNDECIDED), failing).astype(np.int8)
        kept = int(mask.sum())
        if not kept:
            return None
        rest = [name for name in wanted if name not in compared]
        table = read(rest) if rest else seen.select([])
    for name in wanted:
        if name in compared:
            table = table.append_column(name, seen[name])
    table = table.select(wanted)
    if unknown is not None:
        table = table.append_column(UNKNOWN, pa.array(unknown))
    if kept < count:
        table = table.filter(pa.array(mask))
    return _plain(table, place.footer.schema.to_arrow_schema())


def _plain(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table, whose text may have been read as codes, with the types of the schema."""
    for position, field in enumerate(table.schema):
        if field.name == UNKNOWN or field.type == schema.field(field.name).type:
            continue
        wanted = schema.field(field.name).type
        column = table[field.name]
        if pa.types.is_map(wanted):
            chunks = [
                pa.MapArray.from_arrays(chunk.offsets, chunk.keys.cast(pa.string()), chunk.items.cast(pa.string()))
                for chunk in column.chunks
            ]
            table = table.set_column(position, field.name, pa.chunked_array(chunks, wanted))
        elif not pa.types.is_dictionary(wanted):
            table = table.set_column(position, field.name, column.cast(wanted))
    return table


class _Statistics:
    """The least and greatest value of columns in one row group."""

    def __init__(self, footer: pq.FileMetaData, number: int) -> None:
        self.group = footer.row_group(number)
        self.places = {
            self.group.column(position).path_in_schema: position for position in range(self.group.num_columns)
        }

    def bounds(self, column: str) -> tuple[Any, Any] | None:
        """Return both, or None if they are not known."""
        position = self.places.get(column)
        statistics = self.group.column(position).statistics if position is not None else None
        if statistics is None or not statistics.has_min_max:
            return None
        try:
            return statistics.min, statistics.max
        except UnicodeDecodeError:  # from a damaged footer: the rows decide
            return None

    def has_nulls(self, column: str) -> bool | None:
        """Return whether any value is null, or None if that is not known."""
        position = self.places.get(column)
        statistics = self.group.column(position).statistics if position is not None else None
        return None if statistics is None or not statistics.has_null_count else statistics.null_count > 0
