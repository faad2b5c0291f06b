"""kine's table in SQLite: k3s and RKE2 without etcd store in `state.db` what etcd would have.

Each row is a revision: `id` is its number, the newest row of a `name` counts, and its `deleted` means that the key was
deleted. The user's file is never opened for writing: if it has a write-ahead log, both are copied, as SQLite would
merge and delete the log; otherwise it is opened as immutable, without locks.
Source: kine pkg/drivers/generic/generic.go, pkg/drivers/sqlite.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pyarrow

from auditor.base.errors import DamagedDump, UnknownDump
from auditor.sources.files.compression import PACKED_SUFFIXES
from auditor.sources.files.free_space import check_free_space
from auditor.sources.live_table import KeyedRows, NewestPerKey
from auditor.sources.source_plan import DamageLog, SourcePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.sources.source_plan import Damage


_TABLES: Final = frozenset({"", "kine", "sqlite_master", "sqlite_schema"})
_PRAGMAS: Final = frozenset({"integrity_check", "table_xinfo", "wal_checkpoint"})
_SECONDS: Final = 3.0
_SECONDS_A_BYTE: Final = 1 / (5 << 20)
"""Processor time per byte of a step: far more than SQLite takes for any database of kine."""
_INSTRUCTIONS: Final = 1000
"""Instructions of SQLite's virtual machine between two checks of the time."""


class Guard:
    """Refuses all operations that reading kine's table does not need, and stops steps that take too long.

    Args:
        connection: The connection to guard.
        size: Bytes of the database.

    Attributes:
        is_over: Whether SQLite was interrupted since `begin`.
    """

    def __init__(self, connection: sqlite3.Connection, size: int) -> None:
        self._seconds = _SECONDS + size * _SECONDS_A_BYTE
        self.begin()
        connection.set_authorizer(_allowed)
        connection.set_progress_handler(self._look, _INSTRUCTIONS)

    def begin(self) -> None:
        """Start the time limit of the next step."""
        self.is_over = False
        self._end = thread_time() + self._seconds

    def _look(self) -> int:
        self.is_over = self.is_over or thread_time() > self._end
        return int(self.is_over)


