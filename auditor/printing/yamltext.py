"""Objects in the format of ``-o yaml``, as the server's YAML library writes them: styles, order of keys, folding.

The JSON text of an object is read as YAML 1.1 and written again, which determines the form of numbers and special
characters.

Source: sigs.k8s.io/yaml, go.yaml.in/yaml v2 (emitterc.go, encode.go, sorter.go, resolve.go).
"""

from __future__ import annotations

import difflib
import functools
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import HIDDEN
from auditor.golang import jsontext
from auditor.golang.go_text import float_json, float_v
from auditor.golang.unicode import is_digit, is_letter
from auditor.printing.jsonprint import to_json
from auditor.sources.yaml.scalars import resolve_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject


_WIDTH: Final = 80
_SIMPLE_KEY_BYTES: Final = 128
_READABLE_KEY: Final = 1024
_BREAKS: Final = "\n\r\x85\u2028\u2029"
_NEL: Final = re.compile(" *\x85[ \x85]*")
_DOCUMENT: Final = re.compile(r"\x85(?:---|\.\.\.)[ \x85]")
_BLANK_BREAK: Final = re.compile(f" [{_BREAKS}]")
_BLANK_AT_BREAK: Final = re.compile(f" [{_BREAKS}]|[{_BREAKS}] ")
_BOM: Final = "\ufeff"
_INDICATORS: Final = frozenset("#,[]{}&*!|>'\"%@`")
_CONTROL: Final = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+]([0-9]{2}):([0-9]{2}))"
    r"| +([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?)?"
)
_ESCAPES: Final = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e", '"': '"',
    "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


_HIDES: ContextVar[bool] = ContextVar("hides", default=False)
"""Whether characters that control a terminal print as escapes."""


class YamlTextError(ValueError):
    """An object that kubectl cannot print as YAML; the text is kubectl's."""


def to_yaml(value: Any, *, for_terminal: bool = False) -> str:
    """Return an object in the format of ``-o yaml``, with the final newline.

    Args:
        value: The object.
        for_terminal: Also escape characters that control a terminal, such as controls of the writing direction.
    Raises:
        YamlTextError: A text holds control characters, or a key is too long.
    """
    _check(value)
    token = _HIDES.set(for_terminal)
    try:
        return _text(value)
    finally:
        _HIDES.reset(token)


def _text(value: Any) -> str:
    if type(value) is dict and value:
        lines = _mapping(value, 0)
    elif type(value) is list and value:
        lines = _sequence(value, 0)
    else:
        lines = [_scalar(value, 0, 0)]
    return "".join([line if line[-1] in _BREAKS else f"{line}\n" for line in lines])  # any line break may end it


def _check(value: Any) -> None:
    """Refuse values that YAML cannot read again; the JSON text has no line breaks but U+0085, a break in YAML."""
    strings = list(_strings(value))
    if any(_CONTROL.search(text) for text, _ in strings):
        raise YamlTextError("yaml: control characters are not allowed")
    line = 0
    for text, is_key in strings:
        match = _DOCUMENT.search(text)
        if match is not None:
            line += text.count("\x85", 0, match.start()) + 2
            raise YamlTextError(f"yaml: line {line}: found unexpected document indicator")
        line += text.count("\x85")
        if is_key and ("\x85" in text or len(jsontext.encode(text)) > _READABLE_KEY):
            where = f"line {line}: " if line else ""
            raise YamlTextError(f"yaml: {where}did not find expected ',' or '}}'")


def _strings(value: Any) -> Iterator[tuple[str, bool]]:
    """Yield keys and texts in the order of the JSON text, each with whether it is a key."""
    todo = [(value, False)]
    while todo:
        node, is_key = todo.pop()
        if type(node) is dict:
            todo += [pair for key in sorted(node, reverse=True) for pair in ((node[key], False), (key, True))]
        elif type(node) is list:
            todo += [(item, False) for item in reversed(node)]
        elif type(node) is str:
            yield node, is_key


# -- containers --------------------------------------------------------------------------------------------------------


