"""The newest older revision at which a key that breaks its kind could be read, in the summary of the report."""

import json

import pytest

from auditor.causes.model import FindingsModel
from tests.causes.reports import definition, widget
from tests.command import auditor
from tests.output.summaries import summary_of
from tests.pipelines.report.test_outcome import LOOSE, etcd
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot
from tests.sources.etcd.wal_writer import WalWriter, put

CRD = b"/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"
KEY = "/registry/example.com/widgets/team/a"
GOOD = json.dumps(widget("a", {"size": 1}, creationTimestamp="2026-11-22T14:02:00Z")).encode()
OLD = json.dumps(widget("a", {"size": 1})).encode()


def audited(folder, *values, key=KEY, log=None):
    """Audit a snapshot in which a key had some values one after another; None deletes it.

    Given keys that were put after the database was last written, audit a data directory with a write-ahead log.
    """
    history = History()
    history.put(CRD, json.dumps(definition({"size": {"type": "integer"}})).encode())
    for value in values:
        if value is None:
            history.delete(key.encode())
        else:
            history.put(key.encode(), value)
    dump = folder / "dump.db"
    if log is None:
        dump.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    else:
        dump = folder / "etcd"
        data_directory(dump, history, log)
    done = auditor("audit", dump, "--report", folder / "report", "--jobs", "1")
    assert done.code == 1, done.output
    return folder / "report"


def data_directory(folder, history, later):
    """Write the data directory of a member: each row of the database has an entry of the log, later puts have more."""
    meta = {b"consistent_index": len(history.rows).to_bytes(8, "big")}
    database = folder / "member" / "snap" / "db"
    database.parent.mkdir(parents=True)
    database.write_bytes(bolt_file({**etcd_buckets(history.rows), b"meta": meta}))
    wal = WalWriter(folder / "member" / "wal")
    for key in (*(CRD for _ in history.rows), *later):
        wal.entry(put(key))


@pytest.mark.parametrize("log", [None, (), (KEY.encode(), b"/registry/other")], ids=["snapshot", "log", "newer log"])
@pytest.mark.parametrize(
    ("values", "at", "written"),
    [
        ((GOOD, GOOD[:30]), -1, "2026-11-22T14:02:00Z"),
        ((GOOD, GOOD[:20], GOOD[:30]), -2, "2026-11-22T14:02:00Z"),
        ((GOOD, OLD, GOOD[:30]), -1, None),
        ((GOOD[:20], GOOD[:30]), None, None),
        ((GOOD[:30],), None, None),
        ((GOOD, None, GOOD[:30]), None, None),  # what was deleted is not to come back
    ],
)
def test_the_last_good_revision_is_the_newest_that_can_be_read(tmp_path, values, at, written, log):
    report = audited(tmp_path, *values, log=log)
    manifest = json.loads((report / "manifest.json").read_bytes())
    [breaking] = [kind["breaking"] for kind in manifest["kinds"] if kind["breaking"]]
    text = summary_of(report)
    assert manifest["inputs"][0]["format"] == ("etcd-snapshot" if log is None else "etcd-data-dir")
    assert ("2 entries of the write-ahead log" in text) == bool(log)
    if at is None:
        assert "last_good" not in breaking
        assert "last good" not in text
        return
    revision = manifest["inputs"][0]["revision"] + at
    assert breaking["last_good"] == {"revision": revision, "written": written}
    [cause] = FindingsModel.open(report).causes
    assert cause.last_good == (f"{revision} ({written})" if written else str(revision),)
    said = f"      last good revision {revision}" + (" (2026-11-22 14:02:00 UTC)" if written else "")
    assert said in text.splitlines()


def test_the_last_good_revision_is_found_for_one_of_several_servers_in_an_etcd(tmp_path):
    audited(tmp_path, GOOD, GOOD[:30])
    both = ("--etcd-prefix", "/registry", "--etcd-prefix", "/east")
    done = auditor("audit", tmp_path / "dump.db", *both, "--report", tmp_path / "servers", "--jobs", "1")
    assert "last good" not in done.stderr
    [cause] = FindingsModel.open(tmp_path / "servers").causes
    assert cause.last_good == FindingsModel.open(tmp_path / "report").causes[0].last_good


def test_the_older_revisions_are_those_of_the_first_walk(tmp_path, monkeypatch):
    monkeypatch.setattr("auditor.server.history._batches", None)  # what would walk the dump again
    report = audited(tmp_path, GOOD, GOOD[:30])
    assert "last good revision" in summary_of(report)


def test_the_older_revisions_of_another_key_that_one_transaction_created_are_not_taken(tmp_path):
    history, other = History(), f"{KEY}b".encode()
    history.put(CRD, json.dumps(definition({"size": {"type": "integer"}})).encode())
    history.put(KEY.encode(), OLD[:20])
    history.put(other, json.dumps(widget("ab", {"size": 1})).encode(), same=True)
    history.put(KEY.encode(), OLD[:30])
    history.put(other, json.dumps(widget("ab", {"size": 2})).encode())
    dump = tmp_path / "dump.db"
    dump.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    auditor("audit", dump, "--report", tmp_path / "report", "--jobs", "1")
    kinds = json.loads((tmp_path / "report" / "manifest.json").read_bytes())["kinds"]
    [breaking] = [kind["breaking"] for kind in kinds if kind["breaking"]]
    assert (breaking["key"], breaking.get("last_good")) == (KEY, None)


def test_a_key_that_no_request_reaches_has_no_good_revision(tmp_path):
    report = audited(tmp_path, GOOD, GOOD[:30], key="/registry/example.com/widgets/a")
    assert "only `etcdctl del` removes it" in summary_of(report)
    assert "last good" not in summary_of(report)


def test_a_dump_without_older_revisions_is_not_searched(tmp_path, monkeypatch):
    searched = []
    monkeypatch.setattr("pipelines.run.report.last_good.note_last_good", lambda *_: searched.append(1))
    audited(tmp_path, GOOD, GOOD[:30])
    assert searched
    searched.clear()
    dump = etcd(tmp_path / "printed.json", 100, LOOSE, torn=["n0/torn"])
    auditor("audit", dump, "--report", tmp_path / "printed", "--jobs", "1")
    kinds = json.loads((tmp_path / "printed" / "manifest.json").read_bytes())["kinds"]
    assert any(kind["breaking"] for kind in kinds)
    assert not searched


def test_values_are_read_only_of_keys_with_older_revisions(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("pipelines.run.report.older_values.OlderValues", lambda *given: asked.append(given))
    audited(tmp_path, GOOD[:30])
    assert not asked
    (tmp_path / "again").mkdir()
    audited(tmp_path / "again", GOOD, GOOD[:30])
    assert asked
