"""Rows of etcd's `key` bucket: parses revision keys and KeyValue messages without copying them.

Key: main (8 bytes, big-endian) ``_`` sub (8 bytes), followed by ``t`` for a deletion. Value: protobuf {1 key, 2
create_revision, 3 mod_revision, 4 version, 5 value, 6 lease}, without zero fields. Messages in etcd's own encoding are
read for thousands of rows at once; other encodings are read one by one, by the rules of protobuf.
Source: etcd server/storage/mvcc/revision.go, api/mvccpb/kv.proto.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from auditor.sources.files.beside import Beside
from auditor.sources.live_table import OLDER, KeyedRows, NewestPerKey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from auditor.sources.bolt import LeafElements
    from auditor.sources.files.view import I64, U64, FileView


Report = Callable[[int, int, str], None]
"""Called with every row that cannot be used: page, element, reason."""

_MAX_REVISION = 1 << 63
_UNDERSCORE, _T = 0x5F, 0x74
_SIZE, _SIZE_DELETED = 17, 18


class MalformedMessage(Exception):
    """Bytes are not a protobuf message, or not the expected one."""


class Revision(NamedTuple):
    """A key of the `key` bucket."""

    main: int
    sub: int
    deleted: bool = False


class KeyValue(NamedTuple):
    """A KeyValue message; key and value are (offset, length) in the file."""

    key: tuple[int, int]
    create_revision: int
    mod_revision: int
    version: int
    value: tuple[int, int]
    lease: int


@dataclass(slots=True)
class Revisions:
    """Rows of the `key` bucket in order, one array for each field.

    Attributes:
        row: Position among the input rows.
        key: Offset in the file; likewise `value`, which for an empty value is the end of the row.
    """

    row: I64
    main: I64
    deleted: NDArray[np.bool_]
    key: I64
    key_size: I64
    create: I64
    version: I64
    value: I64
    value_size: I64

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.main)

    def select(self, which: NDArray[np.bool_] | slice) -> Revisions:
        """Return some of the rows."""
        return Revisions(
            self.row[which],
            self.main[which],
            self.deleted[which],
            self.key[which],
            self.key_size[which],
            self.create[which],
            self.version[which],
            self.value[which],
            self.value_size[which],
        )


def parse_revision(key: bytes) -> Revision | None:
    """Parse a key of the `key` bucket (or a value of `meta`); None if it is not a revision."""
    if len(key) not in {_SIZE, _SIZE_DELETED} or key[8] != _UNDERSCORE or (len(key) == _SIZE_DELETED and key[17] != _T):
        return None
    return Revision(int.from_bytes(key[:8], "big"), int.from_bytes(key[9:17], "big"), len(key) == _SIZE_DELETED)


def read_varint(data: Any, at: int, stop: int) -> tuple[int, int]:
    """Read the number at an offset; return it and the offset after it.

    Raises:
        MalformedMessage: It does not end before `stop`, or within ten bytes.
    """
    number, shift = 0, 0
    while at < stop and shift <= 63:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise MalformedMessage("a number is cut" if shift <= 63 else "a number is too long")


def parse_key_value(data: Any, start: int, stop: int) -> KeyValue:
    """Parse one KeyValue message at [start, stop) of some bytes (or a mapped file).

    Raises:
        MalformedMessage: It is not a message.
    """
    spans = {1: (start, 0), 5: (stop, 0)}
    numbers = dict.fromkeys((2, 3, 4, 6), 0)
    position = start
    while position < stop:
        tag, position = read_varint(data, position, stop)
        field, wire = tag >> 3, tag & 7
        if wire != {1: 2, 5: 2}.get(field, 0 if field in numbers else wire):
            raise MalformedMessage(f"field {field} is of the wrong type")
        if wire == 0:
            number, position = read_varint(data, position, stop)
            if field in numbers:
                numbers[field] = number - (1 << 64) if number >= _MAX_REVISION else number
        elif wire == 2:
            length, position = read_varint(data, position, stop)
            if position + length > stop:
                raise MalformedMessage(f"field {field} is cut")
            if field in spans:
                spans[field] = (position, length)
            position += length
        elif field and wire in {1, 5}:
            position += 8 if wire == 1 else 4
        else:
            raise MalformedMessage(f"field {field} is of an unknown type")
    if position > stop:
        raise MalformedMessage("the last field is cut")
    return KeyValue(spans[1], numbers[2], numbers[3], numbers[4], spans[5], numbers[6])


def _varint_after_tag(words: U64) -> tuple[I64, I64, NDArray[np.bool_]]:
    """Decode the number after the first of 8 bytes.

    Returns:
        The number, its length in bytes, and whether it ends within the 7 bytes.
    """
    bits = words >> np.uint64(8)
    # the lowest clear top bit ends the number; the top byte is zero after the shift, so there always is one
    ends = ~bits & np.uint64(0x8080808080808080)
    end = ends & (~ends + np.uint64(1))
    bits &= (end << np.uint64(1)) - np.uint64(1)
    size = np.searchsorted(_ENDS, end).astype(np.int64) + 1
    bits = (bits & np.uint64(0x007F007F007F007F)) | ((bits & np.uint64(0x7F007F007F007F00)) >> np.uint64(1))
    bits = (bits & np.uint64(0x00003FFF00003FFF)) | ((bits & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
    bits = (bits & np.uint64(0x000000000FFFFFFF)) | ((bits & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))
    return bits.astype(np.int64), size, size <= 7


_ENDS = np.array([1 << (8 * byte + 7) for byte in range(8)], dtype=np.uint64)


class _Cursor:
    """Reads field after field of many messages at once; rows with an unusual encoding are removed from `usual`."""

    def __init__(self, view: FileView, start: I64, stop: I64) -> None:
        self.view = view
        self.at = start.copy()
        self.stop = stop
        self.usual = np.ones(len(start), dtype=bool)

    def number(self, tag: int) -> tuple[I64, NDArray[np.bool_]]:
        """Read a field with a tag if it comes next: (number or 0, whether it exists); `at` moves after it."""
        words = self.view.words(np.minimum(self.at, self.stop))
        here = ((words & np.uint64(0xFF)) == tag) & (self.at < self.stop)
        number, size, fits = _varint_after_tag(words)
        self.usual &= ~here | fits
        self.at += np.where(here, size + 1, 0)
        self.usual &= self.at <= self.stop
        return np.where(here, number, 0), here

    def span(self, tag: int) -> tuple[I64, I64, NDArray[np.bool_]]:
        """Read a field of bytes if it comes next: (offset, length, whether it exists)."""
        length, here = self.number(tag)
        offset = self.at.copy()
        self.at += length
        self.usual &= self.at <= self.stop
        return offset, length, here


def revisions(view: FileView, rows: LeafElements, report: Report) -> Revisions:
    """Parse rows of the `key` bucket.

    Rows with neither key nor value are left out: `snapshot restore --mark-compacted` writes one.

    Args:
        rows: From the walk. A suspect row whose message names another revision is dropped.
        report: Called with every dropped or contradictory row.
    """
    words, size = rows.words, rows.key_size
    deleted = size == _SIZE_DELETED
    good = (
        (rows.flags == 0)
        & (deleted | (size == _SIZE))
        & (words[:, 0] < np.uint64(_MAX_REVISION))
        & ((words[:, 1] >> np.uint64(56)) == _UNDERSCORE)
        & (~deleted | (((words[:, 2] >> np.uint64(48)) & np.uint64(0xFF)) == _T))
    )
    if not good.all():
        for index in np.flatnonzero(~good).tolist():
            key = view.cut(int(rows.key[index]), min(int(size[index]), 40))
            report(int(rows.page[index]), int(rows.index[index]), f"{key!r} is no revision")
    good &= deleted | (rows.value_size > 0)
    row = np.flatnonzero(good)
    if len(row) < len(rows):
        rows, deleted = rows.select(good), deleted[good]
    return _messages(view, rows, row, deleted, report)


def _messages(view: FileView, rows: LeafElements, row: I64, deleted: NDArray[np.bool_], report: Report) -> Revisions:
    main = rows.words[:, 0].astype(np.int64)
    start = rows.key + rows.key_size
    cursor = _Cursor(view, start, start + rows.value_size)
    key, key_size, named = cursor.span(0x0A)
    create, _ = cursor.number(0x10)
    mod, _ = cursor.number(0x18)
    version, _ = cursor.number(0x20)
    value, value_size, valued = cursor.span(0x2A)
    value = np.where(valued, value, cursor.stop)
    cursor.number(0x30)
    usual = cursor.usual & named & (key_size > 0) & (cursor.at == cursor.stop) & (deleted | (mod == main))
    out = Revisions(row, main, deleted, key, key_size, create, version, value, value_size)
    if usual.all():
        return out
    for index in np.flatnonzero(~usual).tolist():
        usual[index] = _read_alone(view, rows, out, index, report)
    return out if usual.all() else out.select(usual)


def _read_alone(view: FileView, rows: LeafElements, out: Revisions, index: int, report: Report) -> bool:
    """Parse one message with an unusual encoding into `out`; return whether the row can be used."""

    def fault(reason: str) -> None:
        report(int(rows.page[index]), int(rows.index[index]), f"revision {int(out.main[index])}: {reason}")

    start = int(rows.key[index] + rows.key_size[index])
    try:
        entry = parse_key_value(view.data, start, start + int(rows.value_size[index]))
    except MalformedMessage as error:
        fault(f"its value is no KeyValue message ({error})")
        return False
    if not entry.key[1]:
        if entry.value[1]:
            fault("its message has no key")
        return False
    if not out.deleted[index] and entry.mod_revision != out.main[index]:
        fault(f"its message says it is revision {entry.mod_revision}")
        if rows.suspect:
            return False
    out.key[index], out.key_size[index] = entry.key
    out.create[index], out.version[index] = entry.create_revision, entry.version
    out.value[index], out.value_size[index] = entry.value
    return True


_KEY_BYTES_AT_ONCE = 16 << 20
_WORTH_A_THREAD = 64 << 20
"""Bytes of a database from which on threads parse its revisions and sort its keys while this one reads its pages."""
_AHEAD = 4
"""Batches of rows that are read before they are parsed."""


@dataclass(frozen=True, slots=True)
class LiveKeys:
    """Counts of a live table.

    Attributes:
        rows: Live keys.
        revisions: Rows of the `key` bucket, deletions included.
        last: Main revision of the last row, 0 where there is none.
    """

    rows: int
    revisions: int
    last: int


def write_live_table(
    view: FileView,
    batches: Iterable[LeafElements],
    path: Path,
    *,
    workdir: Path,
    number: int,
    report: Report,
    until: int | None = None,
) -> LiveKeys:
    """Write the live table of a `key` bucket, and beside it the older revisions of the keys.

    Args:
        batches: Its rows, in key order.
        path: Path of the table.
        workdir: Folder for data that does not fit memory.
        number: Position of the dump among the inputs.
        report: Called with every row that cannot be used.
        until: Later revisions are ignored; None if all revisions count.
    """
    count = last = 0
    in_thread, older = view.size >= _WORTH_A_THREAD, path.with_suffix(OLDER)
    with (
        NewestPerKey(workdir, number, in_thread=in_thread, older=older) as newest,
        Beside(_AHEAD if in_thread else 0, "revisions") as parsing,
    ):

        def add(rows: LeafElements) -> None:
            for part in _parts(revisions(view, rows, report)):
                newest.add(keyed_rows(view, part))

        for batch in batches:
            rows = batch if until is None else batch.select(batch.words[:, 0] <= np.uint64(until))
            count += len(rows)
            if len(rows):
                last = max(last, int(rows.words[-1, 0]) & ((1 << 63) - 1))
            parsing.do(add, rows)
        return LiveKeys(parsing.last(newest.finish, path), count, last)


def keyed_rows(view: FileView, found: Revisions) -> KeyedRows:
    """Return revisions as rows with their keys."""
    return KeyedRows.of(
        view.binary(found.key, found.key_size),
        create=found.create,
        mod=found.main,
        version=found.version,
        offset=found.value,
        length=found.value_size,
        deleted=found.deleted,
    )


def _parts(found: Revisions) -> Iterable[Revisions]:
    """Split rows if their keys are too long together."""
    total = np.cumsum(found.key_size)
    if not len(total) or total[-1] <= _KEY_BYTES_AT_ONCE:
        return [found]
    cuts = np.unique(np.searchsorted(total, np.arange(_KEY_BYTES_AT_ONCE, int(total[-1]), _KEY_BYTES_AT_ONCE)))
    bounds = [0, *(cuts + 1).tolist(), len(found)]
    return [found.select(slice(start, stop)) for start, stop in pairwise(bounds) if stop > start]