def _mapping(value: dict[str, Any], indent: int) -> list[str]:
    lines: list[str] = []
    margin = " " * indent
    for key in sorted(value, key=functools.cmp_to_key(_compare_keys)):
        child = value[key]
        if len(key.encode("utf-8", "surrogatepass")) > _SIMPLE_KEY_BYTES or any(char in _BREAKS for char in key):
            lines.append(f"{margin}? {_scalar(key, indent + 2, indent + 2)}")
            lines += _inline(f"{margin}: ", child, indent + 2)
            continue
        head = f"{margin}{_scalar(key, indent, indent, simple_key=True)}:"
        if type(child) is dict and child:
            lines.append(head)
            lines += _mapping(child, indent + 2)
        elif type(child) is list and child:
            lines.append(head)
            lines += _sequence(child, indent)
        else:
            lines.append(f"{head} {_scalar(child, len(head) + 1, indent + 2)}")
    return lines


def _sequence(value: list[Any], indent: int) -> list[str]:
    lines: list[str] = []
    for item in value:
        lines += _inline(" " * indent + "- ", item, indent + 2)
    return lines


def _inline(head: str, value: Any, indent: int) -> list[str]:
    """Return a value that begins on the line of its dash or colon."""
    if type(value) is dict and value:
        lines = _mapping(value, indent)
    elif type(value) is list and value:
        lines = _sequence(value, indent)
    else:
        return [head + _scalar(value, len(head), indent)]
    lines[0] = head + lines[0][indent:]
    return lines


def _compare_keys(left: str, right: str) -> int:
    """Compare as the library does: letters by code point, other signs before letters, runs of digits as numbers.

    This order has cycles (v1beta1 < v2 < v10 < v1beta1); for these, kubectl has no fixed order either.
    """
    for position in range(min(len(left), len(right))):
        if left[position] == right[position]:
            continue
        letters = is_letter(left[position]), is_letter(right[position])
        if all(letters):
            return -1 if left[position] < right[position] else 1
        if any(letters):
            return 1 if letters[0] else -1
        return _compare_runs(left, right, position)
    return len(left) - len(right)


def _compare_runs(left: str, right: str, at: int) -> int:
    first = 0
    if left[at] == "0" or right[at] == "0":
        before = at - 1
        while before >= 0 and is_digit(left[before]):
            if left[before] != "0":
                first = 1  # zeros inside a number count
                break
            before -= 1
    numbers, lengths = [], []
    for text in (left, right):
        end = at
        number = first
        while end < len(text) and is_digit(text[end]):
            number = number * 10 + ord(text[end]) - ord("0")
            end += 1
        numbers.append((number + (1 << 63)) % (1 << 64))  # 64-bit integers that overflow, shifted to be positive
        lengths.append(end)
    if numbers[0] != numbers[1]:
        return -1 if numbers[0] < numbers[1] else 1
    if lengths[0] != lengths[1]:
        return -1 if lengths[0] < lengths[1] else 1
    return -1 if left[at] < right[at] else 1


# -- scalars -----------------------------------------------------------------------------------------------------------


def _scalar(value: Any, column: int, indent: int, *, simple_key: bool = False) -> str:
    """Return a scalar or an empty container.

    Args:
        column: The column at which it begins.
        indent: The indent of the lines after the first.
        simple_key: Whether it is a key that must be on one line.
    """
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return _float(value)
    if type(value) is str:
        return _string(_NEL.sub(_unfolded, value), column, indent, simple_key=simple_key)
    return "{}" if type(value) is dict else "[]"


def _unfolded(breaks: re.Match[str]) -> str:
    """Return the breaks for a text inside quotes: one break is read as a blank, n breaks as n - 1."""
    return "\n" * (breaks[0].count("\x85") - 1) or " "


def _float(value: float) -> str:
    text = float_json(value)
    if "." not in text and "e" not in text and -(2**63) <= int(text) < 2**64:
        return str(int(text))
    return float_v(value)


def _string(text: str, column: int, indent: int, *, simple_key: bool) -> str:
    if _HIDES.get() and HIDDEN.search(text.replace("\n", "")):
        return _double(text, column, indent, fold=not simple_key)
    if "\n" in text:
        if not simple_key and _literal_is_possible(text):
            return _literal(text, indent)
        return _double(text, column, indent, fold=not simple_key)
    if _would_be_something_else(text) or _BLANK_AT_BREAK.search(text) or not all(map(_is_printable, text)):
        return _double(text, column, indent, fold=not simple_key)
    if _plain_is_possible(text):
        return _folded(text, column, indent, fold=not simple_key, edges=True)
    inner = _folded(text.replace("'", "''"), column + 1, indent, fold=not simple_key, edges=False)
    return f"'{inner}'"


