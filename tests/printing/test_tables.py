"""Tables and ages where kubectl has ways of its own; each text is what its printers wrote."""

from typing import Any

import pytest

from auditor.printing.customcolumns import parse_custom_columns
from auditor.printing.jsonpath import Visits
from auditor.printing.printer_columns import cell_text, custom_resource_columns, custom_resource_row
from auditor.printing.tables import ColumnHeader, Row, TableText

NOW = 1_795_000_000.0


def cell(kind: str, value: Any) -> str:
    columns = custom_resource_columns([{"name": "V", "type": kind, "jsonPath": ".v"}])
    return cell_text(custom_resource_row(columns, {"v": value}, NOW)[0])


@pytest.mark.parametrize(
    ("time", "age"),
    [
        ("1736-01-01T00:00:00Z", "291y"),
        ("1700-01-01T00:00:00Z", "292y"),
        ("0000-01-01T00:00:00Z", "292y"),
        ("0001-01-01T00:00:01Z", "292y"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
        ("9999-12-31T23:59:59Z", "<invalid>"),
    ],
)
def test_an_age_is_no_longer_than_a_duration_of_go(time: str, age: str) -> None:
    assert cell("date", time) == age


@pytest.mark.parametrize(("kind", "text"), [("number", "0"), ("integer", "0"), ("string", "-0")])
def test_minus_zero_loses_its_sign_as_a_number(kind: str, text: str) -> None:
    assert cell(kind, -0.0) == text


def test_labels_are_in_the_order_of_their_pairs() -> None:
    rows = [Row(("x",), "", {"a": "", "a.b": "1", "a/b": "v", "A": "1", "a-b": ""})]
    text = TableText(show_labels=True).render([ColumnHeader("Name", is_name=True)], rows)
    assert text == "NAME   LABELS\nx      A=1,a-b=,a.b=1,a/b=v,a=\n"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            ["longer value", "x\ny", "z"],
            "V              V\nlonger value   longer value\nx\ny              x\ny\nz              z\n",
        ),
        (["x\fy", "longer value"], "V     V\nx\ny     x\ny\nlonger value   longer value\n"),
    ],
)
def test_a_column_is_not_narrower_than_above_a_broken_line(values: list[str], text: str) -> None:
    objects = [{"v": value} for value in values]
    assert parse_custom_columns("V:.v,V:.v").render(objects, headers=True) == (text, None)


def _nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return {"v": value}


class CountedVisits(Visits):
    seen = 0

    def add(self, count: int) -> None:
        self.seen += count
        super().add(count)


@pytest.mark.parametrize("path", ["..a..a..a..a", "..a..a..a..a.a", "..a..a.*..a"])
def test_a_path_that_meets_each_value_many_times_is_given_up(path: str) -> None:
    columns = custom_resource_columns(
        [
            {"name": "A", "type": "string", "jsonPath": path},
            {"name": "B", "type": "string", "jsonPath": ".v"},
            {"name": "C", "type": "string", "jsonPath": "..a"},
        ]
    )
    visits, given_up = CountedVisits(50_000), list[str]()
    for _ in range(20):
        row = custom_resource_row(columns, _nested(150), NOW, visits, given_up)
        assert row[0] is None
        assert str(row[1]).startswith('{"a":{"a":')
        assert str(row[2]).startswith('{"a":{"a":')
    assert set(given_up) == {"A"}
    assert len(given_up) == 20
    assert visits.seen < 60_000 + 20 * 3 * Visits.LEAST
    assert custom_resource_row(columns, _nested(3), NOW, Visits(), given_up)[1] == '{"a":{"a":{"a":1}}}'
    assert len(given_up) == 20


def test_one_list_met_many_times_is_not_held_many_times() -> None:
    columns = custom_resource_columns([{"name": "A", "type": "string", "jsonPath": "..a..a..b[*]"}])
    obj = _nested(60)
    value: Any = obj["v"]
    while type(value["a"]) is dict:
        value = value["a"]
    value["a"] = {"b": list(range(50_000))}
    given_up: list[str] = []
    assert custom_resource_row(columns, obj, NOW, None, given_up) == [None]
    assert given_up == ["A"]
