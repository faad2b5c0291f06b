"""Objects as ``-o json`` prints them: Go's JSON, indented by four.

Source: cli-runtime pkg/printers/json.go, encoding/json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.golang import jsontext

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject


_MOST_LEVELS: Final = 250
"""orjson refuses more than 254."""


def to_json(value: Any) -> str:
    """Return a value as indented JSON, keys sorted, with the final newline."""
    out: list[str] = []
    _write(value, "\n", out, _Proofs().text)
    out.append("\n")
    return "".join(out)


def to_json_exactly(value: Any) -> str:
    """Return the result of `to_json` without orjson; slow, for tests."""
    out: list[str] = []
    _write(value, "\n", out, lambda _: None)
    out.append("\n")
    return "".join(out)


class _Proofs:
    """Asks orjson for the text of objects; of one that it refuses only for the parts that have no reason for it."""

    def __init__(self) -> None:
        self._refused: set[int] = set()

    def text(self, value: JsonObject) -> str | None:
        """Return the text of an object, indented by two, if orjson writes that of Go; else None."""
        if id(value) in self._refused:
            return None
        text = jsontext.proven_text(value, orjson.OPT_INDENT_2)
        if text is None:
            self._refuse(value)
            self._refused.add(id(value))
        return text

    def _refuse(self, value: Any) -> int:
        """Note which dicts and lists of one have a float, a large integer, a lone surrogate or many levels.

        Returns:
            The levels of the value; more than orjson writes if it has such a reason.
        """
        levels = 0
        for item in (*value, *value.values()) if type(value) is dict else value:
            if type(item) is dict or type(item) is list:
                levels = max(levels, self._refuse(item))
            elif not _is_usual(item):
                levels = _MOST_LEVELS
        if levels >= _MOST_LEVELS:
            self._refused.add(id(value))
        return levels + 1


def _is_usual(item: Any) -> bool:
    """Return whether orjson writes a text, number, boolean or null as Go does, apart from what it escapes."""
    if type(item) is int:
        return -(2**63) <= item < 2**64
    try:
        return type(item) is not float and (type(item) is not str or item.isascii() or bool(item.encode()))
    except UnicodeEncodeError:  # a lone surrogate
        return False


def _indented(text: str, margin: str) -> str:
    """Return JSON that is indented by two, indented by four; newlines in its strings are escaped.

    Args:
        text: The JSON.
        margin: A newline, and the spaces that come before the last line.
    """
    return margin.join([line[: len(line) - len(line.lstrip(" "))] + line for line in text.split("\n")])


def _write(value: Any, margin: str, out: list[str], prove: Callable[[JsonObject], str | None]) -> None:
    inner = margin + "    "
    text = None
    if type(value) is dict and value and type(value.get("items")) is not list:  # of a List, each item by itself
        text = prove(value)
    if text is not None:
        out.append(_indented(text, margin))
    elif type(value) is dict and value:
        opening = "{"
        for key in sorted(value):
            out.append(f"{opening}{inner}{jsontext.encode(key)}: ")
            _write(value[key], inner, out, prove)
            opening = ","
        out.append(f"{margin}}}")
    elif type(value) is list and value:
        opening = "["
        for item in value:
            out.append(f"{opening}{inner}")
            _write(item, inner, out, prove)
            opening = ","
        out.append(f"{margin}]")
    else:
        out.append(jsontext.encode(value))
