"""The order of an export's rows is the same, in whatever way they are sorted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.sources.manifests import export_table as manifest_rows
from auditor.sources.manifests.export_table import ManifestRows
from auditor.sources.manifests.object_header import read_header

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.sampled_from(["", "a", "b", "a-1", "B", "\u00e9", "\uffff", "\U0001f600", "z"])
OBJECTS = st.tuples(st.sampled_from(["v1", "x.io/v1", "x.io/v2", "y.io/v1"]), st.sampled_from(["A", "B"]), NAMES, NAMES)


def written(objects: list[tuple[str, str, str, str] | None], path: Path) -> list[int]:
    rows = ManifestRows(0)
    for at, one in enumerate(objects):
        header = None
        if one is not None:
            api, kind, namespace, name = one
            metadata = {"namespace": namespace, "name": name}
            header = read_header(json.dumps({"apiVersion": api, "kind": kind, "metadata": metadata}).encode())
        rows.add(header, at * 10, 10)
    assert rows.write(path) == len(objects)
    with pa.memory_map(str(path)) as stream:
        found: list[int] = pa.ipc.open_file(stream).read_all()["offset"].to_pylist()
        return found


@given(st.lists(st.one_of(st.none(), OBJECTS), max_size=12))
def test_few_rows_are_in_the_order_of_many(
    tmp_path_factory: pytest.TempPathFactory, objects: list[tuple[str, str, str, str] | None]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "live.arrow"
    few = written(objects, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_rows, "FEW", -1)
        assert written(objects, path) == few


def test_rows_are_by_group_kind_namespace_name_and_what_has_no_header_behind_all(tmp_path: Path) -> None:
    objects = [None, ("v1", "B", "n", "b"), ("v1", "B", "n", "a"), ("v1", "A", "z", "z"), ("v1", "B", "", "c"), None]
    assert written(objects, tmp_path / "live.arrow") == [30, 40, 20, 10, 0, 50]
