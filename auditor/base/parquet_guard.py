"""Checks what a Parquet file of an earlier report declares before rows are read: it may come from an attacker.

A footer may declare any number of rows and bytes, and a file of some kilobytes may use one long text in every row. So
the numbers of a footer have limits, and texts are read as dictionaries, which become plain text only if that takes
little memory.
"""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow

from auditor.base import parquet_footer
from auditor.base.errors import DamagedDump

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MOST_TEXT", "check_file", "check_footer", "coded", "has_codes", "refusal_of"]

pa: Any = pyarrow

MOST_TEXT: Final = 256 << 20
"""Most bytes of plain text that the rows of one row group may take."""
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
"""An encoding that stores shared beginnings of texts once; no report uses it."""


_MOST_CHECKED: Final = 10_000
_SETTLED: Final = 100_000_000
"""Nanoseconds after which a change of a file is certain to change its modification time."""
_checked: set[tuple[int, ...]] = set()
"""Cache of files that passed the check, by their state: checking a footer takes as long as reading a column."""


def refusal_of(path: Path, found: str, expected: str) -> DamagedDump:
    """Return the error of a file that is not a table of a report."""
    return DamagedDump(str(path), f"is not a table of a report: {found}", expected, "audit anew")


def check_file(path: Path) -> None:
    """Refuse a file that is not Parquet, or whose footer is too long or does not fit its schema.

    Raises:
        DamagedDump: The file is refused.
        OSError: It cannot be opened.
    """
    state = path.stat()
    seen = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if seen in _checked:
        return
    if not stat.S_ISREG(state.st_mode):
        raise refusal_of(path, "it is not a regular file", "a Parquet file")
    with path.open("rb") as stream:
        stream.seek(max(0, state.st_size - 8))
        end = stream.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or length + 12 > state.st_size:
            raise DamagedDump(str(path), "is damaged: it does not end as Parquet does", "a whole file", "audit anew")
        if length > _MOST_FOOTER:
            raise refusal_of(path, f"its footer is {length:,} bytes long", f"at most {_MOST_FOOTER:,}")
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
        raise refusal_of(path, f"it declares {footer.num_rows} rows, its row groups {sum(rows)}", "the same number")
    if footer.num_rows > most:
        raise refusal_of(path, f"it declares {footer.num_rows:,} rows in {size:,} bytes", f"at most {most:,}")
    if max(rows, default=0) > _MOST_GROUP_ROWS:
        raise refusal_of(path, f"it has a row group of {max(rows):,} rows", f"at most {_MOST_GROUP_ROWS:,}")
    for group in groups:
        _check_columns(path, group, size)


def _check_columns(path: Path, group: Any, size: int) -> None:
    total = 0
    for at in range(group.num_columns):
        column = group.column(at)
        total += max(column.total_uncompressed_size, 0)
        name = column.path_in_schema
        if min(column.total_uncompressed_size, column.total_compressed_size, column.num_values) < 0:
            raise refusal_of(path, f"column {name} declares a negative size", "sizes")
        if column.total_compressed_size > size:
            raise refusal_of(
                path, f"column {name} declares {column.total_compressed_size:,} bytes", f"at most {size:,}"
            )
        if "." not in name and column.num_values != group.num_rows:
            raise refusal_of(path, f"column {name} has {column.num_values:,} values", f"{group.num_rows:,}, one a row")
        if column.num_values > _MOST_GROUP_ROWS + _ROWS_A_BYTE * size:
            raise refusal_of(path, f"column {name} has {column.num_values:,} values", "fewer in a file of its size")
        if _SPREADING in column.encodings:
            raise refusal_of(path, f"column {name} is encoded as {_SPREADING}", "an encoding that audits write")
    if total > _MOST_GROUP_BYTES:
        raise refusal_of(path, f"a row group declares {total:,} bytes", f"at most {_MOST_GROUP_BYTES:,}")


def coded(footer: Any) -> list[str]:
    """Return the text columns to read as dictionaries: as plain text they may take far more bytes than in the file.

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
            if not has_codes(column):
                other.add(column.path_in_schema)
    return sorted(spread - other)


def has_codes(column: Any) -> bool:
    """Return whether Arrow can read a column of texts as a dictionary: it cannot for delta encodings.

    Args:
        column: The `ColumnChunkMetaData`.
    """
    return not any(one.startswith("DELTA") for one in column.encodings)
