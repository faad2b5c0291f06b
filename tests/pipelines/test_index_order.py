"""Parts of the index are sorted by namespace and name, which is not the order of keys."""

import base64
import json

import pyarrow.parquet as pq
import pytest

from pipelines.config import AuditOptions
from pipelines.run import run_audit
from tests.documents import definition_of

CRD = definition_of({"type": "object"})
PLACES = [("prod", "b"), ("prod-eu", "a"), ("prod", "a"), ("prod.x", "z"), ("a", "x"), ("prod", "a-b"), ("prod", "a.b")]


def thing(namespace, name):
    return {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"namespace": namespace, "name": name}}


def keyed():
    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    rows = sorted((f"/registry/x.example.com/xs/{ns}/{name}", json.dumps(thing(ns, name))) for ns, name in PLACES)
    return {
        "header": {"revision": 3},
        "kvs": [{"key": encoded(k), "mod_revision": 2, "value": encoded(v)} for k, v in rows],
    }


@pytest.mark.parametrize("form", ["etcdctl", "ndjson"])
def test_parts_are_sorted_by_namespace_and_name(tmp_path, form):
    (tmp_path / "crd.json").write_text(json.dumps(CRD))
    text = json.dumps(keyed()) if form == "etcdctl" else "\n".join(json.dumps(thing(*place)) for place in PLACES)
    (tmp_path / "dump.json").write_text(text)
    options = AuditOptions(
        dumps=(str(tmp_path / "dump.json"),),
        crds=(str(tmp_path / "crd.json"),),
        report=str(tmp_path / "r"),
        fail_on="never",
    )
    assert run_audit(options)[0] == 0
    [part] = (tmp_path / "r" / "index").rglob("*.parquet")
    rows = pq.ParquetFile(part).read().to_pylist()
    assert [(row["namespace"], row["name"]) for row in rows] == sorted(PLACES)
    if form == "etcdctl":
        objects = pq.read_table(tmp_path / "r" / "objects").to_pylist()
        assert [row["key"] for row in objects] == sorted(row["key"] for row in objects)
        where = {(row["namespace"], row["name"]): (row["offset"], row["length"]) for row in objects}
        assert {(row["namespace"], row["name"]): (row["offset"], row["length"]) for row in rows} == where
