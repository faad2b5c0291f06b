"""What `auditor show` tells of objects that a report knows by their names."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.base.errors import PlanError
from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from pipelines.run.fleet import run_anywhere
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.objects.show import run_show
from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf
from tests.pipelines.query.test_cli import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

WIDE = loaf("wide", kind="Pan", namespace=None, grams=900)
HEAVY, ODD = loaf("x", namespace="a", grams=900), loaf("x", namespace="b", flour="sand")


def shown(report: Path, key: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[Any], list[str]]:
    """Return (namespace, name) of the rows that a report has of a key, and the fields of the findings of a create."""
    run_show(QueryOptions(str(report)), key, output="json")
    judged = json.loads(capsys.readouterr().out.partition("---\n")[0])["report"]
    fields = [one["field"] for one in judged["findings"] if one["request"] == "create"]
    return [(one.get("namespace"), one["name"]) for one in judged["objects"]], fields


@pytest.mark.parametrize("form", ["etcdctl", "export"])
@pytest.mark.parametrize(
    ("key", "objects", "fields"),
    [
        ("a/x", [("a", "x")], ["spec.grams"]),
        ("x", [("a", "x"), ("b", "x")], ["spec.grams", "spec.flour"]),
        ("wide", [(None, "wide")], ["spec.grams"]),
        ("/wide", [(None, "wide")], ["spec.grams"]),  # as the summary calls it
    ],
)
def test_rows_and_findings_are_of_the_same_objects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, key: str, objects: list[Any], fields: list[str]
) -> None:
    store = Store(definition(), definition("Pan", scope="Cluster"), HEAVY, ODD, WIDE)
    report = tmp_path / "report"
    run_audit(AuditOptions(dumps=(store.write(tmp_path / "dump.json", form),), report=str(report)))
    assert shown(report, key, capsys) == (objects, fields)
    for other in ("c/x", "/x", "a/wide"):
        with pytest.raises(PlanError, match=f"no key {other}"):
            run_show(QueryOptions(str(report)), other, output="json")


def test_of_several_objects_each_finding_says_whose_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for cluster in ("east", "west"):
        (tmp_path / cluster).mkdir()
        Store(definition(), HEAVY, ODD).write(tmp_path / cluster / "dump.json", "etcdctl")
    report = tmp_path / "report"
    run_anywhere(AuditOptions(dumps=(f"{tmp_path}/*/dump.json",), cluster="{1}", report=str(report)))
    found = []
    for key in (Store.key(HEAVY), "x"):
        run_show(QueryOptions(str(report)), key, output="json")
        judged = json.loads(capsys.readouterr().out.partition("---\n")[0])["report"]
        creates = [one for one in judged["findings"] if one["request"] == "create"]
        found.append([(one["cluster"], one.get("namespace"), one["field"]) for one in creates])
    assert found[0] == [("east", None, "spec.grams"), ("west", None, "spec.grams")]
    assert found[1][:2] == [("east", "a", "spec.grams"), ("east", "b", "spec.flour")]


def test_findings_are_shown_once_with_all_that_the_report_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    managed = {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "bakery.example.com/v1",
        "time": "2026-05-01T10:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:grams": {}}},
    }
    heavy = loaf("x", grams=900, metadata={"managedFields": [managed]})
    nights = [Store(definition(), loaf("x", flour="sand")), Store(definition(), heavy)]
    nights[1].put(definition())  # a newer revision
    for night, store in enumerate(nights):
        dump = store.write(tmp_path / f"dump-{night}.json", "etcdctl")
        diff = str(tmp_path / "0") if night else ""
        run_audit(AuditOptions(dumps=(dump,), report=str(tmp_path / str(night)), diff=diff))
    run_show(QueryOptions(str(tmp_path / "1")), Store.key(heavy), output="json")
    sections = [json.loads(part) for part in capsys.readouterr().out.split("---\n")]
    (finding,) = [one for one in sections[0]["report"]["findings"] if one["request"] == "create"]
    assert {name: finding[name] for name in ("verdict", "guard_path", "last_manager", "last_write", "change")} == {
        "verdict": "tolerated-while-unchanged",
        "guard_path": "spec.grams",
        "last_manager": "kubectl",
        "last_write": "2026-05-01T10:00:00Z",
        "change": "new",
    }
    assert [one["field"] for one in sections[0]["report"]["fixed"]] == ["spec.flour"]
    assert ["findings" in one for one in sections[1:]] == [False]
    run_show(QueryOptions(str(tmp_path / "1")), Store.key(heavy), output="yaml")
    assert "last_write: " in capsys.readouterr().out


def test_a_finding_of_several_requests_is_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn = loaf("x", grams=900)
    torn["metadata"]["labels"] = {"not a label": "x"}  # refused by each request
    dump = Store(definition(), torn).write(tmp_path / "dump.json", "etcdctl")
    run_audit(AuditOptions(dumps=(dump,), report=str(tmp_path / "report")))
    run_show(QueryOptions(str(tmp_path / "report")), Store.key(torn), output="json")
    found = json.loads(capsys.readouterr().out.partition("---\n")[0])["report"]["findings"]
    texts = [(one["field"], one["message"]) for one in found]
    assert len(texts) == len(set(texts)) >= 2
    labels = next(one for one in found if one["field"] == "metadata.labels")
    assert labels["requests"][:2] == ["create", "put"]


def test_a_key_that_only_a_list_reads_is_judged_as_the_audit_judges_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, report = Store(definition(), loaf("lonely", namespace=None)), tmp_path / "report"
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    key = next(one for one in store.kvs if one.endswith("/lonely"))
    run_audit(AuditOptions(dumps=(dump,), report=str(report)))
    run_show(QueryOptions(dump), key, output="json")
    of_dump = json.loads(capsys.readouterr().out)
    run_show(QueryOptions(str(report)), key, output="json")
    judged = json.loads(capsys.readouterr().out.partition("---\n")[0])["report"]["objects"][0]
    assert of_dump["status"] == "unreadable"
    assert [of_dump[name] for name in ("status", "reason", "impact", "impacts")] == [
        judged[name] for name in ("status", "reason", "impact", "impacts")
    ]
    assert "findings" not in of_dump


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("/registry/secrets/d/cut", b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"cut"},"data":{"x":"VALUE'),
        ("/registry/secrets/d/plain", b"VALUE not json"),
        ("/registry/secrets/d/proto", b"k8s\0\n\x0c\n\x02v1\x12\x06Secret\x120garbageVALUE\xff\xfe"),
        ("/registry/secrets/d/sealed", b"k8s:enc:aescbc:v1:key1:VALUE"),
        ("/registry/secrets/d/other", b'{"kind":"Secret","apiVersion":"v9","metadata":{"name":"other"},"data":{"x":"VALUE"}}'),
        ("/registry/secrets/d/text", b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"text"},"data":"VALUE"}'),
        ("/registry/moved/secrets/d/a", b'{"kind":"Secret","apiVersion":"v1","data":{"x":"VALUE"'),
        ("/registry/lost", b'{"kind":"Secret","apiVersion":"v1","data":{"x":"VALUE"'),
    ],
)  # fmt: skip
def test_a_secret_that_cannot_be_decoded_is_not_printed(tmp_path: Path, key: str, value: bytes) -> None:
    fields = {name: b64encode(part).decode() for name, part in (("key", key.encode()), ("value", value))}
    pair = {**fields, "create_revision": 2, "mod_revision": 2, "version": 1}
    dump = tmp_path / "get.json"
    dump.write_text(json.dumps({"header": {"revision": 2}, "kvs": [pair], "count": 1}))
    for output in ("yaml", "json"):
        ended = auditor("show", dump, key, "-o", output)
        assert "VALUE" not in ended.output
        assert "***" in ended.stdout or "(redacted)" in ended.stdout
    assert "VALUE" in auditor("show", dump, key, "--show-secrets", "-o", "yaml").stdout


@pytest.mark.parametrize("data", [b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}', b"\0garbage" * 99])
def test_show_of_a_dump_that_was_overwritten_shows_the_rows_of_the_report(tmp_path: Path, data: bytes) -> None:
    copy = tmp_path / "copy.db.gz"
    copy.write_bytes(SAMPLE.read_bytes())
    done = auditor("audit", copy.name, "--report", "r", "--jobs", 1, "--fail-on", "never", cwd=tmp_path)
    assert done.code == 0, done.stderr
    key = next(row["key"] for row in pq.read_table(tmp_path / "r" / "findings").to_pylist())
    copy.write_bytes(data)
    overwritten = auditor("show", "r", key, cwd=tmp_path)
    assert "showing what the index holds of" in overwritten.stderr
    assert auditor("query", "r", "loaves", cwd=tmp_path).code == 2  # an answer about now is not guessed
    copy.unlink()
    absent = auditor("show", "r", key, cwd=tmp_path)
    assert (overwritten.code, overwritten.stdout) == (absent.code, absent.stdout)
    assert key in overwritten.stdout
    assert auditor("show", "r", key, "--dump", SAMPLE, cwd=tmp_path).code == 0
