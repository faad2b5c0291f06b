"""Dumps, definitions and reports in an object store (a local server that speaks S3), behind URLs, and under patterns."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from auditor.base.errors import PlanError, SourceError, UnknownDump
from auditor.plan.options import AuditOptions
from auditor.sources import open_source
from auditor.sources.crd_files import read_crd_documents
from auditor.sources.stores.locations import remote_file, shown_url
from auditor.sources.stores.patterns import Match, expand
from pipelines.run.fleet import cluster_name, clusters_of, run_anywhere
from tests.command import auditor
from tests.object_store import served_store
from tests.shared import ROOT
from tests.sources.archives.writing import CRD, OBJECTS, text, tgz, unpack, velero, widget

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def store() -> Iterator[pyarrow.fs.FileSystem]:
    """A store with one bucket; the environment leads clients to it."""
    with served_store() as endpoint:
        yield pyarrow.fs.S3FileSystem(endpoint_override=endpoint, scheme="http", region="us-east-1")


def put(store: Any, path: str, data: bytes) -> None:
    with store.open_output_stream(path) as out:
        out.write(data)


def lines(*objects: Any) -> bytes:
    return b"\n".join(text(one) for one in objects)


def rows_of(report: Path, table: str = "objects") -> list[dict[str, Any]]:
    parts = sorted((report / table).glob("*.parquet"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


# ---- names


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/a/b.db", "s3://bucket/a/b.db"),
        ("s3://key:secret@bucket/a", "s3://bucket/a"),
        ("https://user:pass@host/a?X-Amz-Signature=abc", "https://host/a"),
        ("s3://bucket/a?endpoint_override=h%3A1&scheme=http", "s3://bucket/a"),
        ("/a/b?c", "/a/b?c"),
    ],
)
def test_what_is_shown_of_a_url_holds_no_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown


TREE = ["a/2026-11-20.db", "a/2026-11-21.db", "b/2026-11-20.db", "b/x/2026-11-20.db", ".hidden/2026-11-20.db", "c1.db"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*/2026-11-20.db", [("a/2026-11-20.db", ("a",)), ("b/2026-11-20.db", ("b",))]),
        ("a/*.db", [("a/2026-11-20.db", ("2026-11-20",)), ("a/2026-11-21.db", ("2026-11-21",))]),
        (
            "*/2026-11-2?.db",
            [("a/2026-11-20.db", ("a", "0")), ("a/2026-11-21.db", ("a", "1")), ("b/2026-11-20.db", ("b", "0"))],
        ),
        ("[b-z]/2026-11-20.db", [("b/2026-11-20.db", ("b",))]),
        ("b/**/2026-11-20.db", [("b/2026-11-20.db", ()), ("b/x/2026-11-20.db", ())]),
        ("*", [("a", ("a",)), ("b", ("b",)), ("c1.db", ("c1.db",))]),
        ("c[0-9].db", [("c1.db", ("1",))]),
    ],
)
@pytest.mark.parametrize("kind", ["folder", "file", "s3"])
def test_a_pattern_names_what_fits_in_order(
    kind: str, pattern: str, expected: list[tuple[str, tuple[str, ...]]], store: Any, tmp_path: Path
) -> None:
    base = {"folder": str(tmp_path), "file": f"file://{tmp_path}", "s3": "s3://backups/tree"}[kind]
    for name in TREE:
        if kind == "s3":
            put(store, f"backups/tree/{name}", b"x")
        else:
            unpack({name: b"x"}, tmp_path)
    assert expand(f"{base}/{pattern}") == [Match(f"{base}/{path}", parts) for path, parts in expected]


@pytest.mark.parametrize("base", ["{folder}", "s3://backups"])
def test_a_pattern_of_nothing_is_an_error(base: str, store: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the pattern names nothing"):
        expand(base.format(folder=tmp_path) + "/nothing/*/x.db")


def test_a_name_that_exists_is_no_pattern(tmp_path: Path) -> None:
    path = tmp_path / "a[1].db"
    path.write_bytes(b"x")
    assert expand(str(path)) == [Match(str(path))]
    assert expand("-") == [Match("-")]


@pytest.mark.parametrize(
    ("template", "match", "name"),
    [
        ("{1}", Match("s3://b/prod/x.db", ("prod",)), "prod"),
        ("k-{2}-{1}", Match("s3://b/prod/x.db", ("prod", "eu")), "k-eu-prod"),
        ("{name}", Match("/backups/prod.db.gz"), "prod"),
        ("{parent}/{name}", Match("s3://u:p@b/prod/x.tar.gz?region=x"), "prod/x"),
        ("", Match("s3://b/prod/eu/x.db", ("prod", "eu")), "prod/eu"),
        ("", Match("s3://b/prod.db"), "prod"),
    ],
)
def test_clusters_are_named_by_a_template(template: str, match: Match, name: str) -> None:
    assert cluster_name(template, match) == name


def test_a_placeholder_for_nothing_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        PlanError, match=r"the placeholder \{2\} has no value; expected one of \{1\}, \{name\}, \{parent\}"
    ):
        cluster_name("{2}", Match("a/b", ("a",)))


def test_two_dumps_of_one_name_are_refused(tmp_path: Path) -> None:
    unpack({"a/x.json": b"", "b/x.json": b""}, tmp_path)
    with pytest.raises(PlanError, match="2 dumps are of a cluster 'x'"):
        clusters_of(AuditOptions(dumps=(f"{tmp_path}/*/x.json",), cluster="{name}"))
    with pytest.raises(PlanError, match="one name for 2 dumps"):
        clusters_of(AuditOptions(dumps=(f"{tmp_path}/*/x.json",), cluster="prod"))
    assert clusters_of(AuditOptions(dumps=("a.db", "b.db"), cluster="prod")) == []


# ---- files


@pytest.mark.parametrize("name", ["objects.ndjson", "objects.ndjson.gz", "backup.tar.gz", "folder/", "tree"])
def test_a_dump_in_a_store_is_read_as_here(name: str, store: Any, tmp_path: Path) -> None:
    base = f"backups/read-{name.replace('.', '-').strip('/')}"
    if name == "folder/":
        put(store, f"{base}/folder/a/x.json", lines(*OBJECTS[:3]))
        put(store, f"{base}/folder/y.json", lines(*OBJECTS[3:]))
    elif name == "tree":
        for path, data in velero(OBJECTS).items():
            put(store, f"{base}/tree/{path}", data)
    else:
        data = tgz(velero(OBJECTS)) if "tar" in name else lines(*OBJECTS)
        put(store, f"{base}/{name}", gzip.compress(data) if name.endswith("ndjson.gz") else data)
    url = f"s3://{base}/{name}"
    plan = open_source(url, number=0, workdir=tmp_path)
    if isinstance(plan, list):
        (plan,) = plan
    assert (plan.rows, plan.name, plan.damage) == (len(OBJECTS), url.rstrip("/"), ())
    if "tar" in name:
        assert not [path for path in tmp_path.rglob("*.gz") if path.stat().st_size]  # streamed


def test_names_that_no_file_can_have_cost_themselves_alone(store: Any, tmp_path: Path) -> None:
    long = "n" * 300
    for name in ("a.ndjson", f"{long}.ndjson", f"{long}/b.ndjson", "c.ndjson", "c.ndjson/d.ndjson"):
        put(store, f"backups/names/{name}", lines(*OBJECTS))
    plan = open_source("s3://backups/names", number=0, workdir=tmp_path)
    (plan,) = plan if isinstance(plan, list) else (plan,)
    assert plan.rows == len(OBJECTS) * 2
    assert {damage.where for damage in plan.damage} == {f"{long}.ndjson", f"{long}/b.ndjson", "c.ndjson/d.ndjson"}
    alone = open_source(f"s3://backups/names/{long}.ndjson", number=0, workdir=tmp_path)
    (alone,) = alone if isinstance(alone, list) else (alone,)
    assert (alone.rows, alone.damage) == (len(OBJECTS), ())
    put(store, f"backups/definitions/{long}.json", text(CRD))
    with pytest.raises(SourceError, match=f"{long}.json: cannot be copied: File name too long"):
        read_crd_documents(["s3://backups/definitions"])


def test_file_urls_and_web_servers_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITOR_INSECURE_HTTP", "1")
    folder = unpack({"a b.ndjson": lines(*OBJECTS), "backup.tgz": tgz(velero(OBJECTS))}, tmp_path / "www")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        web = f"http://127.0.0.1:{server.server_address[1]}"
        urls = [f"file://{folder}/a%20b.ndjson", f"{web}/a%20b.ndjson?token=secret", f"{web}/backup.tgz"]
        for number, url in enumerate(urls):
            workdir = tmp_path / str(number)
            workdir.mkdir()
            plan = open_source(url, number=0, workdir=workdir)
            if isinstance(plan, list):
                (plan,) = plan
            assert plan.rows == len(OBJECTS)
            assert "secret" not in plan.name
        with pytest.raises(SourceError) as caught:
            open_source(f"{web}/none?token=secret", number=0, workdir=tmp_path)
        assert "404" in str(caught.value)
        assert "secret" not in str(caught.value)
        server.shutdown()


@pytest.mark.parametrize("url", ["s3://backups/none.db", "s3://no-such-bucket/x.db", "file:///no/such/file.db"])
def test_what_is_not_there_is_a_clear_error(url: str, store: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        open_source(url, number=0, workdir=tmp_path)
    assert str(caught.value).startswith(url)


def test_what_is_wrong_behind_a_url_is_reported_of_the_url(tmp_path: Path) -> None:
    """Not of the copy, whose name is not known to the user and which is gone when a person reads it."""
    dump = gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes())
    files = {"odd.bin": b"neither", "folder/a.db": dump, "folder/beside.txt": b"", "folder/cut.db": dump[:5000]}
    url = f"file://{unpack(files, tmp_path / 'www')}"
    with pytest.raises(UnknownDump) as caught:
        open_source(f"{url}/odd.bin", number=0, workdir=tmp_path)
    assert caught.value.where == f"{url}/odd.bin"
    plans = open_source(f"{url}/folder/", number=0, workdir=tmp_path)
    assert isinstance(plans, list)
    assert plans[0].notes == (f"beside the dumps in {url}/folder, not read: beside.txt",)
    assert str(tmp_path / "remote") not in repr([(plan.name, plan.damage) for plan in plans])


def test_a_report_for_a_web_server_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    options = AuditOptions(dumps=(str(tmp_path / "none.db"),), report="https://user:secret@example.com/report")
    with pytest.raises(
        PlanError, match=r"^https://example.com/report: a report cannot be written to a web server; expected a folder"
    ):
        run_anywhere(options)


def test_a_scheme_that_nothing_reads_says_which_are(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"odd://x: (no reader of odd://|Protocol not known)"):
        open_source("odd://x", number=0, workdir=tmp_path)


# ---- fleets


def cluster(*, required: bool, count: int) -> bytes:
    crd = json.loads(json.dumps(CRD))
    if required:
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"] = {
            "spec": {"type": "object", "required": ["must"], "properties": {"must": {"type": "string"}}}
        }
    return lines(crd, *(widget(f"w{number}", "ns") for number in range(count)))


def test_a_fleet_in_a_store_is_one_report_with_a_column_cluster(store: Any, tmp_path: Path) -> None:
    """Each cluster is judged by its own definitions; one dump that cannot be read takes nothing from the others."""
    put(store, "backups/fleet/east/2026-11-20.ndjson", cluster(required=True, count=3))
    put(store, "backups/fleet/west/2026-11-20.ndjson", cluster(required=False, count=5))
    put(store, "backups/fleet/lost/2026-11-20.ndjson", b"")
    report = tmp_path / "report"
    told = auditor("audit", "s3://backups/fleet/*/2026-11-20.ndjson", "--cluster-name", "k8s-{1}", "--report", report, "--jobs", "1")  # fmt: skip
    assert told.code == 3, told.output
    widgets = [row for row in rows_of(report) if row["kind"] == "Widget"]
    assert sorted({(row["cluster"], row["status"]) for row in widgets}) == [
        ("k8s-east", "invalid"),
        ("k8s-west", "valid"),
    ]
    assert len(widgets) == 8
    assert {row["cluster"] for row in rows_of(report, "findings")} == {"k8s-east"}
    assert {row["cluster"] for row in pq.read_table(report / "versions.parquet").to_pylist()} == {
        "k8s-east",
        "k8s-west",
    }
    manifest = json.loads((report / "manifest.json").read_bytes())
    assert [one["name"] for one in manifest["clusters"]] == ["k8s-east", "k8s-west"]
    assert {one["cluster"]: bool(one["damage"]) for one in manifest["inputs"]} == {
        "k8s-east": False,
        "k8s-west": False,
        "k8s-lost": True,
    }
    assert manifest["counts"]["keys"] == 10
    (kind,) = (one for one in manifest["kinds"] if one["kind"] == "Widget")
    assert (kind["objects"], kind["statuses"]) == (8, {"invalid": 3, "valid": 5})


def test_a_fleet_of_one_is_a_report_of_that_cluster(tmp_path: Path) -> None:
    unpack({"prod/x.ndjson": cluster(required=False, count=2)}, tmp_path)
    code, manifest = run_anywhere(AuditOptions(dumps=(f"{tmp_path}/*/x.ndjson",), report=str(tmp_path / "report")))
    assert (code, manifest["options"]["cluster"]) == (0, "prod")
    assert {row["cluster"] for row in rows_of(tmp_path / "report")} == {"prod"}


def test_a_fleet_that_cannot_be_read_at_all_writes_no_report(tmp_path: Path) -> None:
    unpack({"a/x.db": b"", "b/x.db": b"?"}, tmp_path)
    with pytest.raises(SourceError):
        run_anywhere(AuditOptions(dumps=(f"{tmp_path}/*/x.db",), report=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()


def test_definitions_and_reports_lie_in_a_store(store: Any, tmp_path: Path) -> None:
    put(store, "backups/crds/one/widgets.json", text(CRD))
    put(store, "backups/here/objects.ndjson", lines(*OBJECTS[1:]))
    options = AuditOptions(
        dumps=("s3://backups/here/objects.ndjson",), crds=("s3://backups/crds/*",), report="s3://backups/reports/today"
    )
    _, manifest = run_anywhere(options)
    assert manifest["definitions"]["from_files"] == ["widgets.example.com"]
    with store.open_input_stream("backups/reports/today/manifest.json") as stream:
        assert json.loads(stream.read()) == json.loads(json.dumps(manifest))
    table = pq.read_table("backups/reports/today/objects/part-00000.parquet", filesystem=store)
    assert table.num_rows == len(OBJECTS) - 1
    with pytest.raises(PlanError, match="holds a report already"):
        run_anywhere(options)


def names_in(store: Any, path: str) -> list[str]:
    found = store.get_file_info(pyarrow.fs.FileSelector(path, recursive=True))
    return sorted(info.path[len(path) + 1 :] for info in found if info.type == pyarrow.fs.FileType.File)


def test_a_report_in_a_store_is_replaced_whole_and_nothing_else(store: Any) -> None:
    odd = {**CRD, "spec": {**CRD["spec"], "names": {"plural": "widgets", "kind": "../W idget%"}}}
    put(store, "backups/force/one.ndjson", lines(odd, {**widget("a", "ns"), "kind": "../W idget%"}))
    put(store, "backups/force/two.ndjson", lines(CRD, widget("b", "ns")))
    url = "s3://backups/replaced/today"
    first = AuditOptions(dumps=("s3://backups/force/one.ndjson",), report=url, fail_on="never")
    _, manifest = run_anywhere(first)
    assert names_in(store, "backups/replaced/today") == sorted([*manifest["files"], "manifest.json"])
    again = replace(first, dumps=("s3://backups/force/two.ndjson",), force=True)
    put(store, "backups/replaced/today/notes.txt", b"precious")
    with pytest.raises(PlanError, match=r"is not replaced: it holds files that are not part of its report: notes\.txt"):
        run_anywhere(again)
    store.delete_file("backups/replaced/today/notes.txt")
    put(store, "backups/replaced/today/objects/dump.ndjson", b"{}")
    inside = replace(again, dumps=(f"{url}/objects/dump.ndjson",))
    with pytest.raises(PlanError, match="is read by this run and is in"):
        run_anywhere(inside)
    store.delete_file("backups/replaced/today/objects/dump.ndjson")
    _, manifest = run_anywhere(again)
    left = names_in(store, "backups/replaced/today")
    assert left == sorted([*manifest["files"], "manifest.json"])
    assert [name for name in left if name.startswith("index/")] == [
        "index/group=example.com/version=v1/kind=Widget/part-00000.parquet"
    ]
    put(store, "backups/replaced/today/manifest.json", b"{}")
    with pytest.raises(PlanError, match=r"its manifest\.json is not that of a report"):
        run_anywhere(again)


def test_reports_in_a_store_are_compared_asked_and_shown(store: Any, tmp_path: Path) -> None:
    put(store, "backups/ask/one.ndjson", lines({**CRD, "spec": {**CRD["spec"], "names": {"plural": "widgets", "kind": "W/i"}}},
                                               {**widget("a", "ns"), "kind": "W/i"}))  # fmt: skip
    for name in ("monday", "tuesday"):
        run_anywhere(
            AuditOptions(dumps=("s3://backups/ask/one.ndjson",), report=f"s3://backups/{name}", fail_on="never")
        )
    done = auditor("findings", "s3://backups/tuesday", "--against", "s3://backups/monday")
    assert done.code == 0
    assert "Since s3://backups/monday: 0 findings new, 0 the same, 0 fixed" in done.output
    dump = tmp_path / "one.ndjson"
    with store.open_input_stream("backups/ask/one.ndjson") as stream:
        dump.write_bytes(stream.read())
    for words in (["query", "s3://backups/monday", "widgets"], ["show", "s3://backups/monday", "ns/a"]):
        done = auditor(*words, "--dump", dump)
        assert done.code == 0, done.output
        assert "a" in done.output


def test_a_store_without_its_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(SourceError, match=r"^s3://backups/x: no reader of s3://: boto3 is not installed; pip install"):
        remote_file("s3://backups/x").is_folder()
