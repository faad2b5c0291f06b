"""Objects as ``-o json`` prints them: Go's JSON, indented by four.

Source: cli-runtime pkg/printers/json.go, encoding/json.
"""

from __future__ import annotations

from typing import Any

from auditor.golang import jsontext


def to_json(value: Any) -> str:
    """Return a value as indented JSON, keys sorted, with the final newline."""
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
