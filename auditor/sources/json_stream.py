"""Finds consecutive JSON values in mapped bytes without building them.

There are two scanners. The fast one counts brackets and skips strings; it trusts the bytes and finds the end of a
value, the keys of its top level and the positions of list items. The exact one follows Go's scanner byte by byte; it is
used only for invalid values, for message and offset of the error.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from auditor.golang.go_text import quote

if TYPE_CHECKING:
    from mmap import mmap


Bytes: TypeAlias = "bytes | mmap"

MAX_DEPTH: Final = 10_000

_SPACE = re.compile(rb"[ \t\r\n]*+")
# The bracket is optional, so that bytes that end inside a value are read once: a failed match would be tried again from
# each following byte.
_STRUCTURE = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+([{}\[\]]?+)', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PLAIN = re.compile(rb'[^ \t\r\n,:{}\[\]"]++')


class JsonSyntaxError(ValueError):
    """A byte at which no JSON value can continue.

    Attributes:
        offset: Number of bytes read, including the invalid one, from the start.
    """

    def __init__(self, text: str, offset: int) -> None:
        super().__init__(text)
        self.offset = offset


class UnexpectedEnd(ValueError):
    """The bytes end inside a value."""

    def __init__(self) -> None:
        super().__init__("unexpected EOF")


def skip_space(data: Bytes, at: int) -> int:
    """Return the offset of the first byte from `at` on that is not JSON white space."""
    match = _SPACE.match(data, at)
    return match.end() if match else at


def value_end(data: Bytes, at: int) -> int:
    """Return the offset after the value that begins at `at`, or -1 if the bytes end inside it.

    Brackets are counted, not matched; the content of the value is not checked. A value that is neither object nor array
    ends at white space or punctuation.
    """
    first = data[at : at + 1]
    if first == b'"':
        end = data.find(b'"', at + 1)
        if end < 0 or data.find(b"\\", at + 1, end) < 0:  # as most strings, and found much faster than by the pattern
            return end + 1 or -1
        match = _STRING.match(data, at)
        return match.end() if match else -1
    if first not in (b"{", b"["):
        match = _PLAIN.match(data, at)
        return match.end() if match else at + 1
    depth = 0
    for match in _STRUCTURE.finditer(data, at):
        bracket = match.group(1)
        if not bracket:
            return -1
        if bracket in b"{[":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return match.end()
    return -1


@dataclass(slots=True)
class ObjectLayout:
    """The positions of the parts of one top-level object.

    Attributes:
        end: Offset after it; if it is broken, after the valid part.
        spans: Start and end of kind, apiVersion and metadata, by key; the last of equal keys.
        items: Start and end of each item of the array under ``items``, in one list; None if there is no such array.
        broken: Why the scan stopped early; empty if it did not.
    """

    end: int
    spans: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    items: array[int] | None = None
    broken: str = ""


_KEPT: Final = (b"kind", b"apiVersion", b"metadata")


def array_items(data: Bytes, at: int, items: array[int]) -> tuple[int, str]:
    """Add start and end of each item of the array that begins at `at`.

    Returns:
        The offset after the array and an empty text; or the offset of the unterminated item or the invalid byte, and
        the error.
    """
    at = skip_space(data, at + 1)
    if data[at : at + 1] == b"]":
        return at + 1, ""
    while True:
        end = value_end(data, at)
        if end < 0 or at >= len(data):
            return at, f"the bytes end inside item {len(items) // 2 + 1}"
        items.append(at)
        items.append(end)
        at = skip_space(data, end)
        byte = data[at : at + 1]
        if byte == b"]":
            return at + 1, ""
        if byte != b",":
            if not byte:
                return at, f"the bytes end after item {len(items) // 2}"
            return at, f"no comma after item {len(items) // 2}"
        at = skip_space(data, at + 1)


def layout(data: Bytes, at: int) -> ObjectLayout:
    """Scan the object that begins at `at`, without building anything; memory is two numbers for each item.

    Brackets are counted; readers of the spans must check that the values between them are JSON.
    """
    out = ObjectLayout(at)
    at = skip_space(data, at + 1)
    if data[at : at + 1] == b"}":
        out.end = at + 1
        return out
    while True:
        name = _STRING.match(data, at)
        colon = skip_space(data, name.end()) if name else at
        if name is None or data[colon : colon + 1] != b":":
            out.end, out.broken = at, "the bytes end" if colon >= len(data) else "no key where one should be"
            return out
        at = skip_space(data, colon + 1)
        key = name.group()[1:-1]
        if key == b"items":
            # The last of equal keys counts, as in every decoder.
            out.items = array("q") if data[at : at + 1] == b"[" else None
        if key == b"items" and out.items is not None:
            at, out.broken = array_items(data, at, out.items)
        else:
            end = value_end(data, at)
            if end < 0:
                out.broken = "the bytes end"
            elif key in _KEPT:
                out.spans[key] = (at, end)
            at = at if end < 0 else end
        if out.broken:
            out.end = at
            return out
        at = skip_space(data, at)
        byte = data[at : at + 1]
        if byte == b"}":
            out.end = at + 1
            return out
        if byte != b",":
            out.end, out.broken = at, "no comma between two keys" if byte else "the bytes end"
            return out
        at = skip_space(data, at + 1)


def _wrong(data: Bytes, at: int, start: int, context: str) -> Exception:
    if at >= len(data):
        return UnexpectedEnd()
    byte = data[at]
    shown = "'\\''" if byte == 0x27 else "'\"'" if byte == 0x22 else f"'{quote(chr(byte))[1:-1]}'"
    return JsonSyntaxError(f"invalid character {shown} {context}", at - start + 1)


_ESCAPES: Final = b'"\\/bfnrtu'
_HEX: Final = b"0123456789abcdefABCDEF"
# No possessive group around a branch: Python before 3.11.5 loses its position in it.
_GOOD_STRING = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*"')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")


def _check_string(data: Bytes, at: int, start: int) -> int:
    match = _GOOD_STRING.match(data, at)
    if match:
        return match.end()
    at += 1
    while True:
        byte = data[at : at + 1]
        if byte != b"\\":
            if not byte or byte < b" ":
                raise _wrong(data, at, start, "in string literal")
            at += 1
            continue
        at += 1
        if data[at : at + 1] not in _ESCAPES or at >= len(data):
            raise _wrong(data, at, start, "in string escape code")
        if data[at : at + 1] == b"u":
            for _ in range(4):
                at += 1
                if data[at : at + 1] not in _HEX or at >= len(data):
                    raise _wrong(data, at, start, "in \\u hexadecimal character escape")
        at += 1


def _check_number(data: Bytes, at: int, start: int) -> int:
    match = _NUMBER.match(data, at)
    if match is None:
        raise _wrong(data, at + 1, start, "in numeric literal")
    end = match.end()
    text = match.group()
    following = data[end : end + 1]
    exponent = b"e" in text or b"E" in text
    if following == b"." and b"." not in text and not exponent:
        raise _wrong(data, end + 1, start, "after decimal point in numeric literal")
    if following in (b"e", b"E") and not exponent:
        signed = data[end + 1 : end + 2] in (b"+", b"-")
        raise _wrong(data, end + 1 + signed, start, "in exponent of numeric literal")
    return end


def _check_scalar(data: Bytes, at: int, start: int) -> int:
    byte = data[at : at + 1]
    if byte == b'"':
        return _check_string(data, at, start)
    if byte and byte in b"-0123456789":
        return _check_number(data, at, start)
    for word in ("true", "false", "null"):
        if byte == word[0].encode():
            for index in range(1, len(word)):
                if data[at + index : at + index + 1] != word[index].encode():
                    context = f"in literal {word} (expecting '{word[index]}')"
                    raise _wrong(data, at + index, start, context)
            return at + len(word)
    raise _wrong(data, at, start, "looking for beginning of value")


def check_value(data: Bytes, at: int, start: int = 0) -> int:
    """Check every byte of the value at `at` as Go's scanner does; return the offset after the value.

    Args:
        data: Bytes, any number of values.
        at: Offset of the value.
        start: Offset from which errors are counted.

    Raises:
        JsonSyntaxError: A byte is invalid.
        UnexpectedEnd: The bytes end first.

    Source: encoding/json scanner.
    """
    closers: list[bytes] = []
    while True:
        at = skip_space(data, at)
        byte = data[at : at + 1]
        if byte in (b"{", b"["):
            if len(closers) >= MAX_DEPTH:
                raise JsonSyntaxError("exceeded max depth", at - start + 1)
            closers.append(b"}" if byte == b"{" else b"]")
            at = skip_space(data, at + 1)
            if data[at : at + 1] != closers[-1]:
                if closers[-1] == b"}":
                    at = _check_key(data, at, start)
                continue
            closers.pop()
            at += 1
        else:
            at = _check_scalar(data, at, start)
        while True:
            if not closers:
                return at
            at = skip_space(data, at)
            byte = data[at : at + 1]
            if byte == b",":
                at = skip_space(data, at + 1)
                if closers[-1] == b"}":
                    at = _check_key(data, at, start)
                break
            if byte != closers[-1]:
                where = "after object key:value pair" if closers[-1] == b"}" else "after array element"
                raise _wrong(data, at, start, where)
            closers.pop()
            at += 1


def _check_key(data: Bytes, at: int, start: int) -> int:
    if data[at : at + 1] != b'"':
        raise _wrong(data, at, start, "looking for beginning of object key string")
    at = skip_space(data, _check_string(data, at, start))
    if data[at : at + 1] != b":":
        raise _wrong(data, at, start, "after object key")
    return at + 1