def _allowed(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ:
        return sqlite3.SQLITE_OK if (first or "").lower() in _TABLES else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_OK if (second or "").lower() == "max" else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY


pa: Any = pyarrow

COLUMNS: Final = ("id", "name", "created", "deleted", "create_revision", "prev_revision", "value")
"""Columns of the table that are read."""

_COMPACTED: Final = b"compact_rev_key"
_INTERNAL: Final = frozenset({_COMPACTED, b"compact_rev_key_apiserver"})
_GAP: Final = b"gap-"
_ERRORS: Final = (sqlite3.Error, OverflowError, UnicodeDecodeError)
"""Exceptions for a damaged database; SQLite's messages and names of columns may not be UTF-8."""

_LOG_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_LIVE: Final = (
    "JOIN (SELECT MAX(id) AS id FROM kine NOT INDEXED GROUP BY CAST(name AS BLOB)) m ON m.id = k.id"
    " WHERE k.deleted = 0 OR k.id = (SELECT MAX(id) FROM kine NOT INDEXED)"
)
"""Query for the newest live rows, and the row of the revision."""

_GENERATED: Final = (2, 3)
"""SQLite's marks of generated columns, virtual and stored."""
_LONGEST_VALUE: Final = 64 << 20
"""Largest value in bytes; SQLite returns an error for larger ones."""
_TOO_LONG: Final = "SQLite takes far longer than for any database of this size that kine wrote, and was interrupted"
_ONE: Final = "WHERE id >= ? LIMIT 1"
_BATCH: Final = 1 << 12
_TRIES: Final = 3
_MAX_INT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class KineRow:
    """One row of the table; a `value` of None is empty."""

    revision: int
    name: bytes
    created: bool
    deleted: bool
    create_revision: int
    prev_revision: int
    value: bytes | None


def is_internal(name: bytes) -> bool:
    """Whether a name is internal to kine and not a key of the store."""
    return name in _INTERNAL or name.startswith(_GAP)


class KineTable:
    """Collects rows of a kine table; values go to a file that workers map.

    Args:
        workdir: Folder for the values and the live table.
        number: Position of the dump among the inputs.
    """

    def __init__(self, workdir: Path, number: int) -> None:
        self.workdir = workdir
        self.number = number
        self.values = workdir / f"values-{number:03d}"
        self.revision = 0
        self.compacted = 0
        self.seen = 0
        self._newest = NewestPerKey(workdir, number)
        self._spool = self.values.open("wb")
        self._at = 0
        self._keys: list[bytes] = []
        self._rows: list[tuple[int, int, int, int, bool]] = []

    def add(self, row: KineRow) -> None:
        """Add one row; rows can come in any order."""
        self.seen += 1
        self.revision = max(self.revision, row.revision)
        if row.name == _COMPACTED:
            self.compacted = max(self.compacted, row.prev_revision)
        if is_internal(row.name):
            return
        value = b"" if row.deleted or row.value is None else row.value
        self._keys.append(row.name)
        create = row.revision if row.created else row.create_revision
        self._rows.append((create, row.revision, self._at, len(value), row.deleted))
        self._spool.write(value)
        self._at += len(value)
        if len(self._keys) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._keys:
            return
        create, mod, offset, length, deleted = zip(*self._rows, strict=True)
        keys = pa.array(self._keys, pa.large_binary())
        self._newest.add(KeyedRows.of(keys, create=create, mod=mod, offset=offset, length=length, deleted=deleted))
        self._keys, self._rows = [], []

    def plan(self, name: str, form: str, sha256: str, damage: tuple[Damage, ...], notes: list[str]) -> SourcePlan:
        """Write the live table and return the plan."""
        self._flush()
        self._spool.close()
        live = self.workdir / f"live-{self.number:03d}.arrow"
        rows = self._newest.finish(live)
        if not rows:
            notes.append("no key in the table")
        return SourcePlan(
            name=name,
            format=form,
            mapped=str(self.values),
            sha256=sha256,
            revision=self.revision or None,
            compacted_revision=self.compacted or None,
            is_export=False,
            live=str(live),
            rows=rows,
            damage=damage,
            notes=tuple(notes),
        )


def wal_of(path: Path) -> Path | None:
    """Return the write-ahead log of a database, which may be compressed, or None if there is none."""
    name = path.name
    for suffix in ("", *PACKED_SUFFIXES):
        if suffix and not name.endswith(suffix):
            continue
        stem = name.removesuffix(suffix)
        for other in {suffix, ""}:
            wal_path = path.with_name(f"{stem}-wal{other}")
            if wal_path.is_file() and wal_path.stat().st_size:
                return wal_path
    return None


def _number(value: Any) -> int:
    try:
        number = int(value or 0)
    except (TypeError, ValueError):
        return 0
    return number if 0 <= number <= _MAX_INT else 0


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b"" if value is None else str(value).encode()


def _page_size(head: bytes) -> int:
    size = int.from_bytes(head[16:18], "big")
    return size if size > 1 else 1 << 16


def _declared_size(head: bytes) -> int:
    """Return the size in bytes that a database has by its header, or 0 if it states none."""
    return int.from_bytes(head[28:32], "big") * _page_size(head) if head[24:28] == head[92:96] else 0


def _whole_pages(path: Path, head: bytes, workdir: Path, number: int) -> Path:
    """Return a truncated database, or a copy of it without an incomplete last page, which SQLite would fill."""
    rest = path.stat().st_size % _page_size(head)
    if not rest:
        return path
    target = workdir / f"state-{number:03d}.db"
    check_free_space(str(path), workdir, path.stat().st_size)
    shutil.copyfile(path, target)
    os.truncate(target, target.stat().st_size - rest)
    return target


def _connect(path: Path, *, immutable: bool, cut: bool = False) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.resolve()))}?{'immutable=1' if immutable else 'mode=rw'}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.text_factory = bytes
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    if cut:  # otherwise SQLite refuses the whole file
        connection.execute("PRAGMA writable_schema=ON")
    return connection


def _state(path: Path, wal: Path) -> tuple[Any, ...]:
    """Return the state that must not change while both are copied; the log may grow."""
    status = path.stat()
    with wal.open("rb") as stream:
        return status.st_mtime_ns, status.st_size, stream.read(32)


