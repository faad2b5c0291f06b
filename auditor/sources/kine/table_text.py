"""kine's table as text: CSV with a header line, tab-separated lines of MySQL, and COPY of a PostgreSQL dump.

Columns are found by their names, in any order. Values are bytes: PostgreSQL writes them as ``\\x`` and hex digits,
MySQL as ``0x`` and hex digits with an option, else raw with its escapes. A value that a tool cut at its first zero byte
cannot be distinguished from a short one.
Source: PostgreSQL COPY (text format, CSV format), bytea_output hex; MySQL SELECT ... INTO OUTFILE, mysql --batch.
"""

from __future__ import annotations

import binascii
import codecs
import csv
import mmap
import re
import shutil
from typing import TYPE_CHECKING, Final

from auditor.base.errors import DamagedDump
from auditor.sources.kine.sqlite import COLUMNS, KineRow, KineTable
from auditor.sources.signatures import plain_text
from auditor.sources.source_plan import DamageLog

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from auditor.sources.source_plan import SourcePlan

    ValueOf = Callable[[bytes | None], bytes | None]


_NEEDED: Final = frozenset({"id", "name", "deleted", "value"})
_COPY: Final = re.compile(
    rb"^COPY (?:(?:\w+|\"[^\"\n]+\")\.)?\"?kine\"? \(([^)\n]*)\) FROM stdin;\r?$", re.MULTILINE | re.IGNORECASE
)
_FIELD_LIMIT: Final = 256 << 20
_INTEGER: Final = re.compile(rb" *[+-]?[0-9]+ *")
_IN_HEX: Final = re.compile(r"hex\((\w+)\)\Z")
_HEX: Final = re.compile(rb"(?:7[Bb]|6[Bb]3873)(?:[0-9a-fA-F]{2})*")
_ESCAPES: Final = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
    b"0": b"\0",
    b"Z": b"\x1a",
}
_ESCAPED: Final = re.compile(rb"\\(.)", re.DOTALL)
_OCTAL: Final = re.compile(rb"\\(?:\\|([0-7]{3}))")
_QUOTE: Final = re.compile(rb'"(?:(?<=\\")(?!")|(?<=[^\\,;|\r\n]")")')
"""A quote inside a CSV cell, after a backslash or doubled; a doubled one may follow a backslash of JSON."""
_TRUE: Final = frozenset({b"1", b"t", b"true", b"\x01"})


def _header(line: bytes) -> tuple[list[str], str] | None:
    """Return the columns in a line and their separator, or None if it is not a header of the table.

    A column ``HEX(value)`` keeps that name.
    """
    if b"deleted" not in line.replace(b"`", b"").lower():
        return None
    text = line.removeprefix(b"\xef\xbb\xbf").strip(b"\r\n").decode("latin-1")
    for delimiter in (",", "\t", ";", "|"):
        columns = [column.strip().strip('"`').lower().replace("`", "") for column in text.split(delimiter)]
        if {_IN_HEX.sub(r"\1", column) for column in columns} >= _NEEDED:
            return columns, delimiter
    return None


def looks_like_kine_text(head: bytes) -> bool:
    """Whether a file with this beginning has kine's table as text."""
    text = plain_text(head)
    if _header(text.split(b"\n", 1)[0]) is not None:
        return True
    return b" from stdin;" in text.lower() and _COPY.search(text) is not None


def _in_utf8(path: Path, target: Path) -> Path:
    """Return the file, or a UTF-8 copy if it is in UTF-16, which PowerShell writes."""
    with path.open("rb") as stream:
        if stream.read(2) not in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            return path
    with (
        path.open(encoding="utf-16", errors="replace", newline="") as text,
        target.open("w", encoding="utf-8", errors="replace", newline="") as out,
    ):
        shutil.copyfileobj(text, out)
    return target


def _unescape(match: re.Match[bytes]) -> bytes:
    return _ESCAPES.get(match[1], match[1])


def _plain(cell: bytes) -> bytes | None:
    """Undo the escapes of one cell of tab-separated text; None if it is null."""
    if cell in {b"\\N", b"NULL"}:
        return None
    return _ESCAPED.sub(_unescape, cell) if b"\\" in cell else cell


def _value(cell: bytes | None) -> bytes | None:
    """Return the bytes of a cell."""
    if cell is None:
        return None
    for prefix in (b"\\x", b"0x", b"0X"):
        if cell.startswith(prefix):
            return binascii.unhexlify(cell[2:])
    return binascii.unhexlify(cell) if _HEX.fullmatch(cell) else cell


def _as_it_is(cell: bytes | None) -> bytes | None:
    return cell


def _copied_value(cell: bytes | None) -> bytes | None:
    """Return the bytes of a PostgreSQL bytea: in hex, or partly in octal if `bytea_output` is escape."""
    if cell is None or cell.startswith(b"\\x"):
        return _value(cell)
    return _OCTAL.sub(lambda match: bytes([int(match[1], 8) & 0xFF]) if match[1] else b"\\", cell)


def _tab_lines(stream: Iterable[bytes]) -> Iterator[list[bytes | None]]:
    for line in stream:
        yield [_plain(cell) for cell in line.rstrip(b"\r\n").split(b"\t")]


