"""Decodes CBOR as the API server reads stored values: one item to the values of JSON.

A stored value is CBOR if it begins with the self-described tag. It is read in two passes, as upstream's library does:
first, all bytes must be well-formed. In the second pass the first unacceptable item determines the error, but decoding
continues, as the error for a repeated key takes precedence.

Byte strings are decoded as text; inside tags 21 to 23 they become base64url, base64 or hexadecimal. Integers must fit
int64, floats remain floats, map keys are text, tagged times become RFC 3339 text, other tags are ignored. There is no
recursion, as values may be 10,000 levels deep.

Source: apimachinery pkg/runtime/serializer/cbor/internal/modes/decode.go; github.com/fxamacker/cbor v2.9.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.golang.cbor_syntax import (
    ARRAY,
    BYTES,
    FLOATS,
    INDEFINITE,
    MAP,
    MAX_INT64,
    NEGATIVE,
    PRIMITIVE,
    TAG,
    TEXT,
    TYPE_NAMES,
    UNSIGNED,
    CborError,
    Heads,
    check_well_formed,
    unacceptable,
)
from auditor.golang.go_text import display, float_v, quote
from auditor.golang.jsontext import as_text
from auditor.golang.times import GoTime, GoTimeError, format_rfc3339_nano, parse_rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["CborError", "decode", "decode_object"]


_TAG_TIME, _TAG_EPOCH = 0, 1
_ENCODINGS: dict[int, Callable[[bytes], bytes]] = {
    21: lambda data: base64.urlsafe_b64encode(data).rstrip(b"="),
    22: base64.b64encode,
    23: lambda data: data.hex().encode(),
}


def decode(data: bytes) -> Any:
    """Return the value of one item; tags before it are allowed.

    Returns:
        dict, list, str, int (int64), float, bool or None; invalid UTF-8 in a byte string becomes U+FFFD.
    Raises:
        CborError: The bytes are not exactly one item.
    """
    check_well_formed(data)
    read = _run(_CborDecoder(data).item(None))
    if read.error is not None:
        raise CborError(read.error)
    return read.value


def decode_object(data: bytes) -> dict[str, Any]:
    """Decode the map in `data` as the decoder of stored custom resources does; null is an empty map.

    Raises:
        CborError: As `decode`, with the decoder's message; an error in finding the kind takes precedence.

    Source: apimachinery pkg/runtime/serializer/cbor/cbor.go Decode.
    """
    try:
        check_well_formed(data)
    except CborError as error:
        raise CborError(_NO_KIND + str(error)) from None
    read = _run(_CborDecoder(data).item(None))
    if read.error is None and (read.value is None or type(read.value) is dict):
        return read.value or {}
    problem = _KindFinder(data).problem()
    if problem is not None:
        raise CborError(_NO_KIND + problem)
    if read.error is None:
        raise CborError(
            f"cbor: cannot unmarshal {TYPE_NAMES[read.kind]} into Go value of type map[string]interface {{}}"
        )
    raise CborError(read.error)


_NO_KIND = "unable to determine group/version/kind: "


@dataclass(slots=True)
class _Read:
    """Result of an item: its value or its first error, and its type without tags."""

    value: Any = None
    error: str | None = None
    kind: int = PRIMITIVE


def _run(first: Generator[Any, _Read, _Read]) -> _Read:
    """Run a generator that yields the generators whose results it needs, to any depth."""
    pending = [first]
    result: _Read | None = None
    while pending:
        try:
            pending.append(pending[-1].send(result) if result is not None else next(pending[-1]))
        except StopIteration as stop:
            pending.pop()
            result = stop.value
        else:
            result = None
    assert result is not None
    return result


class _CborDecoder(Heads):
    """Decodes well-formed bytes. `encoding` is the tag that determines how byte strings become text, if any."""

    def item(self, encoding: int | None) -> Generator[Any, _Read, _Read]:
        problem = self.bad_tags()
        if problem is not None:
            return problem
        kind, info, argument = self.head()
        while kind == TAG:
            if argument in (_TAG_TIME, _TAG_EPOCH):
                return self.time(argument)
            if argument in _ENCODINGS:
                encoding = argument
            kind, info, argument = self.head()
        if kind == ARRAY:
            return (yield self.array(None if info == INDEFINITE else argument, encoding))
        if kind == MAP:
            return (yield self.map(None if info == INDEFINITE else argument, encoding))
        return self.scalar(kind, info, argument, encoding)

    def bad_tags(self) -> _Read | None:
        """Check the tags ahead: the item after a time's tag must have a suitable type, else it is skipped."""
        start = self.at
        while self.is_tag():
            _, _, number = self.head()
            wanted = _wanted_after(number, self.data[self.at])
            if wanted:
                got = TYPE_NAMES[self.data[self.at] >> 5]
                self.skip_item()
                return _Read(error=f"cbor: tag number {number} must be followed by {wanted}, got {got}", kind=TAG)
        self.at = start
        return None

    def scalar(self, kind: int, info: int, argument: int, encoding: int | None) -> _Read:
        if kind == UNSIGNED:
            return _integer(kind, argument)
        if kind == NEGATIVE:
            return _integer(kind, -1 - argument)
        if kind == BYTES:
            data = b"".join(self.chunks(info, argument))
            return _Read(as_text(data if encoding is None else _ENCODINGS[encoding](data)), kind=kind)
        if kind == TEXT:
            return self.text(info, argument)
        if info in FLOATS:
            return _Read(self.number(info))
        if info in (20, 21, 22):
            return _Read({20: False, 21: True, 22: None}[info])
        return _Read(error=unacceptable(PRIMITIVE, f"simple value {argument} is not recognized"))

    def chunks(self, info: int, length: int) -> list[bytes]:
        if info != INDEFINITE:
            return [self.take(length)]
        chunks = []
        while not self.took_break():
            chunks.append(self.take(self.head()[2]))
        return chunks

    def take(self, length: int) -> bytes:
        piece = self.data[self.at : self.at + length]
        self.at += length
        return piece

    def text(self, info: int, length: int) -> _Read:
        try:
            return _Read("".join([chunk.decode() for chunk in self.chunks(info, length)]), kind=TEXT)
        except UnicodeDecodeError:
            return _Read(error="cbor: invalid UTF-8 string", kind=TEXT)

    def time(self, tag: int) -> _Read:
        kind, info, argument = self.head()
        if tag == _TAG_TIME:
            text = self.text(info, argument)
            if text.error is not None:
                return text
            try:
                time = parse_rfc3339(text.value)
            except GoTimeError as error:
                return _Read(error=f"cbor: cannot set {text.value} for time.Time: {error}", kind=TAG)
            return _shown_time(time)
        if kind == PRIMITIVE:
            number = self.number(info)
            whole = math.trunc(number)
            if abs(number) > float(MAX_INT64):
                message = f"{float_v(number)} overflows Go's int64"
                return _Read(error=f"cbor: cannot unmarshal primitives into Go value of type time.Time ({message})")
            return _shown_time(_moment(whole, int((number - whole) * 1e9)))
        whole = argument if kind == UNSIGNED else -1 - argument
        if argument > MAX_INT64:
            message = f"{whole} overflows Go's int64"
            return _Read(error=f"cbor: cannot unmarshal {TYPE_NAMES[kind]} into Go value of type time.Time ({message})")
        return _shown_time(_moment(whole, 0))

    def array(self, length: int | None, encoding: int | None) -> Generator[Any, _Read, _Read]:
        values: list[Any] = []
        error: str | None = None
        while (not self.took_break()) if length is None else len(values) < length:
            read = yield self.item(encoding)
            values.append(read.value)
            error = error or read.error
        return _Read(values, error, ARRAY)

    def map(self, length: int | None, encoding: int | None) -> Generator[Any, _Read, _Read]:
        values: dict[str, Any] = {}
        error: str | None = None
        seen: set[str | bytes] = set()
        key: str | bytes = ""
        index = 0
        while (not self.took_break()) if length is None else index < length:
            read_key = self.key(encoding, key)
            if read_key.error is not None:
                error = error or read_key.error
                self.skip_item()
            else:
                key = read_key.value
                read = yield self.item(encoding)
                if read.error is not None:
                    error = error or read.error
                elif key in seen:
                    self.skip_rest(length, index + 1)
                    problem = f"cbor: found duplicate map key {_quoted_key(key)} at map element index {index}"
                    return _Read(error=problem, kind=MAP)
                else:
                    seen.add(key)
                    values[key if isinstance(key, str) else as_text(key)] = read.value
            index += 1
        return _Read(values, error, MAP)

    def skip_rest(self, length: int | None, index: int) -> None:
        while (not self.took_break()) if length is None else index < length:
            self.skip_item()
            self.skip_item()
            index += 1

    def key(self, encoding: int | None, previous: str | bytes) -> _Read:
        """Decode the key of a map: text, or a byte string, which stays bytes if it is not UTF-8."""
        problem = self.bad_tags()
        if problem is not None:
            return problem
        start = self.at
        kind, info, argument = self.head()
        while kind == TAG:
            encoding = argument if argument in _ENCODINGS else encoding
            start = self.at
            kind, info, argument = self.head()
        if kind == TEXT:
            return self.text(info, argument)
        if kind == BYTES:
            data = b"".join(self.chunks(info, argument))
            return _Read(_text_or_bytes(data if encoding is None else _ENCODINGS[encoding](data)), kind=kind)
        problem_text = f"cbor: cannot unmarshal {TYPE_NAMES[kind]} into Go value of type string"
        if kind in (ARRAY, MAP):
            self.at = start
            self.skip_item()
        elif kind == NEGATIVE and argument > MAX_INT64:
            problem_text += f" ({-1 - argument} overflows Go's int64)"
        elif kind == PRIMITIVE and info not in FLOATS:
            if info == 22:
                # Upstream does not reset the variable, so it still holds the key before.
                return _Read(previous)
            if info not in (20, 21):
                problem_text = unacceptable(kind, f"simple value {argument} is not recognized")
        return _Read(error=problem_text, kind=kind)


