"""JSON values one after another, found in mapped bytes without building them.

Two scanners. The fast one counts brackets and skips strings; it trusts the bytes and says where a value ends, which
keys its top level has and where the items of a list lie. The exact one follows Go's scanner byte by byte; it is asked
only where a value turned out to be wrong, for the words and the offset of the error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from auditor.golang.text import quote

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["JsonSyntaxError", "UnexpectedEnd", "check_value", "skip_space", "value_end"]

Bytes: TypeAlias = "bytes | mmap"

MAX_DEPTH: Final = 10_000

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRUCTURE = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+([{}\[\]])', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PLAIN = re.compile(rb'[^ \t\r\n,:{}\[\]"]++')


class JsonSyntaxError(ValueError):
    """A byte where no JSON value can go on.

    Attributes:
        offset: Bytes read up to and with the offending one, from where the reading began.
    """

    def __init__(self, text: str, offset: int) -> None:
        super().__init__(text)
        self.offset = offset


class UnexpectedEnd(ValueError):
    """The bytes end inside a value."""

    def __init__(self) -> None:
        super().__init__("unexpected EOF")


def skip_space(data: Bytes, at: int) -> int:
    """Return the offset of the first byte from `at` on that is no JSON white space."""
    match = _SPACE.match(data, at)
    return match.end() if match else at


def value_end(data: Bytes, at: int) -> int:
    """Return the offset behind the value that begins at `at`, or -1 where the bytes end inside it.

    Brackets are counted, not matched; what the value holds is not checked. A value that is neither object nor array
    ends at white space or punctuation.
    """
    first = data[at : at + 1]
    if first == b'"':
        match = _STRING.match(data, at)
        return match.end() if match else -1
    if first not in (b"{", b"["):
        match = _PLAIN.match(data, at)
        return match.end() if match else at + 1
    depth = 0
    for match in _STRUCTURE.finditer(data, at):
        if match.group(1) in b"{[":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return match.end()
    return -1


def _wrong(data: Bytes, at: int, start: int, context: str) -> Exception:
    if at >= len(data):
        return UnexpectedEnd()
    byte = data[at]
    shown = "'\\''" if byte == 0x27 else "'\"'" if byte == 0x22 else f"'{quote(chr(byte))[1:-1]}'"
    return JsonSyntaxError(f"invalid character {shown} {context}", at - start + 1)


_ESCAPES: Final = b'"\\/bfnrtu'
_HEX: Final = b"0123456789abcdefABCDEF"
_GOOD_STRING = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
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
    """Return the offset behind the value at `at`, having checked every byte of it as Go's scanner does.

    Args:
        data: Bytes, any number of values.
        at: Where the value begins.
        start: Where the reading began; offsets of errors count from there.

    Raises:
        JsonSyntaxError: A byte is wrong.
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
