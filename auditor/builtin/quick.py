"""Fast check of stored protobuf: proves that a value decodes, without decoding it.

The bytes are walked with tables generated from the messages: the tags of a message, and whether a text, a number or
another message follows each. Only values that are exactly as a server writes them are proven; all others (unknown
fields, unusual wire types or quantities, metadata in another order) are left to the exact reader
(`auditor.builtin.stored`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.builtin.protobuf import MAGIC, WireError, decode_unknown, fields_of_message, message_of_kind

if TYPE_CHECKING:
    from auditor.builtin.scheme import Target


_SKIP, _NUMBER, _QUANTITY = 1, 2, 3
_PLAIN: Final = re.compile(rb"[+-]?[0-9]{1,12}(?:\.[0-9]{1,6})?(?:n|u|m|k|[MGTPE]|[KMGTPE]i)?\Z")
"""Quantities that need no further check."""
_MOST_SEEN: Final = 100_000
_MARK: Final = b"deprecated.d"
"""Prefix of the annotations that a server reads as numbers."""
_GENERATION: Final = b"deprecated.daemonset.template.generation"
_NUMBERED: Final = re.compile(
    re.escape(b"\x0a" + bytes([len(_GENERATION)]) + _GENERATION) + rb"\x12[\x01-\x12][0-9]{1,18}"
)
"""The one of these annotations that every DaemonSet and its revisions have, as a server writes it."""

_Table = tuple[list[Any], dict[int, Any], set[bytes]]
"""What follows a tag of one byte, and of two (the second shifted by eight); parts of the message already proven."""
_PIECE: Final = 1024
"""Longer parts are not remembered: they seldom repeat."""
_MOST_BYTES: Final = 16 << 20


class _EnvelopeHead(NamedTuple):
    """The parsed beginning of an envelope."""

    version: str
    table: _Table


class Prover:
    """Proves values of the kinds of one release; caches its tables.

    Attributes:
        seen: Quantities that were found valid.
    """

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}
        self._heads: dict[tuple[bytes, str, str], _EnvelopeHead | None] = {}
        self.seen: set[bytes] = set()
        self._remembered = 0
        self._entries: list[_Table] = list(_FORMS.values())

    def prove(self, target: Target, data: bytes) -> tuple[str, bool, bool] | None:
        """Return (stored version, has a namespace, has a name) of a value that decodes; None if this is not proven.

        Args:
            target: The storage form of the kind of its key.
            data: The value, which begins with the four magic bytes of protobuf.
        """
        try:
            position = data[5] + 6
            start = data[:position], target.group, target.kind
            head = self._heads.get(start)
            if head is None and start not in self._heads:
                head = self._open(target, data[:position])
            if head is None or data[position] != 0x12 or data[-4:] != b'\x1a\0"\0':
                return None
            stop = len(data) - 4
            size, position = _size(data, position + 1)
            if position + size != stop or data[position] != 0x0A:
                return None
            size, position = _size(data, position + 1)
            end = position + size
            if end > stop or data[position] != 0x0A:
                return None
            size, position = _size(data, position + 1)
            has_name, position = size > 0, position + size
            if data[position] != 0x12:
                return None
            size, position = _size(data, position + 1)
            position += size
            if data[position] != 0x1A:
                return None
            size, position = _size(data, position + 1)
            has_namespace, position = size > 0, position + size
            if not self._walk(data, position, end, self._rest_of_metadata()) or not self._walk(
                data, end, stop, head.table
            ):
                return None
            if target.group == "apps" and _MARK in data and not _are_numbers(data, position, end):
                return None
        except IndexError:
            return None
        return head.version, has_namespace, has_name

    def _open(self, target: Target, start: bytes) -> _EnvelopeHead | None:
        """Return the parsed beginning of an envelope, from the cache if it is there."""
        head = None
        try:
            api_version, kind, _ = decode_unknown(start)
            label = f"{api_version}/{kind}" if "/" in api_version else f"/{api_version}/{kind}"
            name = message_of_kind(label)
            if label in target.versions and name is not None and start[4:5] == b"\x0a" and start.startswith(MAGIC):
                table, two, _ = self._table(name)
                table = table.copy()
                table[0x0A] = None  # the metadata come once, and first
                head = _EnvelopeHead(api_version.rpartition("/")[2], (table, two, set()))
        except WireError:
            head = None
        if len(self._heads) < _MOST_SEEN:
            self._heads[start, target.group, target.kind] = head
        return head

    def _rest_of_metadata(self) -> _Table:
        table = self._tables.get("")
        if table is None:
            metadata_table, two, _ = self._table("meta/v1.ObjectMeta")
            metadata_table = metadata_table.copy()
            metadata_table[0x0A] = metadata_table[0x1A] = None  # name and namespace precede it
            table = self._tables[""] = (metadata_table, two, set())
        return table

    def _table(self, name: str) -> _Table:
        """Return the table of a message; it is cached before it is filled, as messages may contain themselves."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = ([None] * 256, {}, set())
            for number, kind in fields_of_message(name):
                wire, behind = self._behind(kind)
                tag = number << 3 | wire
                if tag < 128:
                    table[0][tag] = behind
                else:
                    table[1][(tag & 0x7F | 0x80) | tag >> 7 << 8] = behind
        return table

    def _behind(self, kind: str) -> tuple[int, Any]:
        """Return the wire type of a field and the check for its value."""
        if kind.startswith("[]"):
            return self._behind(kind[2:])
        if kind.startswith("{}"):
            entry: _Table = ([None] * 256, {}, set())
            self._entries.append(entry)
            entry[0][0x0A] = _SKIP
            wire, behind = self._behind(kind[2:])
            if wire == 2:
                entry[0][0x12] = behind
            return 2, entry
        if kind in ("i", "l", "b"):
            return 0, _NUMBER
        if kind in ("s", "y"):
            return 2, _SKIP
        if kind.endswith("!"):
            self._entries.append(_small("\x0a"))
            return 2, self._entries[-1]
        if kind in _FORMS:
            return 2, _FORMS[kind]
        return 2, self._table(kind)

    def _walk(self, data: bytes, at: int, stop: int, table: _Table) -> bool:
        """Whether the bytes up to an offset are valid fields of a message."""
        row, two, _ = table
        while at < stop:
            tag = data[at]
            if tag < 128:
                behind = row[tag]
                at += 1
            else:
                behind = two.get(tag | data[at + 1] << 8)
                at += 2
            if behind is _SKIP:
                size = data[at]
                if size < 128:
                    at += size + 1
                else:
                    more = data[at + 1]
                    if more < 128:
                        at += (size & 127) + (more << 7) + 2
                    else:
                        size, at = _size(data, at)
                        at += size
            elif behind is _NUMBER:
                last = at + 9
                while data[at] > 127:
                    at += 1
                    if at > last:
                        return False
                at += 1
            elif behind is None:
                return False
            else:
                size = data[at]
                if size < 128:
                    at += 1
                else:
                    size, at = _size(data, at)
                end = at + size
                if end > stop:
                    return False
                if behind is _QUANTITY:
                    text = data[at:end]
                    if text not in self.seen:
                        if not _PLAIN.match(text):
                            return False
                        if len(self.seen) < _MOST_SEEN:
                            self.seen.add(text)
                elif size > _PIECE:
                    if not self._walk(data, at, end, behind):
                        return False
                elif size:
                    piece = data[at:end]
                    if piece not in behind[2]:
                        if not self._walk(data, at, end, behind):
                            return False
                        self._remember(piece, behind[2])
                at = end
        return at == stop

    def _remember(self, piece: bytes, pieces: set[bytes]) -> None:
        """Remember a part of a message that is proven: labels, owners, containers repeat in many objects."""
        self._remembered += len(piece) + 100
        if self._remembered > _MOST_BYTES:
            self._remembered = 0
            for _, _, known in (*self._tables.values(), *self._entries):
                known.clear()
        pieces.add(piece)