def _would_be_something_else(text: str) -> bool:
    return type(resolve_plain(text)) is not str or _BASE_60.fullmatch(text) is not None or _is_timestamp(text)


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return False
    year, month, day, *rest = (int(part or 0) for part in match.groups())
    hour, minute, second, zone_hour, zone_minute, hour2, minute2, second2 = rest
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= days[month - 1]:
        return False
    return max(hour, hour2) < 24 and max(minute, minute2, second, second2) < 60 and zone_hour < 25 and zone_minute < 60


def _is_printable(char: str) -> bool:
    code = ord(char)
    return (
        0x20 <= code <= 0x7E or 0xA0 <= code <= 0xD7FF or (0xE000 <= code <= 0xFFFD and code != 0xFEFF) or char == "\n"
    )


def _plain_is_possible(text: str) -> bool:
    if not text or text[0] == " " or text[-1] == " " or any(char in _BREAKS for char in text):
        return False
    if text[0] in _INDICATORS or text.startswith(("---", "...")):
        return False
    if text[0] in "-?:" and (len(text) == 1 or text[1] in " \t"):
        return False
    return not (text.endswith(":") or ": " in text or ":\t" in text or " #" in text or "\t#" in text)


def _literal_is_possible(text: str) -> bool:
    return not (text.endswith(" ") or _BLANK_BREAK.search(text)) and all(map(_is_printable, text))


def _literal(text: str, indent: int) -> str:
    head = "|" + ("2" if text[0] in f" {_BREAKS}" else "")
    if text[-1] not in _BREAKS:
        head += "-"
    elif text[-2:-1] in _BREAKS:
        head += "+"
    out, margin, after_break = [head, "\n"], " " * indent, True
    for char in text:
        if after_break and char not in _BREAKS:
            out.append(margin)
        out.append(char)
        after_break = char in _BREAKS
    return "".join(out)


def _folded(text: str, column: int, indent: int, *, fold: bool, edges: bool) -> str:
    """Return a plain or single-quoted text, folded at single blanks beyond the width.

    Args:
        edges: Whether the first and the last character may be folded, as in plain text.
    """
    if column + len(text) <= _WIDTH and not any(char in _BREAKS for char in text):
        return text
    out: list[str] = []
    last = len(text) - 1
    after_break = False
    for position, char in enumerate(text):
        if (
            char == " "
            and fold
            and column > _WIDTH
            and (edges or 0 < position < last)
            and not (position > 0 and text[position - 1] == " ")
            and text[position + 1 : position + 2] != " "
        ):
            out.append("\n" + " " * indent)
            column = indent
            continue
        if char in _BREAKS:
            out.append(char)
            column, after_break = 0, True
            continue
        if after_break:
            out.append(" " * indent)
            column, after_break = indent, False
        out.append(char)
        column += 1
    return "".join(out)


def _double(text: str, column: int, indent: int, *, fold: bool) -> str:
    if text.startswith(_BOM):  # the emitter asks for every character whether the text begins with one
        every = ["\\" + _ESCAPES[char] if char in _ESCAPES else _code(char) for char in text]
        return f'"{"".join(every)}"'
    out = ['"']
    column += 1
    last = len(text) - 1
    after_blank = False
    for position, char in enumerate(text):
        if char == " ":
            if fold and not after_blank and column > _WIDTH and 0 < position < last:
                out.append("\n" + " " * indent)
                column = indent
                if text[position + 1] == " ":
                    out.append("\\")
                    column += 1
            else:
                out.append(" ")
                column += 1
            after_blank = True
            continue
        piece = _escaped(char)
        out.append(piece)
        column += len(piece)
        after_blank = False
    return "".join(out) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES and char != "\xa0":
        return "\\" + _ESCAPES[char]
    return char if _is_printable(char) and not (_HIDES.get() and HIDDEN.match(char)) else _code(char)


def _code(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def yaml_diff(old: JsonObject | None, new: JsonObject | None, names: tuple[str, str], *, for_terminal: bool) -> str:
    """Return a unified diff of two objects; empty if their text is the same.

    Args:
        old, new: The objects, or None.
        names: Names of the two sides.
        for_terminal: The output goes to a terminal.
    """
    sides = [_lines(document, for_terminal=for_terminal) for document in (old, new)]
    lines = difflib.unified_diff(sides[0], sides[1], *names, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _lines(obj: JsonObject | None, *, for_terminal: bool) -> list[str]:
    if obj is None:
        return []
    try:
        return to_yaml(obj, for_terminal=for_terminal).rstrip("\n").split("\n")
    except YamlTextError:  # control characters, which the YAML writer refuses
        return to_json(obj).rstrip("\n").split("\n")
