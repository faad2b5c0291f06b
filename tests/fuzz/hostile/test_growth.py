"""An audit of an object eight times as large takes at most about eight times as many steps; the square would be 64."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.counting import steps_of
from tests.fuzz.hostile.bounded import bounded, dump

if TYPE_CHECKING:
    from pathlib import Path

Made = Callable[[int], Any]


def _list_of(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"l": {"type": "array", **schema}}}


ENUM = {"type": "string", "enum": [f"e{number}" for number in range(2000)]}
NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}}}

CASES: dict[str, tuple[dict[str, Any], Made, int]] = {
    "unknown fields": (
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        lambda count: {f"k{number}": 1 for number in range(count)},
        2_000,
    ),
    "a map of invalid values": (
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}},
        lambda count: {f"k{number}": "xx" for number in range(count)},
        800,
    ),
    "values of a long enum": (_list_of(items=ENUM), lambda count: {"l": ["z"] * count}, 400),
    "unique items": (
        _list_of(items=NUMBERS, uniqueItems=True),
        lambda count: {"l": [{"a": number} for number in range(count)]},
        600,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_cost_of_an_object_grows_linearly_with_its_size(case: str, tmp_path: Path) -> None:
    schema, made, count = CASES[case]

    def audit(times: int) -> None:
        path = dump(tmp_path / f"{times}.ndjson", schema, made(count * times))
        words = ("audit", path, "--report", tmp_path / f"report{times}", "--fail-on", "never", "--jobs", 1)
        with bounded(1000):
            ended = auditor(*words)
        assert ended.code == 0, ended.output

    audit(2)  # modules are loaded
    counts = [steps_of(lambda times=times: audit(times)) for times in (1, 8)]
    assert counts[1] <= 10 * counts[0], counts
