"""Compares two objects as YAML, line by line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from auditor.printing.jsonprint import to_json
from auditor.printing.yamltext import YamlTextError, to_yaml

if TYPE_CHECKING:
    from auditor.base.records import JsonObject

__all__ = ["yaml_diff"]


def yaml_diff(old: JsonObject | None, new: JsonObject | None, names: tuple[str, str], *, for_terminal: bool) -> str:
    """Return a unified diff of two objects; empty if their text is the same.

    Args:
        old, new: The objects, or None.
        names: Names of the two sides.
        for_terminal: The output goes to a terminal.
    """
    sides = [_lines(one, for_terminal=for_terminal) for one in (old, new)]
    lines = difflib.unified_diff(sides[0], sides[1], *names, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _lines(obj: JsonObject | None, *, for_terminal: bool) -> list[str]:
    if obj is None:
        return []
    try:
        return to_yaml(obj, for_terminal=for_terminal).rstrip("\n").split("\n")
    except YamlTextError:  # control characters, which the YAML writer refuses
        return to_json(obj).rstrip("\n").split("\n")
