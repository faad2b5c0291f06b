"""Parts of the index are sorted by namespace and name, which is not the order of keys."""

import base64
import json

import pyarrow.parquet as pq
import pytest

import auditor.shards.index
from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.documents import definition_of

CRD = definition_of({"type": "object"})
PLACES = [("prod", "b"), ("prod-eu", "a"), ("prod", "a"), ("prod.x", "z"), ("a", "x"), ("prod", "a-b"), ("prod", "a.b")]


def thing(namespace, name):
    return {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"namespace": namespace, "name": name}}


def dumped(values):
    """Return what etcdctl prints of values by their name below the prefix of the kind."""

    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    rows = sorted((f"/registry/x.example.com/xs/{name}", json.dumps(value)) for name, value in values.items())
    kvs = [{"key": encoded(k), "mod_revision": 2, "value": encoded(v)} for k, v in rows]
    return json.dumps({"header": {"revision": 3}, "kvs": kvs})


def indexed(tmp_path, text):
    """Audit a dump; return the rows of its index."""
    (tmp_path / "crd.json").write_text(json.dumps(CRD))
    (tmp_path / "dump.json").write_text(text)
    options = AuditOptions(
        dumps=(str(tmp_path / "dump.json"),),
        crds=(str(tmp_path / "crd.json"),),
        report=str(tmp_path / "r"),
        fail_on="never",
    )
    assert run_audit(options)[0] == 0
    [part] = (tmp_path / "r" / "index").rglob("*.parquet")
    return pq.ParquetFile(part).read().to_pylist()


@pytest.mark.parametrize("form", ["etcdctl", "ndjson"])
def test_parts_are_sorted_by_namespace_and_name(tmp_path, form):
    objects = {"/".join(place): thing(*place) for place in PLACES}
    text = dumped(objects) if form == "etcdctl" else "\n".join(json.dumps(one) for one in objects.values())
    rows = indexed(tmp_path, text)
    assert [(row["namespace"], row["name"]) for row in rows] == sorted(PLACES)
    if form == "etcdctl":
        objects = pq.read_table(tmp_path / "r" / "objects").to_pylist()
        assert [row["key"] for row in objects] == sorted(row["key"] for row in objects)
        where = {(row["namespace"], row["name"]): (row["offset"], row["length"]) for row in objects}
        assert {(row["namespace"], row["name"]): (row["offset"], row["length"]) for row in rows} == where


@pytest.mark.parametrize(
    ("places", "sorts"),
    [
        ([("a", None), ("a", "b"), (None, "c")], 1),
        ([(None, "c"), ("a", None), ("a", "b"), ("b", "a")], 0),
        ([(None, None), (None, "c"), ("a", "b")], 0),
    ],
)
def test_rows_without_a_name_come_first_and_what_is_in_order_is_not_sorted_again(tmp_path, monkeypatch, places, sorts):
    asked = []

    def by_name(row, own=auditor.shards.index._by_name):
        asked.append(row)
        return own(row)

    monkeypatch.setattr(auditor.shards.index, "_by_name", by_name)
    values = {}
    for at, place in enumerate(places):
        one = thing(*place)
        values[f"n{at}/k"] = {**one, "metadata": {key: text for key, text in one["metadata"].items() if text}}
    rows = indexed(tmp_path, dumped(values))
    found = [(row["namespace"], row["name"]) for row in rows]
    assert found == sorted(places, key=lambda place: (place[0] or "", place[1] or ""))
    assert len(asked) == sorts * len(places)
