"""JSON as the API server's decoder reads it and its encoder writes it.

`decode` tries orjson first, which agrees with Go on nearly all texts and is fast. If orjson refuses a text, or if it
may have an integer that Go would read as float64, our own exact decoder decides: it has the server's limits (10,000
levels), accepts texts that orjson refuses (invalid UTF-8, lone surrogates), and raises Go's errors for others. There is
no recursion: neither the C stack nor Python's limit restricts the depth. `encode` takes the text of orjson if it is
proven to be Go's.
"""

from __future__ import annotations

import codecs
import re
from typing import Any, Final

import orjson

from auditor.golang.go_text import float_json, quote

MAX_DEPTH = 10_000
_MAX_INT64 = 2**63 - 1
_MIN_INT64 = -(2**63)


class GoJsonError(ValueError):
    """A text that the server's JSON decoder refuses; the message is Go's."""


# -- decode ------------------------------------------------------------------------------------------------------------

_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_RUN = b"0" * 19


def decode(data: bytes, decoded: Any = None) -> Any:
    """Return the JSON value in `data` as the server holds it.

    Args:
        data: One JSON text; white space around it is fine.
        decoded: The value that orjson decoded from it, if the caller has it; it may be changed and returned.
    Returns:
        dict, list, str, int (int64), float, bool or None. A number without point and exponent is an int if it fits
        int64 and a float otherwise; of equal keys the last counts; broken UTF-8 and lone surrogates become U+FFFD.
    Raises:
        GoJsonError: The text is not JSON, too deep, or has a number beyond float64.

    Source: sigs.k8s.io/json UnmarshalCaseSensitivePreserveInts.
    """
    try:
        value = orjson.loads(data) if decoded is None else decoded
    except orjson.JSONDecodeError:
        return decode_exactly(data)
    if _RUN in data.translate(_DIGITS):  # an integer above int64 has 19 digits in a row
        return _with_wide_integers_as_floats(value)
    return value


