"""etcd's write-ahead log: finds writes that are not in the database yet.

A member writes each request to its log first and commits the database periodically, so the log of a data directory that
was copied from a running or killed member is ahead. The log is checked and counted here; it is not applied.

Files are named by sequence, preallocated with zeros and cut when the next one begins. Each record has a CRC-32C of all
data so far; a record with a wrong one ends the reading: in the last file it may be a torn write, which etcd drops as
well, elsewhere it is damage.
Source: etcd server/storage/wal/{decoder,encoder,wal}.go, api/etcdserverpb/raft_internal.proto.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import google_crc32c

from auditor.sources.etcd.mvcc import MalformedMessage, read_varint
from auditor.sources.files.digest import map_file

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator
    from pathlib import Path


_NAME: Final = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})\.wal")
_METADATA, _ENTRY, _STATE, _CRC, _SNAPSHOT = 1, 2, 3, 4, 5
_SIZE_MASK: Final = (1 << 56) - 1
_SECTOR: Final = 512

MOST_KEYS: Final = 1000
"""Approximate number of keys held in memory."""

_LEASE_REVOKE: Final = 9
_V2_METHODS: Final = (b"PUT", b"SYNC", b"QGET", b"DELETE", b"POST", b"GET", b"HEAD")


class _Entry(NamedTuple):
    file: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Unapplied:
    """Contents of a log that are not in a database.

    Attributes:
        entries: Number of requests (and elections, and member changes) above the database's index.
        first: Raft index of the first of them.
        last: Raft index of the last.
        keys: Distinct keys that they put or delete, up to a limit.
        ranges: Number of deletions of ranges of keys.
        gap: Whether the log begins later than the database ends: entries between them are missing.
        leases: Number of revoked leases, which deletes the keys attached to them.
    """

    entries: int = 0
    first: int = 0
    last: int = 0
    keys: frozenset[bytes] = frozenset()
    ranges: int = 0
    gap: bool = False
    leases: int = 0


@dataclass(slots=True)
class WalLog:
    """The readable part of a log.

    Attributes:
        files: Names in order.
        records: Records by type: 1 metadata, 2 entry, 3 hard state, 4 checksum, 5 snapshot.
        last_index: Raft index of the last entry, 0 if there is none.
        commit: Highest index that the log records as committed; acknowledged requests may be above it.
        faults: (file, reason) of unreadable parts.
        torn: Whether the last record was being written when the file was copied; etcd drops it too.
        snapshot: Raft index of a later snapshot from the leader, after which the log continues; 0 if there is none.
        unapplied: Contents after the database (or after that snapshot).
    """

    files: list[str] = field(default_factory=list)
    records: dict[int, int] = field(default_factory=dict)
    first_index: int = 0
    last_index: int = 0
    commit: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)
    torn: bool = False
    snapshot: int = 0
    unapplied: Unapplied = Unapplied()


def _fields(data: Any, at: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield (field, number, -1) or (field, start, stop) for each field of a message."""
    while at < stop:
        tag, at = read_varint(data, at, stop)
        number, wire = tag >> 3, tag & 7
        if wire == 0 and number:
            value, at = read_varint(data, at, stop)
            yield number, value, -1
            continue
        size = {1: 8, 5: 4}.get(wire, -1)
        if wire == 2:
            size, at = read_varint(data, at, stop)
        if not number or size < 0 or at + size > stop:
            raise MalformedMessage("a field is cut, or of an unknown type")
        if wire == 2:
            yield number, at, at + size
        at += size


class _Record(NamedTuple):
    """A record: its data from `start` to `stop`, its frame from `frame` to `end`, in bytes of the file."""

    kind: int
    crc: int
    start: int
    stop: int
    frame: int
    end: int


