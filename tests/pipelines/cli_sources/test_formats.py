"""Formats: what is listed is what is read; --source overrides what the content tells; what no reader takes is described."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from auditor.base.errors import PlanError, SourceError, UnknownDump
from auditor.plan.options import AuditOptions
from auditor.sources import open_source
from auditor.sources.dump_formats import FORMATS
from pipelines.run.audit import run_audit
from tests.command import auditor
from tests.shared import second_check, shared, shared_lines
from tests.sources.archives.writing import OBJECTS, cluster_info, must_gather, rancher, text, tgz, unpack, velero
from tests.sources.dumps import extracted, unpacked
from tests.sources.kine.test_kine import ROWS, store

if TYPE_CHECKING:
    from pathlib import Path


def test_the_command_lists_every_format() -> None:
    reported = auditor("sources")
    assert reported.code == 0
    for one in FORMATS.values():
        assert f"\n{one.name}\n" in "\n" + reported.output
    assert auditor("sources", "-o", "name").output.split() == list(FORMATS)
    rows = json.loads(auditor("sources", "-o", "json").output)
    assert [row["name"] for row in rows] == list(FORMATS)
    assert set(rows[0]) == {"name", "title", "toldBy", "needs"}


def dump(name: str, folder: Path) -> Path:
    """Make a dump of a format."""
    folder.mkdir(exist_ok=True)
    path = folder / "dump"
    if name == "etcd-snapshot":
        return unpacked("golden/upgrade/snapshot.db.gz", folder)
    if name == "etcd-data-dir":
        return next(extracted("golden/etcd-files/data-dir-36.tar.gz", folder).rglob("member")).parent
    if name == "kine-sqlite":
        return store(folder / "state.db", ROWS)
    if name == "kine-csv":
        path.write_bytes(b"id,name,deleted,value\n1,/registry/a,0,\\x7b7d\n")
    elif name == "etcdctl-json":
        return shared("golden/upgrade/etcdctl-get.json.gz")
    elif name == "manifests":
        path.write_bytes(b"\n".join(text(one) for one in OBJECTS))
    elif name == "archive":
        path.write_bytes(tgz({"a.json": text(OBJECTS[1])}))
    else:
        files = {
            "velero": lambda: velero(OBJECTS),
            "rancher": lambda: rancher(OBJECTS),
            "must-gather": lambda: must_gather(OBJECTS),
            "cluster-info": cluster_info,
        }[name]()
        path.write_bytes(tgz(files))
        unpack(files, folder / "tree")
    return path


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_reported_and_can_be_asked_for(name: str, forced: bool, tmp_path: Path) -> None:
    path = dump(name, tmp_path / "in")
    for number, given in enumerate((path, tmp_path / "in" / "tree")):
        if not given.exists():
            continue
        workdir = tmp_path / f"work-{number}"
        workdir.mkdir()
        plan = open_source(str(given), number=0, workdir=workdir, source=name if forced else "")
        if isinstance(plan, list):
            (plan,) = plan
        expected = {"manifests": "ndjson"}.get(name, name)
        assert plan.format == expected
        assert plan.rows


def test_what_is_asked_for_is_read_even_where_it_does_not_look_so(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"# a comment\n" * 6000 + b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    with pytest.raises(UnknownDump, match="unknown format"):
        open_source(str(path), number=0, workdir=tmp_path)
    plan = open_source(str(path), number=0, workdir=tmp_path, source="manifests")
    assert not isinstance(plan, list)
    assert plan.rows == 1


@pytest.mark.parametrize("name", ["etcd-snapshot", "kine-sqlite", "etcdctl-json", "velero", "etcd-data-dir", "rancher"])
def test_what_is_asked_for_and_is_not_there_is_a_clear_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / "objects.json"
    path.write_bytes(text(OBJECTS[1]))
    folder = tmp_path / "folder"
    unpack({"a.json": text(OBJECTS[1])}, folder)
    for given in (path, folder):
        with pytest.raises(SourceError):
            open_source(str(given), number=0, workdir=tmp_path, source=name)


def test_a_format_that_does_not_exist_names_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"no format etcd; expected one of etcd-snapshot, "):
        open_source(str(tmp_path), number=0, workdir=tmp_path, source="etcd")


@pytest.mark.parametrize(
    ("data", "reported"),
    [
        (b"", "an empty file"),
        (bytes(5000), "nothing but zero bytes at its beginning, size 5000"),
        (b"\x7fELF\x02\x01\x01" + bytes(57), "unknown format: first bytes 7f 45 4c 46 02 01 01 00"),
        (b"hello, world. this is a letter", 'first bytes 68 65 6c 6c 6f 2c 20 77 6f 72 6c 64 2e 20 74 68 ("hello, world. this is a "), size 30'),
        (b"<html><body>404", "HTML or XML, perhaps an error page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        (b"\x37\x7f\x06\x82" + bytes(100), "the write-ahead log of a SQLite database"),
        (b"PGDMP\x01\x0e", "a PostgreSQL dump in its own format"),
        (b"/registry/a\n{}\n", "output of etcdctl -w simple"),
        (b'[{"etcdEvent":{}}]', "a delta snapshot"),
    ],
)  # fmt: skip
def test_what_is_not_read_says_what_was_seen(data: bytes, reported: str, tmp_path: Path) -> None:
    for number, packed in enumerate((data, gzip.compress(data))):
        path = tmp_path / f"dump-{number}"
        path.write_bytes(packed)
        with pytest.raises(UnknownDump) as caught:
            open_source(str(path), number=0, workdir=tmp_path)
        assert reported in str(caught.value)
        assert str(caught.value).startswith(str(path))


@second_check("golden/kine", by="tests/sources/kine/test_kine.py")
@pytest.mark.parametrize("name", ["state.db.gz", "live/state.db.gz", "etcdctl-get.json.gz"])
def test_a_cluster_in_kine_is_judged_as_its_server_saw_it(name: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    _, manifest = run_audit(
        AuditOptions(dumps=(str(shared(f"golden/kine/{name}")),), report=str(report), fail_on="never")
    )
    parts = sorted((report / "objects").glob("*.parquet"))
    rows = {row["key"]: row for part in parts for row in pq.read_table(part).to_pylist()}
    for line in shared_lines("golden/kine/expected.ndjson.gz"):
        row = rows.get(line["key"])
        assert (row is None) == line["deleted"]
        if row is not None:
            assert row["status"] in {"valid", "invalid"}, (row["key"], row["reason"])
            assert str(row["mod_revision"]) == line["get"]["body"]["metadata"]["resourceVersion"]
            assert row["key_version"] is None
    assert manifest["inputs"][0]["damage"] == []


def test_a_backup_of_velero_is_audited_with_the_definitions_in_it(tmp_path: Path) -> None:
    path = tmp_path / "backup.tar.gz"
    path.write_bytes(tgz(velero(OBJECTS)))
    reported = auditor("audit", path, "--report", tmp_path / "out", "--fail-on", "never")
    assert reported.code == 0, reported.output
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["inputs"][0]["format"] == "velero"
    (kind,) = (one for one in manifest["kinds"] if one["kind"] == "Widget")
    assert kind["statuses"] == {"valid": 7}
