"""Commands that print findings hold them bounded: thousands of messages that each list thousands of values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.longtext import LongText
from auditor.validation.bounded_texts import LONGEST, SHORT, BoundedTexts
from tests.command import auditor
from tests.fuzz.hostile.bounded import bounded, dump

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = {"type": "string", "enum": [f"e{number}" for number in range(10_000)]}
VALUES = ["z"] * 8000
"""Their messages have 900 MB together."""


def test_texts_are_whole_until_there_are_too_many() -> None:
    texts = BoundedTexts(3000)
    assert texts.bounded(LongText("a" * 1500, "b" * 500)) == "a" * 1500 + "b" * 500
    assert texts.bounded("c" * 2000) == "c" * 2000
    assert texts.bounded("c" * 2000) == "c" * SHORT + f"… (cut: {SHORT} of 2000 characters)"
    assert texts.bounded("c" * SHORT) == "c" * SHORT
    assert BoundedTexts().bounded("d" * (LONGEST + 1)).startswith("d" * LONGEST + "… (cut: ")


def test_values_are_whole_until_they_are_too_many() -> None:
    texts, value = BoundedTexts(1000), {"a": ["b" * 900]}
    assert texts.value(value) is value
    assert texts.value(value) is value
    assert (
        texts.value(value) == json.dumps(value, separators=(",", ":"))[:SHORT] + f"… (cut: {SHORT} of 910 characters)"
    )
    assert texts.value(None) is None
    assert texts.value([1]) == [1]


@pytest.mark.parametrize("output", ["table", pytest.param("json", marks=pytest.mark.slow)])
def test_validate_bounds_what_it_prints(output: str, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": ITEMS}}}
    with bounded(500):
        ended = auditor("validate", str(dump(tmp_path / "dump.ndjson", schema, {"l": VALUES})), "-o", output)
    assert ended.code == 1
    causes = 1 if output == "table" else 0  # below the table, each once
    assert ended.output.count("Unsupported value: ") == len(VALUES) + causes


@pytest.mark.slow
@pytest.mark.parametrize("target", ["report", "dump.ndjson"])
def test_show_bounds_what_it_prints(target: str, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": ITEMS}}}
    path = dump(tmp_path / "dump.ndjson", schema, {"l": VALUES})
    assert auditor("audit", path, "--report", tmp_path / "report", "--jobs", 1).code == 1
    with bounded(500):
        ended = auditor("show", str(tmp_path / target), "d/a0", "-o", "yaml")
    assert ended.code == 0
    assert ended.output.count("Unsupported value: ") >= len(VALUES)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "json"])
def test_a_check_of_a_definition_bounds_what_it_prints(output: str, tmp_path: Path) -> None:
    field: dict[str, Any] = {"type": "array", "items": ITEMS, "default": VALUES}
    path = dump(tmp_path / "crd.json", {"type": "object", "properties": {"l": field}})
    with bounded(500):
        ended = auditor("crds", "check", str(path), "-o", output)
    assert ended.code == 1
    assert ended.output.count("Unsupported value: ") >= len(VALUES)


def test_query_gives_up_a_column_that_meets_each_value_many_times(tmp_path: Path) -> None:
    value: Any = 1
    for _ in range(150):
        value = {"a": value}
    path = dump(tmp_path / "dump.ndjson", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, value)
    lines = path.read_text().splitlines()
    crd = json.loads(lines[0])
    columns = [{"name": "P", "type": "string", "jsonPath": "..a..a..a..a"}]
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    path.write_text("\n".join([json.dumps(crd), *lines[1:]]) + "\n")
    with bounded(500):
        ended = auditor("query", str(path), "ws", "-A")
    assert ended.code == 3
    assert "d           a0" in ended.output
    assert "error: 1 cell is left out: the path of the column looks at too many values of the object: P" in ended.output
