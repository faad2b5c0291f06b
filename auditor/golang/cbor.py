"""CBOR as the API server reads stored values: one self-described item to the values that JSON has.

Integers beyond int64 are refused, floats stay floats, byte strings become text (after a tag 21 to 23: base64url, base64, hex), keys are text or byte strings,
simple values other than false, true and null are refused. Lengths may be indefinite.
Source: apimachinery pkg/runtime/serializer/cbor/internal/modes/decode.go (the mode); golden data (what it answers).
"""

from __future__ import annotations

import base64
import struct
from typing import Any

__all__ = ["SELF_DESCRIBED", "CborError", "decode"]

SELF_DESCRIBED = b"\xd9\xd9\xf7"
_MAX_DEPTH = 64
_BREAK = object()
_SELF_DESCRIBED_TAG = 55799
_BASE64_TAGS = {21: base64.urlsafe_b64encode, 22: base64.b64encode, 23: lambda data: data.hex().encode()}


class CborError(ValueError):
    """Bytes that are no such value."""


class _Reader:
    """Takes items off the front of some bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise CborError("unexpected EOF")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def argument(self, info: int) -> int | None:
        """Return the number that goes with a first byte; None for an indefinite length."""
        if info < 24:
            return info
        if info <= 27:
            return int.from_bytes(self.take(1 << (info - 24)), "big")
        if info == 31:
            return None
        raise CborError(f"cbor: invalid additional information {info}")

    def item(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise CborError(f"cbor: exceeded max nested level {_MAX_DEPTH}")
        first = self.take(1)[0]
        major, info = first >> 5, first & 31
        if major == 7:
            return self.simple(info)
        argument = self.argument(info)
        if major in (0, 1, 6) and argument is None:
            raise CborError(f"cbor: invalid additional information {info} for type {major}")
        if major <= 1 and argument is not None:
            value = argument if major == 0 else -1 - argument
            if not -(1 << 63) <= value < 1 << 63:
                raise CborError(f"cbor: cannot unmarshal {value} into Go value of type int64 (integer overflow)")
            return value
        if major == 2:
            return self.chunks(2, argument)
        if major == 3:
            return _text(self.chunks(3, argument))
        if major == 4:
            return self.array(argument, depth)
        if major == 5:
            return self.map(argument, depth)
        value = self.item(depth + 1)
        if argument in _BASE64_TAGS and type(value) is bytes:
            return _BASE64_TAGS[argument](value).decode()
        return value

    def chunks(self, major: int, length: int | None) -> bytes:
        if length is not None:
            return self.take(length)
        out = bytearray()
        while (first := self.take(1)[0]) != 0xFF:
            size = self.argument(first & 31)
            if first >> 5 != major or size is None:
                raise CborError("cbor: wrong element in an indefinite-length string")
            out += self.take(size)
        return bytes(out)

    def array(self, length: int | None, depth: int) -> list[Any]:
        out: list[Any] = []
        while length is None or len(out) < length:
            value = self.item(depth + 1)
            if value is _BREAK:
                if length is not None:
                    raise CborError('cbor: unexpected "break" code')
                break
            out.append(_plain(value))
        return out

    def map(self, length: int | None, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        count = 0
        while length is None or count < length:
            key = self.item(depth + 1)
            if key is _BREAK:
                if length is not None:
                    raise CborError('cbor: unexpected "break" code')
                break
            if type(key) is bytes:
                key = _text(key)
            if type(key) is not str:
                raise CborError(f"cbor: cannot unmarshal {_kind_of(key)} into Go value of type string")
            if key in out:
                raise CborError(f'cbor: found duplicate map key "{key}" at map element index {count}')
            value = self.item(depth + 1)
            if value is _BREAK:
                raise CborError('cbor: unexpected "break" code')
            out[key] = _plain(value)
            count += 1
        return out

    def simple(self, info: int) -> Any:
        if info in (20, 21, 22):
            return (False, True, None)[info - 20]
        if info in (25, 26, 27):
            size, form = ((2, ">e"), (4, ">f"), (8, ">d"))[info - 25]
            value: float = struct.unpack(form, self.take(size))[0]
            if value != value or value in (float("inf"), float("-inf")):
                raise CborError("cbor: NaN and infinity are not allowed")
            return value
        if info == 31:
            return _BREAK
        raise CborError(f"cbor: simple value {info} is not recognized")


def _kind_of(value: Any) -> str:
    """Name the type of an item as Go's decoder does."""
    if type(value) is int:
        return "positive integer" if value >= 0 else "negative integer"
    return {list: "array", dict: "map"}.get(type(value), "primitives")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CborError("cbor: invalid UTF-8 string") from None


def _plain(value: Any) -> Any:
    """Return a byte string as the text that its bytes are; those that are no UTF-8 become U+FFFD when printed."""
    return value.decode("utf-8", "replace") if type(value) is bytes else value


def decode(data: bytes) -> Any:
    """Return the value of one item, the self-described tag before it allowed.

    Raises:
        CborError: The bytes are no such item, or more follows it.
    """
    reader = _Reader(data)
    value = reader.item(0)
    if value is _BREAK:
        raise CborError('cbor: unexpected "break" code')
    if reader.at != len(data):
        raise CborError(f"cbor: {len(data) - reader.at} bytes of extraneous data starting at index {reader.at}")
    return _plain(value)