def _copied(name: str, path: Path, wal: Path, workdir: Path, number: int) -> Path:
    """Copy a database and its log to a folder where SQLite may merge them."""
    target = workdir / f"state-{number:03d}.db"
    for _ in range(_TRIES):
        before = _state(path, wal)
        check_free_space(name, workdir, path.stat().st_size + wal.stat().st_size)
        shutil.copyfile(path, target)
        shutil.copyfile(wal, target.with_name(target.name + "-wal"))
        if _state(path, wal) == before:
            return target
    raise DamagedDump(name, "being written while it is read", "a file at rest", "stop the server, or copy both files")


def _left_out(connection: sqlite3.Connection, wal: Path, damage: DamageLog) -> list[str]:
    """Return what SQLite does not apply of a log: all after a wrong checksum, and uncommitted frames at the end."""
    (_, used, _) = next(iter(connection.execute("PRAGMA wal_checkpoint(PASSIVE)")))
    if used <= 0:
        damage.add("write-ahead log", "nothing in it can be applied; newest rows are missing")
        return []
    commits, begun = 0, False
    with wal.open("rb") as stream:
        header = stream.read(_LOG_HEADER)
        frame_size = _FRAME_HEADER + int.from_bytes(header[8:12], "big")
        size = wal.stat().st_size
        for start in range(_LOG_HEADER + used * frame_size, size, frame_size):
            stream.seek(start)
            frame = stream.read(_FRAME_HEADER)
            # frames of an older generation of the log have another salt; uncommitted frames have no size
            ours, whole = frame[8:16] == header[16:24], start + frame_size <= size
            begun = begun or ours or not whole
            commits += ours and whole and any(frame[4:8])
    if commits:
        damage.add("write-ahead log", f"{commits} commits of what was written behind frame {used} cannot be applied")
    elif begun:
        return ["the write-ahead log ends inside a transaction: newest rows may be missing"]
    return []


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')")
    return {_bytes(name).decode("utf-8", "backslashreplace"): _bytes(kind).decode() for name, kind in rows}


def _refuse_computed(connection: sqlite3.Connection, name: str) -> None:
    """Refuse a table whose values SQLite would compute: kine has none, and a few bytes could produce gigabytes."""
    expected = "the table as kine makes it"
    columns = [_bytes(row[1]) for row in connection.execute("PRAGMA table_xinfo(kine)") if row[6] in _GENERATED]
    if columns:
        shown = columns[0].decode("utf-8", "backslashreplace")
        raise DamagedDump(name, f"table kine has a generated column {shown}", expected)
    for kind, of in connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"):
        shown = _bytes(of).decode("utf-8", "backslashreplace")
        raise DamagedDump(name, f"the database has a {_bytes(kind).decode()} {shown}", expected)


def _rows(connection: sqlite3.Connection, condition: str, *numbers: int) -> Iterator[KineRow]:
    """Yield the rows of a condition in the order of the table."""
    columns = ", ".join(f"k.{column}" for column in COLUMNS)
    query = f"SELECT {columns} FROM kine k NOT INDEXED {condition}"
    for number, name, created, deleted, create, prev, value in connection.execute(query, numbers):
        yield KineRow(
            _number(number),
            _bytes(name),
            bool(_number(created)),
            bool(_number(deleted)),
            _number(create),
            _number(prev),
            None if value is None else _bytes(value),
        )


def _read(connection: sqlite3.Connection, guard: Guard, make: Callable[[], KineTable], damage: DamageLog) -> KineTable:
    """Read the live rows; if the database is damaged, use a scan of the table."""
    try:
        (told,) = next(iter(connection.execute("PRAGMA integrity_check(1)")))
        sound = _bytes(told) == b"ok"
        if not sound:
            damage.add("database", f"not sound: {_bytes(told).decode('utf-8', 'backslashreplace')}")
    except _ERRORS as error:
        sound = False
        damage.add("database", _TOO_LONG if guard.is_over else f"not sound: {error}")
    guard.begin()
    if sound:
        table = make()
        try:
            for row in _rows(connection, _LIVE):
                table.add(row)
        except _ERRORS as error:
            if guard.is_over:
                damage.add("table kine", f"{_TOO_LONG}; {table.seen} rows were read before that")
                return table
            damage.add("table kine", f"{error}; it is read row by row instead")
        else:
            return table
    table = make()
    guard.begin()
    _scan(connection, guard, table, damage)
    return table


