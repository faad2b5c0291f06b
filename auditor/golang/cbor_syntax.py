"""Syntax of CBOR items: their heads, and whether bytes are well-formed to the end.

Source: github.com/fxamacker/cbor v2.9 valid.go, with the limits that the API server sets.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

_MAX_DEPTH = 10_000
_MAX_ARRAY = 2_147_483_647
_MAX_MAP = 2_097_152
MAX_INT64 = 2**63 - 1

UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, PRIMITIVE = range(8)
TYPE_NAMES = (
    "positive integer",
    "negative integer",
    "byte string",
    "UTF-8 text string",
    "array",
    "map",
    "tag",
    "primitives",
)
INDEFINITE = 31
_BREAK = 0xFF
_ARGUMENT_SIZES = {24: 1, 25: 2, 26: 4, 27: 8}
FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_TAGS_BIG = (2, 3)


class CborError(ValueError):
    """Bytes that the server does not accept as a value; the message is the server's."""


class Heads:
    """Reads the heads of items: type, additional information, and argument."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def head(self) -> tuple[int, int, int]:
        """Read the head of an item; return type, additional information and argument."""
        first = self.data[self.at]
        self.at += 1
        info = first & 0x1F
        size = _ARGUMENT_SIZES.get(info)
        if size is None:
            return first >> 5, info, info
        argument = int.from_bytes(self.data[self.at : self.at + size], "big")
        self.at += size
        return first >> 5, info, argument

    def is_tag(self) -> bool:
        """Whether a tag comes next."""
        return self.data[self.at] >> 5 == TAG

    def took_break(self) -> bool:
        """Read the mark that ends an item of indefinite length, if it comes next."""
        if self.data[self.at] != _BREAK:
            return False
        self.at += 1
        return True

    def skip_item(self) -> None:
        """Skip one item that is known to be well-formed."""
        check = _Check(self.data)
        check.at = self.at
        check.item()
        self.at = check.at

    def number(self, info: int) -> float:
        """Return the float whose head was just read."""
        form = FLOATS[info]
        value: float = struct.unpack(form, self.data[self.at - struct.calcsize(form) : self.at])[0]
        return value


@dataclass(slots=True)
class _Open:
    """An array or map that has not ended; `left` is None if a break ends it."""

    kind: int
    depth: int
    left: int | None
    seen: int = 0


class _Check(Heads):
    def item(self) -> None:
        """Check one item and everything inside it, or raise."""
        opened: list[_Open] = []
        while True:
            self.one(opened)
            while opened and self.has_ended(opened[-1]):
                opened.pop()
            if not opened:
                return

    def has_ended(self, container: _Open) -> bool:
        if container.left is not None:
            container.left -= 1
            return container.left < 0
        self.need(1)
        if self.took_break():
            if container.kind == MAP and container.seen % 2:
                raise CborError('cbor: unexpected "break" code')
            return True
        container.seen += 1
        # The next item is one too many; upstream notices it after reading it.
        if container.kind == MAP and container.seen > 2 * _MAX_MAP:
            raise CborError(f"cbor: exceeded max number of key-value pairs {_MAX_MAP} for CBOR map")
        return False

    def need(self, count: int) -> None:
        if len(self.data) - self.at < count:
            raise CborError("unexpected EOF")

    def checked_head(self) -> tuple[int, int, int]:
        self.need(1)
        first = self.data[self.at]
        kind, info = first >> 5, first & 0x1F
        self.need(1 + _ARGUMENT_SIZES.get(info, 0))
        _, _, argument = self.head()
        if info == INDEFINITE and kind == PRIMITIVE:
            raise CborError('cbor: unexpected "break" code')
        if 28 <= info < INDEFINITE or (info == INDEFINITE and kind in (UNSIGNED, NEGATIVE, TAG)):
            raise CborError(f"cbor: invalid additional information {info} for type {TYPE_NAMES[kind]}")
        if kind == PRIMITIVE:
            self.check_primitive(info, argument)
        return kind, info, argument

    def check_primitive(self, info: int, argument: int) -> None:
        if info == 24 and argument < 32:
            raise CborError(f"cbor: invalid simple value {argument} for type primitives")
        if info in FLOATS:
            number = self.number(info)
            if math.isnan(number):
                raise CborError(unacceptable(PRIMITIVE, "floating-point NaN"))
            if math.isinf(number):
                raise CborError(unacceptable(PRIMITIVE, "floating-point infinity"))

    def one(self, opened: list[_Open]) -> None:
        """Check an item without the items inside it; those remain open."""
        depth = opened[-1].depth if opened else 0
        kind, info, argument = self.checked_head()
        if kind == TAG:
            depth = self.tags(argument, depth)
            kind, info, argument = self.checked_head()
        if kind in (BYTES, TEXT):
            self.string(kind, info, argument)
        elif kind in (ARRAY, MAP):
            if depth >= _MAX_DEPTH:
                raise CborError(f"cbor: exceeded max nested level {_MAX_DEPTH}")
            left = None if info == INDEFINITE else self.count(kind, argument)
            opened.append(_Open(kind, depth + 1, left))

    def tags(self, number: int, depth: int) -> int:
        """Check the tags that follow a tag; each of them counts as a level."""
        while True:
            self.need(1)
            if number in _TAGS_BIG:
                raise CborError(unacceptable(TAG, "bignum"))
            if not self.is_tag():
                return depth
            _, _, number = self.checked_head()
            depth += 1
            if depth > _MAX_DEPTH:
                raise CborError(f"cbor: exceeded max nested level {_MAX_DEPTH}")

    def count(self, kind: int, length: int) -> int:
        if length > MAX_INT64:
            raise CborError(f"cbor: {TYPE_NAMES[kind]} length {length} is too large, it would cause integer overflow")
        if kind == ARRAY and length > _MAX_ARRAY:
            raise CborError(f"cbor: exceeded max number of elements {_MAX_ARRAY} for CBOR array")
        if kind == MAP and length > _MAX_MAP:
            raise CborError(f"cbor: exceeded max number of key-value pairs {_MAX_MAP} for CBOR map")
        return length * 2 if kind == MAP else length

    def string(self, kind: int, info: int, length: int) -> None:
        if info != INDEFINITE:
            self.skip(kind, length)
            return
        while True:
            self.need(1)
            if self.took_break():
                return
            first = self.data[self.at]
            if first >> 5 != kind:
                raise CborError(
                    f"cbor: wrong element type {TYPE_NAMES[first >> 5]} for indefinite-length {TYPE_NAMES[kind]}",
                )
            if first & 0x1F == INDEFINITE:
                raise CborError(f"cbor: indefinite-length {TYPE_NAMES[kind]} chunk is not definite-length")
            self.skip(kind, self.checked_head()[2])

    def skip(self, kind: int, length: int) -> None:
        if length > MAX_INT64:
            raise CborError(f"cbor: {TYPE_NAMES[kind]} length {length} is too large, causing integer overflow")
        self.need(length)
        self.at += length


def unacceptable(kind: int, what: str) -> str:
    """Return the error for an item that is well-formed and not allowed."""
    return f"cbor: data item of cbor type {TYPE_NAMES[kind]} is not accepted by protocol: {what}"


def check_well_formed(data: bytes) -> None:
    """Make sure that bytes are exactly one well-formed item.

    Raises:
        CborError: They are not; the message is the library's: ``unexpected EOF``.
    """
    check = _Check(data)
    if not data:
        raise CborError("EOF")
    check.item()
    if check.at != len(data):
        raise CborError(f"cbor: {len(data) - check.at} bytes of extraneous data starting at index {check.at}")
