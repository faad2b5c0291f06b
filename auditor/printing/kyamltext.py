"""Objects in the format of ``-o kyaml``: YAML in braces, all texts quoted, long text folded at its line ends.

Source: sigs.k8s.io/yaml kyaml/kyaml.go.
"""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from typing import Any, Final

from auditor.golang import jsontext
from auditor.golang.template.errors import TemplateError
from auditor.golang.template.literals import number
from auditor.golang.unicode import is_letter, is_print

__all__ = ["to_kyaml"]

_FOLD: Final = "\\\n"
_SPACES: Final = frozenset("\t\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(at) for at in range(0x2000, 0x200B)
}
_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\0": "\\0", "\x1b": "\\e",
    "\x85": "\\N", "\xa0": "\\_", "\u2028": "\\L", "\u2029": "\\P",
}  # fmt: skip
_NOT_TEXT: Final = "null ~ true t 1 false f 0 y yes on n no off .inf -.inf +.inf .nan"
_WORDS: Final = frozenset(_NOT_TEXT.split())
_BASE_60: Final = re.compile(r"[+-]?[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?"
)
_NAMED_FLOAT: Final = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)


def to_kyaml(value: Any) -> str:
    """Return an object as a document, with the final newline."""
    out = ["---\n"]
    _write(value, 0, out)
    out.append("\n")
    return "".join(out)


def _write(value: Any, indent: int, out: list[str]) -> None:
    kind = type(value)
    if kind is dict:
        _mapping(value, indent, out)
    elif kind is list:
        _sequence(value, indent, out)
    elif kind is str:
        out.append(_folded(value, indent + 1) if "\n" in value else f'"{_escaped(value)}"')
    else:
        out.append(jsontext.encode(value))


def _mapping(value: dict[str, Any], indent: int, out: list[str]) -> None:
    if not value:
        out.append("{}")
        return
    margin = "  " * (indent + 1)
    out.append("{\n")
    for key in sorted(value):
        shown = f'"{_escaped(key, compact=True)}"' if _needs_quotes(key) else key
        out.append(f"{margin}{shown}: ")
        _write(value[key], indent + 1, out)
        out.append(",\n")
    out.append("  " * indent + "}")


def _sequence(value: list[Any], indent: int, out: list[str]) -> None:
    if not value:
        out.append("[]")
        return
    if all(type(item) in (dict, list) for item in value):  # adjacent brackets and braces share a line
        out.append("[")
        for at, item in enumerate(value):
            out.append(", " if at else "")
            _write(item, indent, out)
        out.append("]")
        return
    margin = "  " * indent
    out.append("[\n")
    for item in value:
        out.append(f"{margin}  ")
        _write(item, indent + 1, out)
        out.append(",\n")
    out.append(f"{margin}]")


def _folded(text: str, indent: int) -> str:
    """Return text of several lines, each on its own line, in quotes."""
    margin = "  " * indent
    out = ['"', _FOLD]
    fresh = True
    for letter in text:
        if fresh:
            out += [margin, "\\" if letter in _SPACES else " "]
        fresh = letter == "\n"
        out.append("\\n" + _FOLD if fresh else _escaped(letter))
    if not fresh:
        out.append(_FOLD)
    return "".join([*out, margin, '"'])


def _escaped(text: str, *, compact: bool = False) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(_letter(letter, compact=compact) for letter in text)


def _letter(letter: str, *, compact: bool) -> str:
    if letter == "\t" and not compact:
        return letter
    if letter in '"\\':
        return "\\" + letter
    code = ord(letter)
    if is_print(code):
        return letter
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _needs_quotes(key: str) -> bool:
    if not key or _is_ambiguous(key):
        return True
    last = len(key) - 1
    return not all(
        letter == "_"
        or is_letter(letter)
        or unicodedata.category(letter)[0] == "N"
        or (letter in "-./" and 0 < at < last)
        for at, letter in enumerate(key)
    )


def _is_ambiguous(text: str) -> bool:
    """Whether YAML could read an unquoted text as another type."""
    if text.lower() in _WORDS and (len(text) > 1 or text in "tTfFyYnN~01"):
        return True
    return _is_number(text.replace("_", "")) or _BASE_60.fullmatch(text) is not None or _is_time(text)


def _is_number(text: str) -> bool:
    if _NAMED_FLOAT.fullmatch(text):
        return True
    with contextlib.suppress(TemplateError):
        value = number(text, "number")
        return type(value) is float or -(2**63) <= value < 2**63 or math.isfinite(float(value))
    return False


def _is_time(text: str) -> bool:
    match = _TIMESTAMP.fullmatch(text)
    return match is not None and 1 <= int(match[1]) <= 12 and 1 <= int(match[2]) <= 31
