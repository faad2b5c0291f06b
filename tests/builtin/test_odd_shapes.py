"""No built-in object, however unusual, makes the code for tables or selectors fail: dumps have arbitrary content."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.builtin import builtin_columns, loose_values, other_columns, selectable
from auditor.builtin.builtin_columns import builtin_cells, builtin_headers
from auditor.builtin.selectable import builtin_selectable

KINDS = sorted({*builtin_columns._PRINTERS, *selectable._RULES, ("", "Unknown")})
HEADERS = {(group, kind): len(builtin_headers(group, kind)) for group, kind in KINDS}
SOURCES = "".join(
    Path(module.__file__ or "").read_text() for module in (builtin_columns, other_columns, selectable, loose_values)
)
PATHS = sorted({path for path in re.findall(r'"([a-zA-Z][\w.]*)"', SOURCES) if path not in ("True", "False")})
WORDS = sorted({word for path in PATHS for word in path.split(".")})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
    | st.sampled_from([*WORDS, "", "True", "2026-01-05T08:00:00Z", "5Gi", "é", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


def placed(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object that has values under some dotted paths, as far as they leave each other alone."""
    made: dict[str, Any] = {}
    for path, value in entries:
        *steps, last = path.split(".")
        place: Any = made
        for step in steps:
            place = place.setdefault(step, {})
            if type(place) is not dict:
                break
        else:
            place[last] = value
    return made


def check(obj: dict[str, Any], *, listed: bool = False) -> None:
    for group, kind in KINDS:
        (cells,) = builtin_cells(group, kind, [obj], 0.0, listed=listed)
        assert len(cells) == HEADERS[group, kind]
        assert all(type(cell) in (str, int, float, bool) for cell in cells)
        assert all(type(value) is str for value in builtin_selectable(group, kind, obj).values())


ODD = [None, "x", "", 5, True, [], [None], ["x"], [5], [["x"]], [{}], [{"type": None}], {}, {"a": None}, {"a": ["x"]}]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("value", ODD, ids=str)
def test_whatever_is_in_one_place_an_object_has_cells_and_fields(value: Any) -> None:
    for path in PATHS:
        check(placed([(path, value)]))


@given(entries=st.lists(st.tuples(st.sampled_from(PATHS), VALUES), max_size=25), listed=st.booleans())
def test_whatever_an_object_holds_it_has_cells_and_fields(entries: list[tuple[str, Any]], listed: bool) -> None:
    check(placed(entries), listed=listed)
