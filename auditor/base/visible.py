"""Escapes text that comes from content (dumps, definitions, file names), so that it cannot control a terminal.

A key, a kind or a message may hold escape sequences that hide or rewrite a line, a newline that forges one, or
characters that reverse the reading order. Each of these prints as an escape of JSON, so that JSON and double-quoted
YAML keep their meaning.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Final

HIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters (C0, DEL, C1), controls of writing direction, separators of lines, halves of surrogate pairs."""
_HIDDEN_IN_LINES: Final = re.compile(HIDDEN.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NAME: Final = re.compile(r"[\w./~*-]([\w./~*@:+=,-]*[\w./~*-])?")
_SHELL_WORD: Final = re.compile(r"[\w./:@%+=,-]+", re.ASCII)
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters of a cell that a spreadsheet may evaluate; some treat the full-width forms alike."""
_LONGEST: Final = 600


def _escape(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}"


def visible(text: str) -> str:
    r"""Return content as one line: control characters, newlines included, print as ``\n`` or ``\u001b``."""
    return text if text.isprintable() else HIDDEN.sub(_escape, text)


def visible_lines(text: str) -> str:
    """Return text of several lines; all control characters but newlines print as escapes, tabs as blanks."""
    return text if text.isprintable() else _HIDDEN_IN_LINES.sub(_escape, text.replace("\t", "    "))


def label(text: str) -> str:
    """Return content that begins a line, in quotes unless it looks like a name, lest it pass for a message."""
    shown = visible(text)
    return shown if not shown or _NAME.fullmatch(shown) else f'"{shown}"'


def visible_tree(value: Any, longest: int = _LONGEST) -> Any:
    """Return a JSON-like value whose texts, keys included, are visible; long texts are cut in the middle."""
    if type(value) is str:
        half = longest // 2
        return visible(value if len(value) <= longest else f"{value[:half]} [...] {value[-half:]}")
    if type(value) is dict:
        return {visible_tree(key, longest): visible_tree(member, longest) for key, member in value.items()}
    return [visible_tree(item, longest) for item in value] if type(value) in (list, tuple) else value


def shell_word(text: str) -> str:
    """Return content as one word of a command that a person may paste into a shell."""
    if _SHELL_WORD.fullmatch(text):
        return text
    shown = visible(text)
    if "\\" not in shown:
        return shlex.quote(shown)
    return "$'" + shown.replace("'", "\\'") + "'"


def csv_cell(value: Any) -> Any:
    """Return a cell of a CSV file; text that a spreadsheet would take for a formula begins with an apostrophe."""
    if type(value) is not str:
        return value
    is_formula = value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return ("'" if is_formula else "") + visible(value)
