"""Create verdicts of exported objects, key by key, beside what the real server answered at the exported version.

An export holds objects as a server showed them. The harness that asked the server for its verdicts sent what it read as
a create, under the name NAME-dr, without what a server sets; the same is done here to the exported objects, and the
whole audit is run over them. Keys whose verdict is another are listed in upgrade-exports.json with the reason; the test
fails where one of them starts to agree, or a new one appears.
"""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.golden.test_upgrade_verdicts import causes, check_is_ours, prepared
from tests.shared import shared, shared_lines

FOLDER = "golden/upgrade"
KNOWN = Path(__file__).parent / "upgrade-exports.json"
UNKNOWN = ("key", "create_revision", "mod_revision", "key_version", "stored_version", "is_storage_version")


def rows_of(folder, table):
    return [row for part in sorted((folder / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


@pytest.fixture(scope="module")
def definitions():
    with gzip.open(shared(f"{FOLDER}/crds/server-rev2.json.gz")) as stream:
        return json.load(stream)


@pytest.fixture(scope="module")
def answers(definitions):
    """What the server said to each object, by what a GET of it shows: (row, spec of the definition)."""
    by_name = {one["metadata"]["name"]: one for one in definitions["items"]}
    found = defaultdict(list)
    for row in shared_lines(f"{FOLDER}/expected.ndjson.gz"):
        for answer in row.get("get", {}).values():
            if answer["code"] == 200:
                found[identity(answer["body"])].append((row, by_name[row["crd"]]["spec"]))
    return found


def identity(obj):
    metadata = obj["metadata"]
    return (obj["apiVersion"], obj["kind"], *map(metadata.get, ("namespace", "name", "resourceVersion")))


def exported():
    with gzip.open(shared(f"{FOLDER}/kubectl-get-all.json.gz")) as stream:
        return json.load(stream)["items"]


def has_status(spec, version):
    return any(one["name"] == version and "status" in one.get("subresources", {}) for one in spec["versions"])


@pytest.fixture(scope="module")
def report(tmp_path_factory, definitions, answers):
    """Return the report over the exported objects as the harness sent them, and the answers by what names them there."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "crds.json").write_text(json.dumps(definitions))
    items, sent = [], {}
    for obj in exported():
        [(row, spec)] = answers[identity(obj)]
        version = obj["apiVersion"].rpartition("/")[2]
        items.append(prepared(obj, row, has_status=has_status(spec, version)))
        metadata = items[-1]["metadata"]
        sent[spec["group"], obj["kind"], metadata.get("namespace"), metadata["name"]] = row
    assert len(sent) == len(items)
    (folder / "export.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    options = {"crds": (str(folder / "crds.json"),), "fail_on": "never"}
    code, manifest = run_audit(
        AuditOptions(dumps=(str(folder / "export.json"),), report=str(folder / "report"), **options)
    )
    assert code == 0
    return manifest, folder / "report", sent


def test_create_verdicts_at_the_exported_version_equal_the_servers(report):
    manifest, folder, sent = report
    unevaluated = {(entry["crd"], entry["version"]) for entry in manifest["not_evaluated"]}
    found = defaultdict(Counter)
    for row in rows_of(folder, "findings"):
        if row["request"] != "create":
            continue
        message = row["message"].removeprefix(f"{row['field']}: ")
        found[row["group"], row["kind"], row["namespace"], row["name"]][row["field"], row["type"], message] += 1
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    different, compared, keys = {}, 0, set()
    for row in rows_of(folder, "objects"):
        assert [row[column] for column in UNKNOWN] == [None] * len(UNKNOWN)
        answer = sent[row["group"], row["kind"], row["namespace"], row["name"]]
        version = row["audited_version"]
        ours = found[row["group"], row["kind"], row["namespace"], row["name"]]
        said = answer["create"][version]
        theirs = causes(said)
        assert row["status"] == ("invalid" if ours else "valid")
        if (answer["crd"], version) in unevaluated and any(not check_is_ours(cause) for cause in theirs - ours):
            continue
        compared += 1
        keys.add(f"{answer['key']} {version}")
        if ours != theirs or said["code"] not in {201, 422}:  # 400: the request was refused, nothing was judged
            different[f"{answer['key']} {version}"] = {
                "ours": sorted((ours - theirs).elements()),
                "server": sorted((theirs - ours).elements()),
            }
    assert compared > 400
    assert {key: value for key, value in different.items() if key not in known} == {}
    assert sorted(keys & set(known) - set(different)) == [], "these agree now: take them out of the file"
    assert all(entry["reason"] for entry in known.values())


def test_exports_are_judged_at_the_version_they_are_in(report):
    versions = {(row["kind"], row["audited_version"]) for row in rows_of(report[1], "objects")}
    assert {(obj["kind"], obj["apiVersion"].rpartition("/")[2]) for obj in exported()} == versions
    assert any(version == "v2" for _, version in versions), "stored at v1, exported at v2"