def _records(data: Any, name: str, log: WalLog, *, last: bool) -> Iterator[_Record]:
    """Yield the records of one file, up to the end or to a broken one."""
    position, size = 0, len(data)
    while position < size:
        header = int.from_bytes(data[position : position + 8], "little")
        if not header and position + 8 <= size:
            return
        length = header & _SIZE_MASK
        padding = (header >> 56) & 7 if header >> 63 else 0
        stop = position + 8 + length
        if stop + padding > size:
            if last:
                log.torn = True
            else:
                log.faults.append((name, f"a record at byte {position} goes beyond the end of the file"))
            return
        kind = crc = 0
        data_start = data_stop = stop
        try:
            for number, first, second in _fields(data, position + 8, stop):
                if number == 1 and second < 0:
                    kind = first
                elif number == 2 and second < 0:
                    crc = first & 0xFFFFFFFF
                elif number == 3 and second >= 0:
                    data_start, data_stop = first, second
        except MalformedMessage:
            _broken(data, name, log, position, stop, "no record", last=last)
            return
        end = stop + padding
        yield _Record(kind, crc, data_start, data_stop, position, end)
        position = end


def _broken(data: Any, name: str, log: WalLog, at: int, stop: int, what: str, *, last: bool) -> None:
    """Record a broken record: torn if it is in the last file and a whole sector of it is zero."""
    start = at + 8  # without the length of the frame itself
    begin = -(-start // _SECTOR) * _SECTOR
    sectors = [bytes(data[here : min(here + _SECTOR, stop)]) for here in range(begin, stop, _SECTOR)]
    head = bytes(data[start : min(begin, stop)])
    if last and any(part and not part.strip(b"\0") for part in (head, *sectors)):
        log.torn = True
    else:
        log.faults.append((name, f"{what} at byte {at}; nothing after it was read"))


class _WalReader:
    """Reads consecutive files, and collects entries above the database's index."""

    def __init__(self, applied: int) -> None:
        self.applied = applied
        self.log = WalLog()
        self.entries: dict[int, _Entry] = {}
        self.data: list[mmap.mmap | bytes] = []
        self._running: int | None = None

    def file(self, path: Path, *, last: bool) -> bool:
        """Read one file; return whether the next one can be read."""
        data = map_file(path)
        self.data.append(data)
        name = path.name
        end = WalLog()
        for record in _records(data, name, end, last=last):
            if not self._take(data, name, record, last=last):
                return False
        self.log.torn = end.torn
        self.log.faults += end.faults
        return not self.log.faults

    def _take(self, data: Any, name: str, record: _Record, *, last: bool) -> bool:
        """Check and count a record; return whether it is valid."""
        before = self._running
        if record.kind == _CRC:
            expected = record.crc if before is None else before
        else:
            expected = google_crc32c.extend(before or 0, data[record.start : record.stop])
        # a file's first record repeats the value; a running value of 0 is not compared
        skipped = record.kind == _CRC and not expected
        if expected != record.crc and not skipped:
            _broken(data, name, self.log, record.frame, record.end, "a record with a wrong checksum", last=last)
            return False
        if not _METADATA <= record.kind <= _SNAPSHOT:
            self.log.faults.append((name, f"a record of unknown type {record.kind} at byte {record.frame}"))
            return False
        self._running = record.crc
        self.log.records[record.kind] = self.log.records.get(record.kind, 0) + 1
        try:
            self._record(data, record)
        except MalformedMessage:
            self.log.faults.append((name, f"a record at byte {record.frame} is no message"))
            return False
        return True

    def _record(self, data: Any, record: _Record) -> None:
        log = self.log
        if record.kind == _STATE:
            for number, value, end in _fields(data, record.start, record.stop):
                if number == 3 and end < 0:
                    log.commit = max(log.commit, value)
        elif record.kind == _ENTRY:
            index = 0
            for number, value, end in _fields(data, record.start, record.stop):
                if number == 3 and end < 0:
                    index = value
            if not log.first_index:
                log.first_index = index
            log.last_index = index
            while self.entries and next(reversed(self.entries)) >= index:
                self.entries.popitem()  # a lower index after higher ones replaces these
            if self.entries and index > max(next(reversed(self.entries)), log.snapshot) + 1:
                self.log.faults.append((self.log.files[len(self.data) - 1], f"no entry before index {index}"))
            if index > self.applied:
                self.entries[index] = _Entry(len(self.data) - 1, record.start, record.stop)
        elif record.kind == _SNAPSHOT:
            for number, value, end in _fields(data, record.start, record.stop):
                if number == 1 and end < 0 and value > max(self.applied, log.last_index):
                    log.snapshot = value  # a member's own snapshots cover entries of its log

    def finish(self) -> WalLog:
        """Summarize the contents after the database."""
        if self.log.snapshot > self.log.commit:
            self.log.snapshot = 0  # it was incomplete
        base = max(self.applied, self.log.snapshot)
        self.entries = {index: entry for index, entry in self.entries.items() if index > base}
        keys: set[bytes] = set()
        ranges = leases = 0
        for entry in self.entries.values():
            data = self.data[entry.file]
            kind, start, stop = 0, 0, 0
            for number, first, second in _fields(data, entry.start, entry.stop):
                if number == 1 and second < 0:
                    kind = first
                elif number == 4 and second >= 0:
                    start, stop = first, second
            if kind == 0 and stop > start:
                more, revoked = _touched(data, start, stop, keys if len(keys) < MOST_KEYS else set())
                ranges, leases = ranges + more, leases + revoked
        if self.entries:
            first, last = next(iter(self.entries)), next(reversed(self.entries))
            gap = first > base + 1
            self.log.unapplied = Unapplied(len(self.entries), first, last, frozenset(keys), ranges, gap, leases)
        return self.log


def _touched(data: Any, start: int, stop: int, keys: set[bytes]) -> tuple[int, int]:
    """Add the keys of one request; return the number of ranges that it deletes, and of leases that it revokes."""
    ranges = leases = 0
    try:
        fields = list(_fields(data, start, stop))
        if any(
            number == 2 and end >= 0 and bytes(data[position:end]) in _V2_METHODS for number, position, end in fields
        ):
            return 0, 0  # a request of the v2 API
        for number, position, end in fields:
            if end >= 0 and number in {4, 5, 6}:
                ranges += {4: _put, 5: _delete, 6: _transaction}[number](data, position, end, keys)
            leases += end >= 0 and number == _LEASE_REVOKE
    except MalformedMessage:
        return ranges, leases
    return ranges, leases


def _put(data: Any, start: int, stop: int, keys: set[bytes]) -> int:
    for number, position, end in _fields(data, start, stop):
        if number == 1 and end >= 0:
            keys.add(bytes(data[position:end]))
    return 0


def _delete(data: Any, start: int, stop: int, keys: set[bytes]) -> int:
    parts = {number: bytes(data[position:end]) for number, position, end in _fields(data, start, stop) if end >= 0}
    if parts.get(2):
        return 1
    keys.add(parts.get(1, b""))
    return 0


def _transaction(data: Any, start: int, stop: int, keys: set[bytes], depth: int = 0) -> int:
    ranges = 0
    for number, position, end in _fields(data, start, stop):
        if number in {2, 3} and end >= 0 and depth < 8:
            for kind, first, second in _fields(data, position, end):
                if second < 0:
                    continue
                if kind == 2:
                    ranges += _put(data, first, second, keys)
                elif kind == 3:
                    ranges += _delete(data, first, second, keys)
                elif kind == 4:
                    ranges += _transaction(data, first, second, keys, depth + 1)
    return ranges


def read_wal(folder: Path, applied: int) -> WalLog:
    """Read the log of a member.

    Args:
        folder: The folder `wal`.
        applied: Raft index of the database (`consistent_index`).
    """
    named = sorted((match[1], path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name)))
    reader = _WalReader(applied)
    log = reader.log
    log.files = [path.name for _, path in named]
    for position, (sequence, path) in enumerate(named):
        if position and int(sequence, 16) != int(named[position - 1][0], 16) + 1:
            log.faults.append((path.name, "files before it are missing"))
            break
        try:
            if not reader.file(path, last=position == len(named) - 1):
                break
        except OSError as error:
            log.faults.append((path.name, error.strerror or str(error)))
            break
    return reader.finish()
