"""Reads the YAML that programs write with one regular expression instead of a parser.

Definitions as controller-gen, Helm and kubectl print them: block mappings and sequences, scalars on one line or folded
over deeper ones, literal blocks. A text is read here only if the parser would return the same value; a text with
anything else (tabs, tags, anchors, flow collections, merge keys, unusual indentation, errors) is left to the parser.
This is four times as fast, and reading a folder of definitions takes most of the start of a run.

Source: YAML 1.1, chapters 4, 8 and 9, as libyaml reads them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from auditor.sources.yaml.scalars import resolve_plain, to_json_value

if TYPE_CHECKING:
    from collections.abc import Iterable


_TEXT: Final = bytes([*b"\n", *range(0x20, 0x7F), *range(0x80, 0x100)])
_NO_TEXT: Final = tuple(char.encode() for char in "\u2028\u2029\ufeff\ufffe\uffff")
_MORE_CONTROLS = re.compile(rb"\xc2[\x80-\x9f]")

# One match is an entry with the lines that belong to it, an item of a sequence, or an ignored line; the last
# alternative catches all others. Lines that belong to an entry are deeper than its key, which a hyphen moves by two.
# Keys with colons are those of managed fields. Possessive groups prevent shorter matches.
_DEEPER: Final = r"(?(2)\1   |\1 )"
_ENTRY = re.compile(
    r"( *)(?:"
    r"""(- )?([A-Za-z0-9_$/.][A-Za-z0-9_$/.-]{0,99}+|"[^"\\\n]{1,99}"|f:[A-Za-z0-9_$/.][A-Za-z0-9_$/.-]{0,99}"""
    r"""|k:\{[^ #\n]{0,500}\}):"""
    rf"(?: (?:\|(-?)\n((?:\n|{_DEEPER}.*+\n)++)|([^ |\n].*+)\n((?:{_DEEPER} *+[^ \n].*+\n)*+))|\n)"
    r"|- ([^ \n].*)\n"
    r"|#.*\n"
    r"|(?<! )\n"
    r"|(.+)\n"
    r")"
)
_PLAIN_START: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./$^(<=+~\\;")
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_WORD: Final = 5
"""Length of the longest plain scalar that begins with a letter and is no text: false."""
_NOT_ZERO: Final = frozenset("123456789")
_DIGITS: Final = 19
"""Fewest digits of an integer that may not be an int64."""
_ESCAPED = re.compile(r'[^"\\]*(?:\\["\\nt ][^"\\]*)*')
_ESCAPE = re.compile(r"\\(.)")
_MEANT: Final = {"n": "\n", "t": "\t"}
_MAX_COLUMN: Final = 1000
_words: dict[str, Any] = {}
_keys: dict[str, str] = {}
_REMEMBERED: Final = 20_000
"""Number of short scalars and keys whose values are cached between documents; then the cache is emptied."""
_LARGE: Final = 4 << 20
_LONG: Final = 64
"""Scalars of at least this length are not cached; they seldom repeat."""


class _Unusual(Exception):
    """The text has something that is not supported here."""


def _decoded(data: bytes) -> str:
    if not data.endswith(b"\n") or data.translate(None, _TEXT):
        raise _Unusual
    if not data.isascii() and (any(control in data for control in _NO_TEXT) or _MORE_CONTROLS.search(data)):
        raise _Unusual
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _Unusual from None


def _scalar(text: str, more: str = "") -> Any:
    """Return the value of a scalar: its first line, and further lines if there are any."""
    if more:
        text = _folded(text, more)
    first = text[0]
    if first in _PLAIN_START or (first == "-" and (text[1:2].isalnum() or text[1:2] == ".")):
        if " #" in text and not more:
            text = text[: text.index(" #")]
        text = text.rstrip(" ")
        if ": " in text or " #" in text or text[-1] == ":":
            raise _Unusual
        if first in _NOT_ZERO and len(text) < _DIGITS and text.isascii() and text.isdecimal():
            return int(text)
        value = resolve_plain(text)
        if type(value) is float and not math.isfinite(value):
            raise _Unusual
        return value if type(value) is str else to_json_value(value)
    text = text.rstrip(" ")
    inner = text[1:-1]
    if len(text) > 1 and first == text[-1]:
        if first == "'" and "'" not in inner.replace("''", ""):
            return inner.replace("''", "'")
        if first == '"' and _ESCAPED.fullmatch(inner):
            return _ESCAPE.sub(lambda match: _MEANT.get(match[1], match[1]), inner) if "\\" in inner else inner
    if text in ("{}", "[]"):
        return {} if text == "{}" else []
    raise _Unusual


def _folded(text: str, more: str) -> str:
    """Return a plain or quoted scalar of several non-blank lines as one line."""
    lines = [line.strip(" ") for line in (text + "\n" + more).split("\n")]
    if "\\" in text + more and any(line.endswith("\\") for line in lines):
        raise _Unusual
    return " ".join(lines)


def _block(text: str, chomp: str) -> str:
    """Return the text of a literal block."""
    indent = len(text) - len(text.lstrip(" "))
    if text[indent] == "\n":  # its first line alone determines the indentation
        raise _Unusual
    lead = "\n" + " " * indent
    spaces = " \n" in text
    text = "\n" + text.rstrip("\n")
    joined = text.replace(lead, "\n")
    if spaces or len(text) - len(joined) != text.count("\n") * indent:
        for line in text.split("\n"):
            if line and (not line.startswith(lead[1:]) or not line.strip(" ")):
                raise _Unusual
    return joined[1:] if chomp else joined[1:] + "\n"


def _key(text: str) -> str:
    """Return the name of a key, if it is text."""
    if text.startswith('"'):
        return text[1:-1]
    if type(resolve_plain(text)) is not str:
        raise _Unusual
    return text


def _entries(text: str) -> Iterable[tuple[str, ...]]:
    """Return the entries of a text; those of a large one one after another."""
    start = 4 if text.startswith("---\n") else 0
    if len(text) < _LARGE:
        return _ENTRY.findall(text, start)
    return (match.groups("") for match in _ENTRY.finditer(text, start))


def _remembered() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of short scalars and of keys that are cached."""
    if len(_words) + len(_keys) > _REMEMBERED:
        _words.clear()
        _keys.clear()
    return _words, _keys


def _read(text: str, once: bool) -> dict[str, Any]:
    """Return the mapping in a document; with `once`, a key that comes again in its mapping is unusual.

    `container` is the collection of the last line, `column` the column of its entries; `around` are the open
    collections that contain it. `pending` is the key of the last line if its value follows.
    """
    root: dict[str, Any] = {}
    container: Any = root
    column = 0
    around: list[tuple[int, Any]] = []
    pending = ""
    letters, (words, keys) = _LETTERS, _remembered()
    for indent, dash, key, chomp, block, value, more, item, odd in _entries(text):
        depth = len(indent)
        if key and not dash:
            if depth != column or type(container) is list:
                if depth > column:
                    if not pending or depth >= _MAX_COLUMN:
                        raise _Unusual
                    around.append((column, container))
                    container[pending] = container = {}
                    column = depth
                else:
                    while column > depth or type(container) is list:
                        column, container = around.pop()
                    if column != depth:
                        raise _Unusual
        elif dash or item:
            if pending and column <= depth < _MAX_COLUMN:
                around.append((column, container))
                container[pending] = container = []
                column = depth
            elif depth != column or type(container) is dict:
                while column > depth:
                    column, container = around.pop()
                if column != depth or type(container) is dict:
                    raise _Unusual
            if item:
                pending = ""
                container.append(_scalar(item))
                continue
            around.append((column, container))
            container.append({})
            container = container[-1]
            column = depth + 2
        elif odd:
            raise _Unusual
        else:
            continue
        name = keys.get(key)
        if name is None:
            name = keys[key] = _key(key)
        if once and name in container:
            raise _Unusual
        if value:
            pending = ""
            if more:
                container[name] = _scalar(value, more)
            elif (
                value[0] in letters
                and len(value) > _WORD
                and value[-1] != " "
                and ":" not in value
                and "#" not in value
            ):
                container[name] = value  # as most scalars are
            elif value in words:
                container[name] = words[value]
            else:
                container[name] = scalar = _scalar(value)
                if len(value) < _LONG and type(scalar) is not dict and type(scalar) is not list:
                    words[value] = scalar
        elif block:
            pending = ""
            container[name] = _block(block, chomp)
        else:
            container[name] = None
            pending = name
    return root


def quick_value(data: bytes, *, once: bool = False) -> dict[str, Any] | None:
    """Return the JSON value of a document that a program wrote; None if the parser must read it.

    Args:
        data: One document; the result equals that of `yaml_to_json`.
        once: Leave a document in which a key comes again to the parser.
    """
    try:
        return _read(_decoded(data), once) or None
    except _Unusual:
        return None
