"""Objects as ``-o json`` prints them: Go's JSON, indented by four.

Source: cli-runtime pkg/printers/json.go, encoding/json.
"""

from __future__ import annotations

from typing import Any

import orjson

from auditor.golang import jsontext


def to_json(value: Any) -> str:
    """Return a value as indented JSON, keys sorted, with the final newline."""
    if (type(value) is dict or type(value) is list) and (text := jsontext.proven_text(value, orjson.OPT_INDENT_2)):
        return _indented_by_four(text)
    return to_json_exactly(value)


def _indented_by_four(text: str) -> str:
    """Return JSON that is indented by two, indented by four; tabs and newlines in its strings are escaped."""
    level = 1
    while "\n" + "  " * level in text:
        level += 1
    for each in range(level - 1, 0, -1):
        text = text.replace("\n" + "  " * each, "\n" + "\t" * each)
    return text.replace("\t", "    ") + "\n"


def to_json_exactly(value: Any) -> str:
    """Return the result of `to_json` without orjson; slow, for values that orjson writes in another way."""
    out: list[str] = []
    _write(value, "\n", out)
    out.append("\n")
    return "".join(out)


def _write(value: Any, margin: str, out: list[str]) -> None:
    inner = margin + "    "
    if type(value) is dict and value:
        opening = "{"
        for key in sorted(value):
            out.append(f"{opening}{inner}{jsontext.encode(key)}: ")
            _write(value[key], inner, out)
            opening = ","
        out.append(f"{margin}}}")
    elif type(value) is list and value:
        opening = "["
        for item in value:
            out.append(f"{opening}{inner}")
            _write(item, inner, out)
            opening = ","
        out.append(f"{margin}]")
    else:
        out.append(jsontext.encode(value))
