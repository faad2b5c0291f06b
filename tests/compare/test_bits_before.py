"""An object of the earlier report is looked up by one name after another, only where the one before found nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.base import tables
from auditor.base.arrow import in_one_piece
from auditor.compare.worse import Objects, _bits_before
from auditor.shards.table_rows import with_same
from pipelines.run.diff_side import ReportSide

TEXT = st.sampled_from([None, "a", "b", "c"])
ROW = st.fixed_dictionaries(
    dict.fromkeys(("cluster", "key", "group", "kind", "namespace", "name", "plural"), TEXT)
    | {"status": st.sampled_from(["valid", "invalid", "unreadable", "sealed"]), "value_hash": st.just("h")}
)


def side(rows: list[dict[str, Any]]) -> ReportSide:
    """Return a report of these objects."""
    found = ReportSide.__new__(ReportSide)
    found.by_cluster = True
    kinds = [(name, pa.string()) for name in ("cluster", "key", "group", "kind", "namespace", "name", "plural")]
    schema = pa.schema(
        [*kinds, ("status", pa.string()), ("value_hash", pa.string()), ("impacts", pa.list_(pa.string()))]
    )
    found.objects = pa.Table.from_pylist([{**row, "impacts": []} for row in rows], schema)
    return found


def plainly(old: Objects, new: Objects) -> list[int]:
    """Look each object up by each name in turn, in all of the earlier report."""
    out = []
    before, now = ([in_one_piece(name(of.rows)).to_pylist() for name in of.names] for of in (old, new))
    for row in range(len(new.bits)):
        found = (
            int(old.bits[each.index(called[row])])
            for each, called in zip(before, now, strict=True)
            if called[row] is not None and called[row] in each
        )
        out.append(next(found, -1))
    return out


@given(st.lists(ROW, max_size=8), st.lists(ROW, max_size=8))
@settings(deadline=None, max_examples=150)
def test_each_object_is_found_as_by_all_names_at_once(was: list[dict[str, Any]], now: list[dict[str, Any]]) -> None:
    old, new = (side(rows).objects_compared() for rows in (was, now))
    assert _bits_before(old, new).tolist() == plainly(old, new)


def test_equal_reports_are_looked_up_by_the_first_name_alone() -> None:
    rows = [{"cluster": "a", "key": f"k{number}", "name": f"n{number}", "status": "valid"} for number in range(5)]
    old, new = (side(rows).objects_compared() for _ in range(2))
    for objects in (old, new):
        objects.names = [objects.names[0], *[None] * 2]  # type: ignore[list-item]
    assert _bits_before(old, new).tolist() == [0] * 5


def test_rows_are_marked_as_the_same() -> None:
    schema = tables.with_metadata(tables.OBJECTS, tool="1", release="v1.37.0", crds="x")
    marked = with_same(schema.empty_table())
    assert marked.schema.metadata == schema.metadata
    assert marked.schema == tables.COMPARED_OBJECTS
    assert pc.unique(with_same(pa.table({"a": np.arange(3)}))["change"]).to_pylist() == ["same"]