def _csv_lines(stream: Iterable[bytes], delimiter: str, *, escaped: bool) -> Iterator[list[bytes | None]]:
    text = (line.decode("latin-1") for line in stream)
    reader = csv.reader(
        text, delimiter=delimiter, strict=True, doublequote=not escaped, escapechar="\\" if escaped else None
    )
    for cells in reader:
        yield [None if cell in {"\\N", "NULL"} else cell.encode("latin-1") for cell in cells]


def _number(cell: bytes | None) -> int:
    if cell and not _INTEGER.fullmatch(cell):  # Python accepts more, such as 1_0
        raise ValueError(f"{cell!r} is no number")
    return int(cell) if cell else 0


def _row(columns: dict[str, int], cells: list[bytes | None], value_of: ValueOf) -> KineRow:
    """Make a row from the cells of a line.

    Raises:
        ValueError: They are not a row.
    """

    def cell(name: str) -> bytes | None:
        return cells[columns[name]] if name in columns else None

    revision = _number(cell("id"))
    if not 0 < revision < 1 << 63:
        raise ValueError(f"id {revision}")
    name = cell("name")
    if not name:
        raise ValueError("no name")
    create, previous = (_number(cell(column)) for column in ("create_revision", "prev_revision"))
    return KineRow(
        revision,
        name,
        (cell("created") or b"").lower() in _TRUE,
        (cell("deleted") or b"").lower() in _TRUE,
        create if 0 <= create < 1 << 63 else 0,
        previous if 0 <= previous < 1 << 63 else 0,
        value_of(cell("value")),
    )


class _TableReader:
    """Reads the lines after a header into a table."""

    def __init__(self, table: KineTable, damage: DamageLog, names: list[str], value_of: ValueOf = _value) -> None:
        self.table = table
        self.damage = damage
        self.value_of = value_of
        self.width = len(names)
        self.in_hex = [index for index, name in enumerate(names) if name in {"hex(name)", "hex(value)"}]
        plain = [_IN_HEX.sub(r"\1", name) for name in names]
        self.columns = {name: index for index, name in enumerate(plain) if name in COLUMNS}
        if "hex(value)" in names:
            self.value_of = _as_it_is
        self.lines = 0

    def read(self, lines: Iterable[list[bytes | None]]) -> None:
        """Read lines up to the end or to a broken one."""
        try:
            for cells in lines:
                self.lines += 1
                if not cells or cells == [b""]:
                    continue
                if len(cells) != self.width:
                    self.damage.add(f"line {self.lines} of the table", f"{len(cells)} cells, not {self.width}")
                    continue
                try:
                    for index in self.in_hex:
                        cells[index] = binascii.unhexlify(cells[index] or b"")
                    self.table.add(_row(self.columns, cells, self.value_of))
                except ValueError as error:
                    self.damage.add(f"line {self.lines} of the table", str(error) or "no row")
        except csv.Error as error:
            reason = f"{error}; {self.table.seen} rows were read before that"
            self.damage.add(f"line {self.lines + 1} of the table", reason)


def open_kine_text(name: str, path: Path, *, number: int, workdir: Path, sha256: str) -> SourcePlan:
    """Write the live table of a kine table in a text file.

    Args:
        name: The name that the user gave.
        path: The uncompressed file.
        number: Position of the dump among the inputs.
        workdir: Folder for the live table and the values.
        sha256: SHA-256 of the given file.

    Raises:
        DamagedDump: No row of the table can be read.
    """
    table, damage = KineTable(workdir, number), DamageLog()
    csv.field_size_limit(_FIELD_LIMIT)
    with _in_utf8(path, workdir / f"text-{number:03d}").open("rb") as stream:
        first = stream.readline(1 << 16)
        header = _header(first)
        if header is not None:
            form = "kine-csv"
            columns, delimiter = header
            reader = _TableReader(table, damage, columns)
            if delimiter == "\t":
                reader.read(_tab_lines(stream))
            else:
                with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
                    quote = _QUOTE.search(text, stream.tell())
                    escaped = quote is not None and quote[0] == b'"'
                reader.read(_csv_lines(stream, delimiter, escaped=escaped))
        else:
            form = "kine-copy"
            stream.seek(0)
            _copy(stream, table, damage)
    records = damage.records()
    if records and not table.seen:
        raise DamagedDump(name, f"{records[0].where}: {records[0].reason}", "rows of kine's table")
    return table.plan(name, form, sha256, records, [])


def _copy(stream: io.BufferedReader, table: KineTable, damage: DamageLog) -> None:
    """Read the COPY of the table in a dump of PostgreSQL."""
    for line in stream:
        match = _COPY.match(line)
        if match:
            names = [name.strip().strip(b'"').decode("latin-1") for name in match[1].split(b",")]
            ended: list[bool] = []
            lines = _until_end(stream, ended)
            if table.seen:  # from another database of the server, or another schema
                more = sum(1 for _ in lines)
                if more:
                    damage.add("another table kine", f"{more} lines of another store, not read; make a file of each")
            else:
                _TableReader(table, damage, names, _copied_value).read(_tab_lines(lines))
            if not ended:
                damage.add("end of file", "the dump ends inside the table")


def _until_end(stream: io.BufferedReader, ended: list[bool]) -> Iterator[bytes]:
    for line in stream:
        if line.rstrip(b"\r\n") == b"\\.":
            ended.append(True)
            return
        yield line