def _are_numbers(data: bytes, at: int, end: int) -> bool:
    """Whether the annotations that a server reads as numbers are plain numbers.

    Args:
        data: A value whose metadata `Prover` has walked: all fields are known, lengths are in bounds, and an annotation
            has only keys and values.
        at: Offset of the metadata after the namespace.
        end: Offset of their end.
    """
    while at < end:
        tag = data[at]
        at += 1 if tag < 128 else 2
        if tag & 7 == 0:
            while data[at] > 127:
                at += 1
            at += 1
            continue
        size, at = _size(data, at)
        if tag == 0x62:
            entry = data[at : at + size]
            if _MARK in entry and not _NUMBERED.fullmatch(entry):
                return False
        at += size
    return True


def _size(data: bytes, at: int) -> tuple[int, int]:
    """Return a length of at most five bytes, and the offset after it."""
    size = data[at]
    if size < 128:
        return size, at + 1
    size &= 127
    for shift in (7, 14, 21, 28):
        at += 1
        byte = data[at]
        size |= (byte & 127) << shift
        if byte < 128:
            return size, at + 1
    raise IndexError


def _small(skipped: str = "", numbers: str = "", quantities: str = "") -> _Table:
    slots: list[Any] = [None] * 256
    for tags, behind in ((skipped, _SKIP), (numbers, _NUMBER), (quantities, _QUANTITY)):
        for tag in tags:
            slots[ord(tag)] = behind
    return slots, {}, set()


_FORMS: Final[dict[str, _Table]] = {
    "T": _small(numbers="\x08\x10"),
    "U": _small(numbers="\x08\x10"),
    "Q": _small(quantities="\x0a"),
    "IS": _small("\x1a", "\x08\x10"),
    "F": _small("\x0a"),
    "R": _small("\x0a"),
    "D": _small(numbers="\x08"),
}
"""The messages with their own form in JSON."""