def decode_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in `data`, as `decode` does; null is an empty object, other values are an error.

    Raises:
        GoJsonError: As `decode`, and for values of another type.

    Source: unstructuredJSONScheme.decodeToUnstructured, which decodes into a map.
    """
    value = decode(data)
    if type(value) is dict:
        return value
    if value is None:
        return {}
    kinds = {list: "array", str: "string", bool: "bool"}
    kind = kinds.get(type(value), "number")
    raise GoJsonError(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")


def _with_wide_integers_as_floats(value: Any) -> Any:
    if type(value) is int:
        return float(value) if value > _MAX_INT64 else value
    pending = [value]
    while pending:
        container = pending.pop()
        kind = type(container)
        if kind is dict:
            items: Any = container.items()
        elif kind is list:
            items = enumerate(container)
        else:
            continue
        wide = []
        for key, item in items:
            item_kind = type(item)
            if item_kind is int:
                if item > _MAX_INT64:
                    wide.append(key)
            elif item_kind is dict or item_kind is list:
                pending.append(item)
        for key in wide:
            container[key] = float(container[key])
    return value


# -- the exact decoder -------------------------------------------------------------------------------------------------

_SPACE = re.compile(rb"[ \t\r\n]*")
# The group is not possessive: Python before 3.11.5 loses its position in one that fails inside a branch.
_STRING = re.compile(rb'"([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*)"')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_ESCAPES = re.compile(r'\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(["\\/bfnrt]))')
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = {0x74: ("true", True), 0x66: ("false", False), 0x6E: ("null", None)}
_ERROR_HANDLER = "auditor-each-byte-replaced"


def _replace_one_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


codecs.register_error(_ERROR_HANDLER, _replace_one_byte)


def as_text(data: bytes) -> str:
    """Return bytes as the text that Go decodes from them: every byte that is not UTF-8 becomes one U+FFFD."""
    return data.decode("utf-8", _ERROR_HANDLER)


def decode_exactly(data: bytes) -> Any:
    """Return the result of `decode` without orjson; slow, for texts that orjson refuses and for tests.

    Raises:
        GoJsonError: As `decode`.
    """
    # Go ends a text by feeding its scanner a space; appending it gives the same message for texts that stop early.
    return _JsonDecoder(bytes(data) + b" ").read()


class _JsonDecoder:
    """One decoding of one text; it checks the syntax and builds values, and remembers the first number out of range."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.range_error: str | None = None

    def read(self) -> Any:
        containers: list[Any] = []
        keys: list[str] = []
        value: Any
        while True:
            # A value begins here.
            self.skip_space()
            byte = self.peek()
            if byte in (0x7B, 0x5B):
                if len(containers) >= MAX_DEPTH:
                    raise self.wrong("exceeded max depth")
                self.at += 1
                self.skip_space()
                opened: Any = {} if byte == 0x7B else []
                if self.peek() == (0x7D if byte == 0x7B else 0x5D):
                    self.at += 1
                    value = opened
                else:
                    containers.append(opened)
                    if byte == 0x7B:
                        keys.append(self.key())
                    continue
            else:
                value = self.scalar(byte)
            # A value has ended: store it, and close what closes.
            while True:
                if not containers:
                    return self.finish(value)
                container = containers[-1]
                self.skip_space()
                byte = self.peek()
                if type(container) is dict:
                    container[keys.pop()] = value
                    if byte == 0x2C:
                        self.at += 1
                        self.skip_space()
                        keys.append(self.key())
                        break
                    if byte != 0x7D:
                        raise self.wrong("after object key:value pair")
                else:
                    container.append(value)
                    if byte == 0x2C:
                        self.at += 1
                        break
                    if byte != 0x5D:
                        raise self.wrong("after array element")
                self.at += 1
                value = containers.pop()

    def finish(self, value: Any) -> Any:
        self.skip_space()
        if self.at < len(self.data):
            raise self.wrong("after top-level value")
        if self.range_error is not None:
            raise GoJsonError(self.range_error)
        return value

    def skip_space(self) -> None:
        space = _SPACE.match(self.data, self.at)
        assert space is not None
        self.at = space.end()

    def peek(self) -> int:
        if self.at >= len(self.data):
            raise GoJsonError("unexpected end of JSON input")
        return self.data[self.at]

    def wrong(self, context: str) -> GoJsonError:
        """Return Go's error for the byte at the current position."""
        return GoJsonError(f"invalid character {_quoted_byte(self.peek())} {context}")

    def key(self) -> str:
        if self.peek() != 0x22:
            raise self.wrong("looking for beginning of object key string")
        key = self.string()
        self.skip_space()
        if self.peek() != 0x3A:
            raise self.wrong("after object key")
        self.at += 1
        return key

    def scalar(self, byte: int) -> Any:
        if byte == 0x22:
            return self.string()
        if byte == 0x2D or 0x30 <= byte <= 0x39:
            return self.number()
        literal = _LITERALS.get(byte)
        if literal is None:
            raise self.wrong("looking for beginning of value")
        word, value = literal
        for expected in word:
            if self.peek() != ord(expected):
                raise self.wrong(f"in literal {word} (expecting {_quoted_byte(ord(expected))})")
            self.at += 1
        return value

    def string(self) -> str:
        match = _STRING.match(self.data, self.at)
        if match is None:
            raise self.broken_string()
        self.at = match.end()
        text = as_text(match[1])
        return _ESCAPES.sub(_unescape, text) if "\\" in text else text

    def broken_string(self) -> GoJsonError:
        self.at += 1
        while True:
            byte = self.peek()
            if byte < 0x20:
                return self.wrong("in string literal")
            self.at += 1
            if byte != 0x5C:
                continue
            if self.peek() not in b'"\\/bfnrtu':
                return self.wrong("in string escape code")
            self.at += 1
            if self.data[self.at - 1] == 0x75:
                for _ in range(4):
                    if self.peek() not in b"0123456789abcdefABCDEF":
                        return self.wrong("in \\u hexadecimal character escape")
                    self.at += 1

    def number(self) -> int | float:
        match = _NUMBER.match(self.data, self.at)
        if match is None:
            self.at += 1
            raise self.wrong("in numeric literal")
        self.at = match.end()
        byte = self.peek()
        if byte == 0x2E and match[1] is None and match[2] is None:
            self.at += 1
            raise self.wrong("after decimal point in numeric literal")
        if byte in b"eE" and match[2] is None:
            self.at += 1
            if self.peek() in b"+-":
                self.at += 1
            raise self.wrong("in exponent of numeric literal")
        text = match[0]
        if match[1] is None and match[2] is None and len(text) <= 20:
            whole = int(text)
            if _MIN_INT64 <= whole <= _MAX_INT64:
                return whole
        number = float(text)
        if number in (float("inf"), float("-inf")) and self.range_error is None:
            self.range_error = f"json: cannot unmarshal number {text.decode()} into Go value of type float64"
        return number


