"""Objects as ``-o json`` prints them: Go's JSON, indented by four.

Source: cli-runtime pkg/printers/json.go, encoding/json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from auditor.golang import jsontext

if TYPE_CHECKING:
    from collections.abc import Callable


def to_json(value: Any) -> str:
    """Return a value as indented JSON, keys sorted, with the final newline."""
    out: list[str] = []
    _write(value, "\n", out, jsontext.proven_text)
    out.append("\n")
    return "".join(out)


def to_json_exactly(value: Any) -> str:
    """Return the result of `to_json` without orjson; slow, for tests."""
    out: list[str] = []
    _write(value, "\n", out, lambda *_: None)
    out.append("\n")
    return "".join(out)


def _indented(text: str, margin: str) -> str:
    """Return JSON that is indented by two, indented by four; newlines in its strings are escaped.

    Args:
        text: The JSON.
        margin: A newline, and the spaces that come before the last line.
    """
    return margin.join([line[: len(line) - len(line.lstrip(" "))] + line for line in text.split("\n")])


def _write(value: Any, margin: str, out: list[str], prove: Callable[[Any, int], str | None]) -> None:
    inner = margin + "    "
    text = None
    if type(value) is dict and value and type(value.get("items")) is not list:  # of a List, each item by itself
        text = prove(value, orjson.OPT_INDENT_2)
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
