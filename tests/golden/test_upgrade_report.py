"""The whole road over the golden snapshot: every key is accounted for, every export tells the same."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.shared import shared, shared_lines

FOLDER = "golden/upgrade"


def audit(tmp_path_factory, name, **options):
    source = shared(f"{FOLDER}/{name}")
    folder = tmp_path_factory.mktemp("golden") / "report"
    code, manifest = run_audit(AuditOptions(dumps=(str(source),), report=str(folder), fail_on="never", **options))
    return code, manifest, folder


def table(folder: Path, name: str):
    return [row for part in sorted((folder / name).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    return audit(tmp_path_factory, "snapshot.db.gz")


@pytest.fixture(scope="module")
def keys():
    return {row["key"]: row for row in shared_lines(f"{FOLDER}/keys.ndjson.gz")}


def test_each_live_key_is_accounted_for(snapshot, keys):
    code, manifest, folder = snapshot
    rows = table(folder, "objects")
    assert code == 0
    assert len(rows) == manifest["counts"]["keys"] == sum(manifest["counts"]["statuses"].values())
    assert [row["key"] for row in rows if not row["key"].startswith("/registry/")] == ["compact_rev_key"]
    rows = [row for row in rows if row["key"].startswith("/registry/")]
    assert {row["key"] for row in rows} == set(keys)
    assert len(rows) == len(keys) > 600
    for row in rows:
        truth = keys[row["key"]]
        assert (row["create_revision"], row["mod_revision"], row["key_version"], row["size"], row["value_hash"]) == (
            truth["createRevision"], truth["modRevision"], truth["version"], truth["size"], truth["sha256"],
        )  # fmt: skip


def test_custom_resources_are_distinguished_from_the_rest(snapshot, keys):
    judged = {"valid", "invalid", "unreadable", "sealed", "needs-conversion", "unserved"}
    for row in table(snapshot[2], "objects"):
        truth = keys.get(row["key"], {"customResource": False})
        if row["status"] == "other" and truth["customResource"]:
            assert row["reason"].startswith("the key does not fit the scope"), row["key"]
        else:
            assert (row["status"] in judged) == truth["customResource"], row["key"]


def test_readable_or_not_as_the_server_said(snapshot):
    expected = {row["key"]: row for row in shared_lines(f"{FOLDER}/expected.ndjson.gz")}
    wrong = []
    for row in table(snapshot[2], "objects"):
        answers = expected.get(row["key"])
        if answers is None or row["audited_version"] not in answers.get("get", {}):
            continue
        get = answers["get"][row["audited_version"]]
        is_judged = row["status"] in {"valid", "invalid"} or (row["impact"], row["reason"]) == ("needs-webhook", None)
        if (get["code"] == 200) != is_judged:
            message = get["body"].get("message", "")
            wrong.append((row["key"], row["status"], row["reason"], get["code"], message))
    # the codec reads an array `items`, and the HTTP layer cannot write what has one
    assert [entry for entry in wrong if "is not a list: no Items field" not in entry[4]] == []


@pytest.mark.parametrize("name", ["snapshot-compacted.db.gz", "etcdctl-get.json.gz"])
def test_other_forms_of_the_same_state_give_the_same_tables(snapshot, tmp_path_factory, name):
    _, _, folder = audit(tmp_path_factory, name)
    away = {"source", "offset", "length"}

    def comparable(path):
        return [
            {k: v for k, v in row.items() if k not in away}
            for row in table(path, "objects")
            if row["key"] != "compact_rev_key"
        ]

    assert comparable(folder) == comparable(snapshot[2])
    assert [{k: v for k, v in row.items() if k not in away} for row in table(folder, "findings")] == [
        {k: v for k, v in row.items() if k not in away} for row in table(snapshot[2], "findings")
    ]


@pytest.mark.parametrize("name", ["kubectl-get-all.json.gz", "kubectl-get-all.yaml.gz"])
def test_exports_leave_unknown_what_they_cannot_know(tmp_path_factory, name):
    with gzip.open(shared(f"{FOLDER}/crds/server-rev2.json.gz")) as stream:
        definitions = json.load(stream)
    folder = tmp_path_factory.mktemp("crds")
    (folder / "crds.json").write_text(json.dumps(definitions))
    _, manifest, report = audit(tmp_path_factory, name, crds=(str(folder),))
    rows = table(report, "objects")
    assert len(rows) == manifest["counts"]["keys"] > 400
    assert {row["status"] for row in rows} <= {
        "valid",
        "invalid",
        "builtin",
        "definition",
        "unreadable",
        "needs-conversion",
    }
    for row in rows:
        unknown = ("key", "create_revision", "mod_revision", "key_version", "stored_version", "is_storage_version")
        assert [row[column] for column in unknown] == [None] * len(unknown)


def test_both_exports_judge_alike(tmp_path_factory):
    with gzip.open(shared(f"{FOLDER}/crds/server-rev2.json.gz")) as stream:
        definitions = json.load(stream)
    folder = tmp_path_factory.mktemp("crds")
    (folder / "crds.json").write_text(json.dumps(definitions))
    verdicts = []
    for name in ("kubectl-get-all.json.gz", "kubectl-get-all.yaml.gz"):
        _, _, report = audit(tmp_path_factory, name, crds=(str(folder),))
        verdicts.append(
            Counter((r["group"], r["kind"], r["namespace"], r["name"], r["status"]) for r in table(report, "objects"))
        )
    assert verdicts[0] == verdicts[1]