def _unescape(found: re.Match[str]) -> str:
    single = found[3]
    if single is not None:
        return _ESCAPED[single]
    code = int(found[1], 16)
    second = found[2]
    if second is None:
        return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)
    low = int(second, 16)
    if 0xD800 <= code <= 0xDBFF:
        return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
    return ("\ufffd" if 0xDC00 <= code <= 0xDFFF else chr(code)) + "\ufffd"


def _quoted_byte(byte: int) -> str:
    if byte == 0x27:
        return "'\\''"
    if byte == 0x22:
        return "'\"'"
    return "'" + quote(chr(byte))[1:-1] + "'"


# -- encode ------------------------------------------------------------------------------------------------------------

_UNSAFE = re.compile('[\\x00-\\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def encode(value: Any) -> str:
    """Return a JSON value as Go's encoder writes it: compact, keys sorted, ``<>&`` and U+2028/9 escaped, Go's floats.

    Source: encoding/json Marshal, with HTML escaping as it is by default.
    """
    kind = type(value)
    if kind is not dict and kind is not list:
        return _encode_scalar(value)
    text = proven_text(value)
    return encode_exactly(value) if text is None else text


_ESCAPED_BY_GO: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)
"""Characters of strings that Go escapes and orjson does not; elsewhere JSON has none of them."""


def proven_text(value: Any, option: int = 0) -> str | None:
    """Return the text of orjson for a dict or list if it is that of Go; None if this is not known.

    Args:
        value: The value.
        option: Further options of orjson.
    """
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | option)  # refuses lone surrogates and 255 levels
    except TypeError:
        return None
    if not has_no_floats(value):
        return None
    for character, escape in _ESCAPED_BY_GO:
        if character in data:
            data = data.replace(character, escape)
    return data.decode()


def has_no_floats(value: Any) -> bool:
    """Return whether a dict or list holds nothing but texts, integers, booleans and nulls at its ends."""
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if kind is str:
            continue
        if kind is dict or kind is list:
            if not has_no_floats(item):
                return False
        elif kind is not int and kind is not bool and item is not None:
            return False
    return True


def encode_exactly(value: Any) -> str:
    """Return the result of `encode` without orjson; for what it writes in another way, and for tests."""
    parts: list[str] = []
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is _Written:
            parts.append(item.text)
        elif kind is dict:
            _push_object(item, pending)
        elif kind is list:
            _push_array(item, pending)
        else:
            parts.append(_encode_scalar(item))
    return "".join(parts)


class _Written:
    """Text that is already JSON, among values that are not encoded yet."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _push_object(item: dict[str, Any], pending: list[Any]) -> None:
    keys = sorted(item, reverse=True)
    if not keys:
        pending.append(_Written("{}"))
        return
    pending.append(_Written("}"))
    for key in keys:
        pending.append(item[key])
        pending.append(_Written(f"{'{' if key is keys[-1] else ','}{_encode_string(key)}:"))


def _push_array(item: list[Any], pending: list[Any]) -> None:
    pending.append(_Written("]"))
    for position in range(len(item) - 1, 0, -1):
        pending.append(item[position])
        pending.append(_Written(","))
    if item:
        pending.append(item[0])
    pending.append(_Written("["))


def _encode_scalar(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return _encode_string(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is float:
        return float_json(value)
    if value is None:
        return "null"
    raise TypeError(f"no JSON value: {kind.__name__}")


def _encode_string(text: str) -> str:
    return '"' + _UNSAFE.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    written = _WRITTEN.get(character)
    if written is not None:
        return written
    code = ord(character)
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"
