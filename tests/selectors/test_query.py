"""The index of a report from Python: tables, streams, and what other tools read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import auditor
from auditor.errors import PlanError, SelectorError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "report"
    command = [sys.executable, "-m", "pipelines", "audit", str(ROOT / "sample-data" / "cluster.db.gz"), "--jobs", "1"]
    command += ["--report", str(folder), "--fail-on", "never"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_select_gives_a_table(report: Path) -> None:
    index = auditor.open_index(report)
    every = index.select("loaves")
    assert isinstance(every, pa.Table)
    rye = index.select("loaves", field_selector="spec.flour=rye")
    assert 0 < rye.num_rows < every.num_rows
    assert set(rye["field:spec.flour"].to_pylist()) == {"rye"}
    assert rye.schema == every.schema
    others = index.select("Loaf.v1.bakery.example.com", field_selector="spec.flour!=rye", namespace="north")
    assert set(others["namespace"].to_pylist()) == {"north"}


def test_all_of_them_are_the_rows_of_the_files(report: Path) -> None:
    index = auditor.open_index(report)
    for place in index.kinds:
        files = ds.dataset([str(path) for path in place.parts], format="parquet").to_table()
        wanted = files.drop_columns(["cluster"])
        assert index.select(f"{place.kind}.{place.version}.{place.group}").to_pylist() == wanted.to_pylist()


def test_selectors_select_what_they_say(report: Path) -> None:
    index = auditor.open_index(report)
    rows = index.select("loaves").to_pylist()
    labels = [dict(row["labels"] or ()) for row in rows]
    key = next(key for one in labels for key in one)
    value = next(one[key] for one in labels if key in one)
    for selector, fits in (
        (f"{key}={value}", lambda one: one.get(key) == value),
        (f"{key}!={value}", lambda one: one.get(key) != value),
        (f"{key} in ({value},x)", lambda one: one.get(key) in (value, "x")),
        (f"{key} notin ({value},x)", lambda one: one.get(key) not in (value, "x")),
        (key, lambda one: key in one),
        (f"!{key}", lambda one: key not in one),
        (f"{key}>5", lambda one: False),
        ("none", lambda one: False),
        ("!none", lambda one: True),
    ):
        found = index.select("loaves", label_selector=selector, columns=["name"])["name"].to_pylist()
        assert found == [row["name"] for row, one in zip(rows, labels, strict=True) if fits(one)], selector
    absent = index.select("loaves", field_selector="spec.flour=").num_rows
    assert absent == sum(not row["field:spec.flour"] for row in rows)


def test_a_stream_holds_the_same_rows(report: Path) -> None:
    index = auditor.open_index(report)
    reader = index.stream("loaves", field_selector="spec.flour!=rye", columns=["name", "labels", "value:spec.grams"])
    assert isinstance(reader, pa.RecordBatchReader)
    wanted = index.select("loaves", field_selector="spec.flour!=rye", columns=["name", "labels", "value:spec.grams"])
    assert reader.read_all().to_pylist() == wanted.to_pylist()


def test_a_predicate_selects_where_the_index_can_tell(report: Path) -> None:
    index = auditor.open_index(report)
    found = index.select("loaves", where='spec.flour == "rye" && metadata.namespace == "south"')
    wanted = index.select("loaves", field_selector="spec.flour=rye", namespace="south")
    assert found.to_pylist() == wanted.to_pylist()
    with pytest.raises(PlanError, match="needs more than the index holds"):
        index.select("loaves", where="spec.tags.size() > 1")


def test_what_is_wrong_is_told(report: Path, tmp_path: Path) -> None:
    index = auditor.open_index(report)
    with pytest.raises(SelectorError, match=r"field label not supported: spec\.shape"):
        index.select("loaves", field_selector="spec.shape=x")
    with pytest.raises(PlanError, match="did you mean loaves"):
        index.select("loafes")
    with pytest.raises(PlanError, match="is no report"):
        auditor.open_index(tmp_path)
