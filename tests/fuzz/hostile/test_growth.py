"""An object twice as large costs about twice as much: 2.3 times on a quiet machine, and the square would be 4 times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.fuzz.hostile.bounded import dump, run_auditor

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
        25_000,
    ),
    "a map of invalid values": (
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}},
        lambda count: {f"k{number}": "xx" for number in range(count)},
        8_000,
    ),
    "values of a long enum": (_list_of(items=ENUM), lambda count: {"l": ["z"] * count}, 4_000),
    "unique items": (
        _list_of(items=NUMBERS, uniqueItems=True),
        lambda count: {"l": [{"a": number} for number in range(count)]},
        6_000,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_cost_of_an_object_grows_linearly_with_its_size(case: str, tmp_path: Path) -> None:
    schema, made, count = CASES[case]
    seconds = []
    for times in (1, 2):
        path = dump(tmp_path / f"{times}.ndjson", schema, made(count * times))
        cost = run_auditor("audit", str(path), "--report", str(tmp_path / f"report{times}"), "--fail-on", "never")
        assert cost.code == 0, cost.out
        assert cost.megabytes < 1000
        seconds.append(cost.seconds)
    assert seconds[1] <= 2.8 * seconds[0], seconds
