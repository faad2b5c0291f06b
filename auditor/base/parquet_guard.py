"""Parquet files of earlier reports may come from an attacker: what they declare is checked before rows are read.

A footer may declare any number of rows and bytes, and a file of some kilobytes may use one long text in every row. So
what a footer declares is bounded, and texts are read as dictionaries; they are written out if that takes little memory.
"""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow

from auditor.base import parquet_footer
from auditor.base.errors import DamagedDump

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["MOST_TEXT", "check_file", "check_footer", "coded", "written_out"]

pa: Any = pyarrow

MOST_TEXT: Final = 256 << 20
"""Bytes of text of the rows of one row group that are written out at the same time."""
_MOST_FOOTER: Final = 16 << 20
_MOST_GROUP_ROWS: Final = 1 << 20
_MOST_GROUP_BYTES: Final = 512 << 20
_FREE_ROWS, _ROWS_A_BYTE = _MOST_GROUP_ROWS, 16
"""Rows that a file may have, and further ones for each of its bytes: equal rows take next to no bytes.

A million equal rows are 14 to 20 a byte in the smallest tables.
Rows of a report differ by key or path, which takes more.
"""
_MAGIC: Final = b"PAR1"
_SPREADING: Final = "DELTA_BYTE_ARRAY"
"""An encoding that repeats the beginnings of texts; no report has it."""


_MOST_CHECKED: Final = 10_000
_SETTLED: Final = 100_000_000
"""Nanoseconds after which a change of a file is sure to change its times."""
_checked: set[tuple[int, ...]] = set()
"""Files that were found sound, as they were then: to check a footer takes as long as to read a column."""


def _refuse(path: Path, found: str, expected: str) -> DamagedDump:
    return DamagedDump(str(path), f"is no table of a report: {found}", expected, "audit anew")


def check_file(path: Path) -> None:
    """Refuse what is no Parquet file, or has a footer that is too long to be read or does not fit its schema.

    Raises:
        DamagedDump: It is.
        OSError: It cannot be opened.
    """
    state = path.stat()
    seen = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if seen in _checked:
        return
    if not stat.S_ISREG(state.st_mode):
        raise _refuse(path, "it is no regular file", "a Parquet file")
    with path.open("rb") as stream:
        stream.seek(max(0, state.st_size - 8))
        end = stream.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or length + 12 > state.st_size:
            raise DamagedDump(str(path), "is damaged: it does not end as Parquet does", "a whole file", "audit anew")
        if length > _MOST_FOOTER:
            raise _refuse(path, f"its footer is {length:,} bytes long", f"at most {_MOST_FOOTER:,}")
        stream.seek(state.st_size - 8 - length)
        fault = parquet_footer.fault_of(stream.read(length))
    if fault:
        raise DamagedDump(str(path), f"is damaged: {fault}", "a footer as an audit writes it", "audit anew")
    if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > _SETTLED:
        if len(_checked) >= _MOST_CHECKED:
            _checked.clear()
        _checked.add(seen)


def check_footer(path: Path, footer: Any) -> None:
    """Refuse a file that declares more rows or bytes than an audit writes into one.

    Args:
        path: The file.
        footer: Its `FileMetaData`.

    Raises:
        DamagedDump: It does.
    """
    size = path.stat().st_size
    most = _FREE_ROWS + _ROWS_A_BYTE * size
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    rows = [group.num_rows for group in groups]
    if min(rows, default=0) < 0 or sum(rows) != footer.num_rows:
        raise _refuse(path, f"it declares {footer.num_rows} rows, its row groups {sum(rows)}", "the same number")
    if footer.num_rows > most:
        raise _refuse(path, f"it declares {footer.num_rows:,} rows in {size:,} bytes", f"at most {most:,}")
    if max(rows, default=0) > _MOST_GROUP_ROWS:
        raise _refuse(path, f"it has a row group of {max(rows):,} rows", f"at most {_MOST_GROUP_ROWS:,}")
    for group in groups:
        _check_columns(path, group, size)


def _check_columns(path: Path, group: Any, size: int) -> None:
    total = 0
    for at in range(group.num_columns):
        column = group.column(at)
        total += max(column.total_uncompressed_size, 0)
        name = column.path_in_schema
        if min(column.total_uncompressed_size, column.total_compressed_size, column.num_values) < 0:
            raise _refuse(path, f"column {name} declares a negative size", "sizes")
        if column.total_compressed_size > size:
            raise _refuse(path, f"column {name} declares {column.total_compressed_size:,} bytes", f"at most {size:,}")
        if "." not in name and column.num_values != group.num_rows:
            raise _refuse(path, f"column {name} has {column.num_values:,} values", f"{group.num_rows:,}, one a row")
        if column.num_values > _MOST_GROUP_ROWS + _ROWS_A_BYTE * size:
            raise _refuse(path, f"column {name} has {column.num_values:,} values", "fewer in a file of its size")
        if _SPREADING in column.encodings:
            raise _refuse(path, f"column {name} is encoded as {_SPREADING}", "an encoding that audits write")
    if total > _MOST_GROUP_BYTES:
        raise _refuse(path, f"a row group declares {total:,} bytes", f"at most {_MOST_GROUP_BYTES:,}")


def coded(footer: Any) -> list[str]:
    """Return the columns of text that are to be read as dictionaries: what they hold may be far more than their size.

    Args:
        footer: The `FileMetaData` of a file.
    """
    spread: set[str] = set()
    other: set[str] = set()
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for at in range(group.num_columns):
            column = group.column(at)
            if column.physical_type != "BYTE_ARRAY" or "." in column.path_in_schema:  # the latter are parts of lists
                continue
            repeats = any("DICTIONARY" in one for one in column.encodings)
            if repeats and column.num_values * column.total_uncompressed_size > MOST_TEXT:
                spread.add(column.path_in_schema)
            if "DELTA_LENGTH_BYTE_ARRAY" in column.encodings:  # which Arrow does not read as dictionaries
                other.add(column.path_in_schema)
    return sorted(spread - other)


def written_out(path: Path, table: Any, names: Iterable[str]) -> Any:
    """Return a table with text in place of the dictionaries in some columns.

    Args:
        path: Its file.
        table: Rows of it.
        names: The columns, of those that are there.

    Raises:
        DamagedDump: They hold more text than any report.
    """
    from auditor.base import arrow  # noqa: PLC0415 - which uses this module

    for name in names:
        at = table.schema.get_field_index(name)
        if at < 0 or not pa.types.is_dictionary(table.schema.field(at).type):
            continue
        column, size = table.column(at), 0
        for chunk in column.chunks:
            lengths = np.asarray(arrow.fill_null(arrow.byte_lengths(chunk.dictionary), 0), dtype=np.int64)
            codes = np.asarray(arrow.fill_null(chunk.indices, -1), dtype=np.int64)
            size += int(np.append(lengths, 0)[codes].sum())
        if size > MOST_TEXT:
            raise _refuse(path, f"column {name} holds {size:,} bytes of text", f"at most {MOST_TEXT:,} in a row group")
        table = table.set_column(at, name, arrow.cast(column, pa.string()))
    return table