class _KindFinder(_CborDecoder):
    """Searches a map for kind and apiVersion only; the server reports errors of this search first."""

    def problem(self) -> str | None:
        """Return why the server cannot find the kind of an object, or None."""
        bad = self.bad_tags()
        if bad is not None:
            return bad.error
        start = self.at
        kind, info, argument = self.head()
        while kind == TAG:
            start = self.at
            kind, info, argument = self.head()
        if kind == MAP:
            return self.problem_in_map(None if info == INDEFINITE else argument)
        self.at = start
        read = self.key(None, "")
        if kind not in (TEXT, BYTES):
            if read.error is None:
                return None
            more = " (cannot decode CBOR array to struct without toarray option)" if kind == ARRAY else ""
            return read.error.replace("type string", "type v1.TypeMeta") + more
        return read.error or f"cbor: cannot unmarshal {TYPE_NAMES[kind]} into Go value of type v1.TypeMeta"

    def problem_in_map(self, length: int | None) -> str | None:
        first: str | None = None
        seen: set[tuple[type, Any]] = set()
        index = -1
        while (not self.took_break()) if length is None else index + 1 < length:
            index += 1
            name = self.name()
            first = first or name.error
            if name.value is None:
                self.skip_item()
                continue
            if (type(name.value), name.value) in seen:
                shown = _quoted_key(name.value) if isinstance(name.value, (str, bytes)) else display(name.value)
                return f"cbor: found duplicate map key {shown} at map element index {index}"
            seen.add((type(name.value), name.value))
            if name.value in ("kind", "apiVersion") and name.error is None:
                error = self.key(None, "").error
                field = f"Go struct field v1.TypeMeta.{name.value} of"
                first = first or (error and error.replace("Go value of", field))
            else:
                self.skip_item()
        return first

    def name(self) -> _Read:
        """Decode a key; its error comes with a value of None if keys are not compared."""
        first = self.data[self.at]
        kind = first >> 5
        if kind in (TEXT, BYTES):
            return self.key(None, "")
        start = self.at
        _, _, argument = self.head()
        self.at = start
        read = _run(self.item(None))
        if type(read.value) in (list, dict):
            read.value = None
        if kind == NEGATIVE and read.error is not None:
            read.error = read.error.replace(f"({-1 - argument} ", f"(-1-{argument} ")  # upstream's message here
        if kind not in (UNSIGNED, NEGATIVE):
            what = TYPE_NAMES[kind]
            read.error = (
                f"cbor: cannot unmarshal {what} into Go value of type string "
                f"(map key is of type {what} and cannot be used to match struct field name)"
            )
        return read


