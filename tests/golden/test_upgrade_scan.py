"""An upgrade scan of the golden snapshot from the first revision of its definitions to the second.

The second is what the snapshot was taken under: what the real server answered to the unchanged PUT of each object is
known, so that the scan's verdicts, losses and defaults can be held against it.
"""

import base64
import gzip
import json
from collections import defaultdict

import pyarrow.parquet as pq
import pytest

from auditor.crds.catalog import CrdCatalog
from auditor.golang import jsontext
from auditor.plan.options import AuditOptions
from auditor.program.program import AuditProgram
from auditor.shards.upgrade import UpgradeOptions
from auditor.sources.crd_files import read_crd_documents
from auditor.upgrade import Pairing, is_below, value_at
from pipelines.run.upgrade import run_upgrade
from tests.shared import at_least, shared, shared_lines

FOLDER = "golden/upgrade"


def rows_of(folder, table):
    return [row for part in sorted((folder / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan") / "report"
    options = AuditOptions(
        dumps=(str(shared(f"{FOLDER}/snapshot.db.gz")),),
        crds=(str(shared(f"{FOLDER}/crds/rev1")),),
        report=str(folder),
    )
    code, manifest = run_upgrade(options, UpgradeOptions((str(shared(f"{FOLDER}/crds/rev2")),)))
    return code, manifest["upgrade"], folder


@pytest.fixture(scope="module")
def changes(scanned):
    found = defaultdict(list)
    for row in rows_of(scanned[2], "changes"):
        found[row["key"]].append(row)
    return found


def values():
    """Return the stored JSON bytes of every custom resource that reads as JSON, by key."""

    with gzip.open(shared(f"{FOLDER}/etcdctl-get.json.gz")) as stream:
        kvs = json.load(stream)["kvs"]
    return {base64.b64decode(one["key"]).decode(): base64.b64decode(one.get("value", "")) for one in kvs}


def catalog(name):
    return CrdCatalog.from_documents(read_crd_documents([str(shared(f"{FOLDER}/crds/{name}"))]))


def test_the_server_that_took_the_definitions_does_not_refuse_them(scanned):
    code, section, _ = scanned
    assert code == 1
    assert [one["name"] for one in section["definitions"] if one["refusals"] or one["unreadable"]] == []
    assert section["decision"] == "blocks"


def test_who_is_newly_blocked_was_refused_by_the_real_server_and_who_is_tolerated_was_not(scanned, changes):
    answers = {row["key"]: row for row in shared_lines(f"{FOLDER}/expected.ndjson.gz")}
    storage = {one["name"]: one["storage_after"] for one in scanned[1]["definitions"]}
    checked = {"tolerated-while-unchanged": 0, "blocks-every-update": 0}
    different = []
    versions = set()
    for key, found in changes.items():
        for row in (row for row in found if row["change"] == "verdict" and row["path"] is None):
            version, new = row["audited_version"], json.loads(row["new"])
            put = answers[key].get("put", {}).get(version)
            if new not in checked or put is None:
                continue
            versions.add(version == storage[answers[key]["crd"]])
            checked[new] += 1
            if (put["code"] == 200) != (new == "tolerated-while-unchanged"):
                different.append((key, version, new, put["code"]))
    assert different == []
    assert checked["tolerated-while-unchanged"] > 100
    assert checked["blocks-every-update"] > 20
    assert versions == {True, False}, "objects are judged at the storage version, and at others that are served"


def nulls_in(value, path=""):
    """Yield the paths of the nulls in an object."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from nulls_in(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from nulls_in(child, f"{path}[{index}]")
    elif value is None:
        yield path


def test_losses_and_defaults_are_those_of_two_reads_side_by_side(changes):
    old, new = catalog("rev1"), catalog("rev2")
    programs = {
        side: {name: AuditProgram(one, one.storage_version, compiled=False) for name, one in crds.crds.items()}
        for side, crds in (("old", old), ("new", new))
    }
    resources = {f"/registry/{one.group}/{one.plural}/": name for name, one in new.crds.items()}
    compared = lost = filled = 0
    for key, data in values().items():
        name = next((name for start, name in resources.items() if key.startswith(start)), None)
        if name is None or new.crds[name].conversion != "None" or data[:1] != b"{":
            continue
        before, after = (programs[side][name].audit(data) for side in ("old", "new"))
        if before.object is None or after.object is None:
            continue
        compared += 1
        stored = jsontext.decode(data)
        expected = {
            path: value_at(stored, path)
            for path in set(after.pruned) - set(before.pruned)
            if not is_below(path, before.pruned)
        }
        nulls = {
            path: None
            for path in nulls_in(before.object)
            if value_at(stored, path) is None and value_at(after.object, path) is not None
        }
        found = {
            row["path"]: json.loads(row["old"]) for row in changes[key] if row["change"] == "pruned" and row["old"]
        }
        assert found == expected | nulls, key
        lost += len(found)
        drift = {row["path"]: json.loads(row["new"]) for row in changes[key] if row["change"] == "defaulted"}
        assert drift == {
            path: value_at(after.object, path)
            for path in set(after.defaulted) - set(before.defaulted) - nulls.keys()
            if not is_below(path, before.defaulted)
        }, key
        filled += len(drift)
    assert compared > 500
    assert (lost, filled) > (40, 300)


def test_objects_and_findings_are_those_of_an_audit_under_the_new_definitions(scanned, tmp_path):
    from pipelines.run.audit import run_audit

    _, _, folder = scanned
    run_audit(
        AuditOptions(
            dumps=(str(shared(f"{FOLDER}/snapshot.db.gz")),),
            crds=(str(shared(f"{FOLDER}/crds/rev2")),),
            report=str(tmp_path / "audit"),
            fail_on="never",
        )
    )
    assert rows_of(folder, "findings") == rows_of(tmp_path / "audit", "findings")
    scanned_rows, audited_rows = rows_of(folder, "objects"), rows_of(tmp_path / "audit", "objects")
    pairs = list(zip(scanned_rows, audited_rows, strict=True))
    new_webhook = [(one, other) for one, other in pairs if one["status"] == "needs-conversion"]
    assert {(one["kind"], one["key"] == other["key"], other["status"]) for one, other in new_webhook} <= {
        ("Relay", True, "needs-conversion")
    }
    assert len(new_webhook) >= at_least(FOLDER, 5, 0)
    assert [pair for pair in pairs if pair not in new_webhook and pair[0] != pair[1]] == []


@pytest.mark.parametrize("looks_twice", [False, True])
def test_its_own_definitions_change_nothing(tmp_path, monkeypatch, looks_twice):
    if looks_twice:  # what is reported as unchanged without a second look is unchanged
        monkeypatch.setattr(Pairing, "is_same", lambda *_: False)
    source = str(shared(f"{FOLDER}/snapshot.db.gz"))
    new = (str(shared(f"{FOLDER}/crds/rev2")),)
    code, manifest = run_upgrade(AuditOptions(dumps=(source,), report=str(tmp_path / "report")), UpgradeOptions(new))
    section = manifest["upgrade"]
    assert (code, section["decision"]) == (0, "unknown")
    assert "no harm found in the rest" in section["sentence"]
    assert "1 key sealed" in section["sentence"]
    assert rows_of(tmp_path / "report", "changes") == []
    for one in section["definitions"]:
        assert set(one["categories"]) <= {"unchanged", "broken-before", "sealed"}