def _scan(connection: sqlite3.Connection, guard: Guard, table: KineTable, damage: DamageLog) -> None:
    """Add the readable rows, and report the ranges of the others."""
    first, ascending = 0, True
    while True:
        try:
            for row in _rows(connection, "WHERE id >= ?", first):
                ascending = ascending and row.revision >= first
                first = row.revision + 1
                table.add(row)
        except _ERRORS as error:
            if guard.is_over:
                damage.add("table kine", f"{_TOO_LONG}; {table.seen} rows were read before that")
                return
            if not ascending:  # the missing range is not known
                damage.add("table kine", f"{error}; {table.seen} rows were read before that, newer ones are missing")
                return
            with suppress(*_ERRORS):
                for row in _rows(connection, _ONE, first):  # Python reads one row ahead
                    table.add(row)
                    first = max(first, row.revision + 1)
            end = _end_of_gap(connection, first)
            gap = f"{first} to {end}" if end < _MAX_INT else f"from {first} on"
            damage.add("table kine", f"rows {gap} cannot be read: {error}")
            if end == _MAX_INT:
                return
            first = end + 1
        else:
            return


def _end_of_gap(connection: sqlite3.Connection, first: int) -> int:
    """Return the last revision up to which reading fails, with steps that grow and then shrink."""
    last, stride, growing = first, 1, True
    while stride:
        end = min(last + stride, _MAX_INT)
        try:
            next(_rows(connection, _ONE, end), None)
        except _ERRORS:
            last = end
            if end == _MAX_INT:
                break
        else:
            growing = False
        stride = stride * 2 if growing else stride // 2
    return last


def _plain_name(path: str) -> str:
    """Return the name of a file without the suffix of a compression."""
    name = Path(path).name
    return next((name.removesuffix(suffix) for suffix in PACKED_SUFFIXES if name.endswith(suffix)), name)


def open_kine(
    name: str, path: Path, *, number: int, workdir: Path, sha256: str, wal: Path | None = None, database: str = ""
) -> SourcePlan:
    """Write the live table of a kine table in a SQLite database.

    Args:
        name: The name that the user gave.
        path: The uncompressed file.
        number: Position of the dump among the inputs.
        workdir: Folder for the live table, the values and copies.
        sha256: SHA-256 of the given file.
        wal: Its uncompressed write-ahead log; None if there is none.
        database: The file itself, if `name` is its folder.

    Raises:
        UnknownDump: It is a database of another program.
        DamagedDump: Nothing can be read, or it changes during each copy.
    """
    notes: list[str] = []
    damage = DamageLog()
    with path.open("rb") as stream:
        head = stream.read(100)
    if wal is not None:
        path = _copied(name, path, wal, workdir, number)
        notes.append("the write-ahead log beside the database was read too")
    elif head[18:20] == b"\2\2":
        missing = f"{_plain_name(database or name)}-wal"
        notes.append(f"the database is in WAL mode, and no {missing} lies beside it: newest rows may be missing")
    size, declared = path.stat().st_size, _declared_size(head)
    cut = wal is None and size < declared
    if cut:
        damage.add("database", f"cut: {size} bytes of {declared}")
        path = _whole_pages(path, head, workdir, number)
    try:
        with closing(_connect(path, immutable=wal is None, cut=cut)) as connection:
            guard = Guard(connection, size)
            kine_tables = _tables(connection)
            if kine_tables.get("kine") != "table":
                told = ", ".join(sorted(kine_tables)[:10]) or "none"
                raise UnknownDump(name, f"a SQLite database, not of kine: tables found: {told}", "a table `kine`")
            _refuse_computed(connection, name)
            if wal is not None:
                notes += _left_out(connection, path.with_name(path.name + "-wal"), damage)
            table = _read(connection, guard, lambda: KineTable(workdir, number), damage)
    except _ERRORS as error:
        raise DamagedDump(name, f"a SQLite database that cannot be read: {error}", "", "copy it again") from None
    records = damage.records()
    if records and not table.seen:
        raise DamagedDump(name, f"{records[-1].where}: {records[-1].reason}", "a database of kine", "copy it again")
    return table.plan(name, "kine-sqlite", sha256, records, notes)
