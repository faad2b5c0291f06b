"""Rows of a kind, from a dump and from its report."""

from __future__ import annotations

import gzip
import json
from unittest import mock

import pyarrow as pa
import pytest

from auditor.base.errors import PlanError
from auditor.columns import KindColumns
from auditor.plan.options import AuditOptions
from auditor.server import kind_batches as kind_batches_module
from auditor.server.kind_batches import kind_batches, kind_parts
from auditor.server.object_reader import ReadMode
from pipelines.run.fleet import run_anywhere
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.columns.restoring import restored, same
from tests.command import auditor
from tests.shared import ROOT

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The folder of the sample's report, with the sample beside it."""
    folder = tmp_path_factory.mktemp("sample")
    (folder / "cluster.db").write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    assert auditor("audit", "cluster.db", "--report", "report", "--fail-on", "never", cwd=folder).code == 0
    return folder / "report"


def rows_of(target, kind, columns=None, **options):
    """Return the rows of a kind, and the text on standard error."""
    said: list[str] = []
    with open_store(QueryOptions(str(target), **options), said.append) as store:
        schema, batches = kind_batches(store, store.discovery.resolve(kind), columns, rows=7)
        return pa.Table.from_batches(list(batches), schema), "".join(said)


def test_every_object_is_a_row_and_gives_the_object_that_a_query_prints():
    shown = json.loads(auditor("query", SAMPLE, "loaves", "-A", "-o", "json", "--show-managed-fields").stdout)["items"]
    with open_store(QueryOptions(str(SAMPLE)), print) as store:
        part = kind_parts(store, store.discovery.resolve("loaves"))[0]
        rows = [row for some in part.batches_of_rows() for row in part.columns.batch(some).to_pylist()]
        pairs = zip(sorted(rows, key=lambda row: row["key"]), sorted(shown, key=key_of), strict=True)
        assert all(same(restored(part.columns, row), obj) for row, obj in pairs)


def key_of(obj):
    return obj["metadata"]["namespace"] + "/" + obj["metadata"]["name"]


def test_an_unreadable_object_is_a_row_with_its_key():
    table, _ = rows_of(SAMPLE, "orders")
    torn = table.to_pylist()[-1]
    assert torn["key"].endswith("/order-torn")
    assert torn["mod_revision"] > 0
    assert torn["audit_status"] == "unreadable"
    assert table["audit_status"].to_pylist()[:-1] == [None, None, None]
    assert {name for name, value in torn.items() if value is not None} == {"key", "mod_revision", "audit_status"}


def test_rows_of_a_report_have_its_status_impact_and_causes(report):
    table, _ = rows_of(report, "loaves", ["key", "audit_status", "impact", "causes"])
    rows = {row["key"].rpartition("/")[2]: row for row in table.to_pylist()}
    assert rows["no-flour"]["audit_status"] == "invalid"
    assert rows["old-recipe"]["impact"] == "loses-data"
    assert rows["loaf-01"]["causes"] == []
    listed = json.loads(auditor("findings", report, "-o", "json").stdout)
    objects = {cause["cause"]: cause["objects"] for cause in listed["causes"] if cause["kind"] == "Loaf"}
    counted = [cause for row in rows.values() for cause in row["causes"]]
    assert {cause: counted.count(cause) for cause in counted} == objects


def test_rows_of_a_report_hold_what_those_of_its_dump_hold(report):
    for kind in ("loaves", "orders", "configmaps", "customresourcedefinitions"):
        (one, _), (other, _) = rows_of(report, kind), rows_of(SAMPLE, kind)
        told = ["audit_status", "impact", "causes"]
        assert one.drop_columns(told).equals(other.drop_columns(told))


def test_rows_of_records_are_those_of_objects(report, tmp_path):
    """A few rows have no records, as those of a large kind have: types of records take time to make."""
    for name in ("east", "west"):
        (tmp_path / f"{name}.db").write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    fleet = tmp_path / "fleet"
    run_anywhere(AuditOptions((f"{tmp_path}/*.db",), cluster="{1}", report=str(fleet), fail_on="never"))
    made = []
    reader = KindColumns.reader
    for target in (SAMPLE, report, fleet):
        for kind in ("loaves", "orders", "ovens", "configmaps"):
            for columns in (None, ["key", "spec"] if kind != "configmaps" else ["key", "data"]):
                plain = rows_of(target, kind, columns)
                with (
                    mock.patch.object(kind_batches_module, "ENOUGH_FOR_RECORDS", 1),
                    mock.patch.object(KindColumns, "reader", lambda *of: made.append(reader(*of)) or made[-1]),
                ):
                    assert rows_of(target, kind, columns) == plain
                stored = rows_of(target, kind, columns, mode=ReadMode(stored=True))
                with mock.patch.object(kind_batches_module, "ENOUGH_FOR_RECORDS", 1):
                    assert rows_of(target, kind, columns, mode=ReadMode(stored=True)) == stored
    assert sum(one is not None for one in made) >= 12


def test_columns_are_in_the_given_order(report):
    table, _ = rows_of(report, "loaves", ["spec", "key"])
    assert table.schema.names == ["spec", "key"]
    assert table.num_rows == 32


def test_the_values_of_secrets_are_redacted(tmp_path):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}, "data": {"k": "dg=="}}
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret]}))
    assert rows_of(tmp_path / "all.json", "secrets")[0]["data"].to_pylist() == [[("k", "(redacted)")]]


def test_an_index_has_no_rows(report, tmp_path):
    alone = tmp_path / "report"
    alone.symlink_to(report)
    with (
        open_store(QueryOptions(str(alone)), lambda _: None) as store,
        pytest.raises(PlanError, match="an index has no whole objects"),
    ):
        kind_batches(store, store.discovery.resolve("loaves"))
