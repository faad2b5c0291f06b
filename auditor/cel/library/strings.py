"""Functions on strings. Positions and sizes count code points, as Python does.

Source: cel-go ext/strings.go, version 2 (without `reverse`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.errors import CelError
from auditor.cel.function import Function, Overload
from auditor.cel.library.formatting import format_string
from auditor.cel.operations import text_memory
from auditor.cel.operations.describe import show
from auditor.cel.types import DYN, INT, STRING, Type, list_of
from auditor.golang.text import without_broken

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["functions", "quote_for_cel"]

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_TO_LOWER = str.maketrans(_UPPER, _LOWER)
_TO_UPPER = str.maketrans(_LOWER, _UPPER)
_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""What Go calls space; Python's `strip` would take U+001C to U+001F too."""
_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return without_broken(text[index : index + 1])


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    if start >= len(text):
        return -1
    return text.rfind(part, 0, start + len(part))


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if 0 < limit < len(text):
        return [*text[: limit - 1], text[limit - 1 :]]
    return list(text)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end is not None and not 0 <= end <= len(text):
        raise _out_of_range(end)
    return without_broken(text[start:end])


def _join(texts: Any, separator: str = "") -> str:
    found = list(texts if type(texts) is list else texts.cel_iter())
    for text in found:
        if type(text) is not str:
            raise CelError(f"join: invalid input: {show(text)}")
    return separator.join(found)


def quote_for_cel(text: str) -> str:
    """Return a string literal of CEL: in double quotes, with the escapes that CEL has; all else stands for itself."""
    return f'"{text.translate(_ESCAPES)}"'


def _member(name: str, *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., object]]) -> Function:
    return Function(name, member=True, overloads=tuple([Overload(*overload) for overload in overloads]))


def functions(version: int = 2) -> tuple[Function, ...]:
    """Return the functions of the library.

    Args:
        version: 0; 1 adds `format` and `strings.quote`; 2 changes no function.
    """
    text, two, three = (STRING,), (STRING, STRING), (STRING, STRING, STRING)
    texts = list_of(STRING)
    found = (
        _member("charAt", ("string_char_at_int", (STRING, INT), STRING, _char_at)),
        _member(
            "indexOf",
            ("string_index_of_string", two, INT, _index_of),
            ("string_index_of_string_int", (*two, INT), INT, _index_of),
        ),
        _member(
            "lastIndexOf",
            ("string_last_index_of_string", two, INT, _last_index_of),
            ("string_last_index_of_string_int", (*two, INT), INT, _last_index_of),
        ),
        _member("lowerAscii", ("string_lower_ascii", text, STRING, lambda it: without_broken(it.translate(_TO_LOWER)))),
        _member(
            "replace",
            ("string_replace_string_string", three, STRING, text_memory.replace),
            ("string_replace_string_string_int", (*three, INT), STRING, text_memory.replace),
        ),
        _member(
            "split",
            ("string_split_string", two, texts, _split),
            ("string_split_string_int", (*two, INT), texts, _split),
        ),
        _member(
            "substring",
            ("string_substring_int", (STRING, INT), STRING, _substring),
            ("string_substring_int_int", (STRING, INT, INT), STRING, _substring),
        ),
        _member("trim", ("string_trim", text, STRING, lambda it: it.strip(_SPACE))),
        _member("upperAscii", ("string_upper_ascii", text, STRING, lambda it: without_broken(it.translate(_TO_UPPER)))),
        _member("join", ("list_join", (texts,), STRING, _join), ("list_join_string", (texts, STRING), STRING, _join)),
    )
    if version == 0:
        return found
    shape = Overload("string_format", (STRING, list_of(DYN)), STRING, format_string, in_order=True)
    quote = Overload("strings_quote", text, STRING, quote_for_cel)
    return (
        *found,
        Function("format", member=True, overloads=(shape,)),
        Function("strings.quote", member=False, overloads=(quote,)),
    )
