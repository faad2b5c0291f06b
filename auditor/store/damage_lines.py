"""Lines on damaged dumps, as commands print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.sources.source_plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable


def damage_lines(source: dict[str, Any]) -> list[str]:
    """Return a line for each part of an input of a manifest that could not be read."""
    return [Damage(**damage).line(source["name"]) for damage in source["damage"]]


def lines_of_damage(inputs: Iterable[dict[str, Any]]) -> list[str]:
    """Return the lines of several inputs, each once: an input may be that of several clusters."""
    return list(dict.fromkeys(line for source in inputs for line in damage_lines(source)))
