"""Rows in every form."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
import yaml

from auditor.printing.print_rows import DATA, FORMS, format_table, print_rows

ROWS = [
    {"name": "a", "isOpen": True, "owners": ["x", "y"], "note": None},
    {"name": "=1+1", "isOpen": False, "owners": [{"team": "z"}], "note": "a|<b>\x1b\n"},
]
COLUMNS = {"name": "name", "open": "isOpen", "owners": "owners", "note": "note", "size": lambda row: len(row["owners"])}


def text(form: str, rows: list[dict[str, object]] = ROWS, **more: object) -> str:
    return "".join(print_rows(rows, COLUMNS, form, **more))


def test_data_has_all_of_a_row() -> None:
    assert json.loads(text("json")) == ROWS
    assert [json.loads(line) for line in text("ndjson").splitlines()] == ROWS
    assert [row["owners"] for row in yaml.safe_load(text("yaml"))] == [["x", "y"], [{"team": "z"}]]
    assert "\x1b" not in text("yaml")


def test_tables_have_columns() -> None:
    assert text("table", wide=("note", "size")).splitlines() == [
        "NAME     OPEN    OWNERS",
        "a        true    x, y",
        '"=1+1"   false   [{"team":"z"}]',
    ]
    assert [line.split()[-2:] for line in text("wide").splitlines()] == [
        ["NOTE", "SIZE"],
        ["-", "2"],
        [r"a|<b>\u001b\n", "1"],
    ]


def test_cells_control_no_reader() -> None:
    head, first, second = csv.reader(io.StringIO(text("csv")))
    assert head == list(COLUMNS)
    assert first == ["a", "true", "x, y", "", "2"]
    assert second == ["'=1+1", "false", '[{"team":"z"}]', r"a|<b>\u001b\n", "1"]
    assert text("markdown").splitlines()[0] == "| name | open | owners | note | size |"
    assert text("markdown").splitlines()[3].endswith(r"| a\|&lt;b&gt;\\u001b\\n | 1 |")


@pytest.mark.parametrize("form", FORMS)
def test_no_rows_are_no_rows(form: str) -> None:
    lines = text(form, []).splitlines()
    expected = {
        "json": ["[]"],
        "yaml": ["[]"],
        "csv": [",".join(COLUMNS)],
        "markdown": text("markdown").splitlines()[:2],
    }
    assert lines == expected.get(form, [])


@pytest.mark.parametrize("form", sorted(DATA))
def test_what_orjson_refuses_is_data(form: str) -> None:
    rows = [{"large": 1 << 70, "half": "\ud800"}]
    printed = text(form, rows)
    assert "1180591620717411303424" in printed
    if form != "yaml":
        assert json.loads(printed) in (rows, rows[0])


def test_a_document_may_stand_for_the_rows() -> None:
    assert json.loads(text("json", document=lambda: {"rows": 2})) == {"rows": 2}
    assert text("yaml", document=lambda: {"rows": 2}) == "rows: 2\n"
    assert len(text("ndjson", document=lambda: {"rows": 2}).splitlines()) == 2


def test_columns_are_three_apart() -> None:
    rows = [("a", 1, ""), ("bb", None, "\x1b")]
    assert format_table(("", "N", "LAST"), rows, indent="  ").split("\n") == [
        "       N   LAST", "  a    1", "  bb   -   \\u001b"
    ]  # fmt: skip


def test_chosen_cells_of_a_table_are_shortened_to_a_width_as_far_as_they_can_be_read() -> None:
    rows = [{"name": "a", "field": "spec.template.spec.containers[name=web].image", "text": "words " * 20}]
    columns = ("name", "field", "text")

    def lines(form: str, width: int) -> list[str]:
        return "".join(print_rows(rows, columns, form, cut=("field", "text"), width=width)).splitlines()

    narrow = lines("table", 80)
    assert max(map(len, narrow)) <= 80
    assert "spec.template.sp...[name=web].image" in narrow[1]  # a path keeps its end
    assert narrow[1].endswith("...")
    least = re.split(" {3,}", lines("table", 20)[1])
    assert [len(cell) for cell in least] == [1, 20, 20]
    assert lines("wide", 80) == lines("table", 0)
    assert max(map(len, lines("table", 0))) > 150