def _wanted_after(tag: int, first: int) -> str:
    """Return the type that must follow the tag of a time and does not, or an empty text."""
    kind = first >> 5
    if tag == _TAG_TIME and kind != TEXT:
        return "text string"
    is_number = kind in (UNSIGNED, NEGATIVE) or (kind == PRIMITIVE and first & 0x1F in FLOATS)
    return "integer or floating-point number" if tag == _TAG_EPOCH and not is_number else ""


def _integer(kind: int, value: int) -> _Read:
    if -MAX_INT64 - 1 <= value <= MAX_INT64:
        return _Read(value, kind=kind)
    message = f"{value} overflows Go's int64"
    return _Read(error=f"cbor: cannot unmarshal {TYPE_NAMES[kind]} into Go value of type int64 ({message})", kind=kind)


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _quoted_key(key: str | bytes) -> str:
    return quote(key if isinstance(key, str) else key.decode("utf-8", "surrogateescape"))


def _moment(seconds: int, nanoseconds: int) -> GoTime:
    more, nanoseconds = divmod(nanoseconds, 1_000_000_000)
    return GoTime(seconds + more, nanoseconds)


def _shown_time(time: GoTime) -> _Read:
    """Print a time in its own zone; some times cannot be printed."""
    text = format_rfc3339_nano(GoTime(time.seconds + time.offset, time.nanoseconds))
    problem = ""
    if text[4] != "-" or text.startswith("-"):
        problem = "year outside of range [0,9999]"
    elif time.offset:
        hours, minutes = divmod(abs(time.offset) // 60, 60)
        text = f"{text[:-1]}{'-' if time.offset < 0 else '+'}{hours:02d}:{minutes:02d}"
        if hours >= 24:
            problem = "timezone hour outside of range [0,23]"
    if not problem:
        return _Read(text, kind=TAG)
    return _Read(
        error="cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: "
        f"Time.MarshalText: {problem}",
        kind=TAG,
    )
