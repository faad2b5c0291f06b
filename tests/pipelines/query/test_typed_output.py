"""`query -o parquet` and `-o csv` have the fields of the objects of one kind."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

COMMON = ["apiVersion", "kind", "namespace", "name", "uid", "created", "resourceVersion", "labels"]


@pytest.fixture
def dump(tmp_path: Path) -> str:
    fields = {"managedFields": [{"manager": "m", "operation": "Update"}], "annotations": {"a/b": "c"}}
    store = Store(definition(), loaf("a", shape="long"), loaf("b", metadata=fields, grams="heavy"))
    store.put(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "north"}},
        "/registry/configmaps/north/c",
    )
    return store.write(tmp_path / "dump.json", "etcdctl")


def test_parquet_has_typed_fields(dump: str, tmp_path: Path) -> None:
    assert auditor("query", dump, "loafs", "-o", f"parquet={tmp_path}/x.parquet").code == 0
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.schema.names == [*COMMON, "field:spec.flour", "metadata", "spec", "_rest"]
    assert table.schema.field("spec").type.field("grams").type == pa.int64()
    assert table["spec"].to_pylist() == [
        {"flour": "rye", "grams": 5, "shape": "long"},
        {"flour": "rye", "grams": None, "shape": "round"},
    ]
    assert table["_rest"].to_pylist() == [None, '{"spec.grams":"heavy"}']


def test_csv_has_a_column_for_each_leaf(dump: str) -> None:
    done = auditor("query", dump, "loafs", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    leaves = ["spec.flour", "metadata.annotations", "metadata.generation", "spec.grams", "spec.shape"]
    assert list(rows[0]) == [*COMMON, *leaves]
    assert [row["spec.grams"] for row in rows] == ["5", "heavy"]
    assert [row["metadata.annotations"] for row in rows] == ["", '{"a/b":"c"}']


def test_several_kinds_have_what_all_have(dump: str, tmp_path: Path) -> None:
    assert auditor("query", dump, "loafs,configmaps", "-o", f"parquet={tmp_path}/x.parquet").code == 0
    assert pq.read_schema(tmp_path / "x.parquet").names == [*COMMON, "field:spec.flour"]
    assert auditor("query", dump, "loafs,configmaps", "-o", "csv").stdout.splitlines()[0] == ",".join(
        [*COMMON, "spec.flour"]
    )


def test_an_index_alone_has_what_it_had(dump: str, tmp_path: Path) -> None:
    assert auditor("audit", dump, "--report", tmp_path / "report", "--fail-on", "never").code == 0
    (tmp_path / "dump.json").unlink()
    done = auditor("query", tmp_path / "report", "loafs", "-o", "csv")
    assert done.stdout.splitlines()[0] == ",".join([*COMMON, "spec.flour"])
