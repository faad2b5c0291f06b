"""Definitions with any names: every file of a report is below it, and a query finds every object."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import auditor
from auditor.plan.options import AuditOptions
from auditor.selectors.partitions import MOST_BYTES
from pipelines.run.fleet import run_anywhere
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import run_query
from tests.pipelines.nights.support import Store

if TYPE_CHECKING:
    from pathlib import Path

GROUP251 = ".".join(["g" * 63] * 3 + ["g" * 59])
ODD = (
    "..",
    ".",
    "a/b",
    "a\\b",
    "a\0b",
    "../" * 12 + "tmp/victim",
    "CON",
    "K" * 300,
    "🦀",
    "\ud800",
    "%2F",
    "~",
    "a\nb",
    "a.",
)


def definition(
    plural: str, *, group: str = "ex.com", kind: str = "W", versions: tuple[str, ...] = ("v1",), field: bool = False
) -> dict[str, Any]:
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": kind + "List"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if field:
        schema = {"type": "object", "properties": {"spec": {"type": "string", "maxLength": 1}}}
    listed = [
        {"name": name, "served": True, "storage": name == versions[0], "schema": {"openAPIV3Schema": schema}}
        for name in versions
    ]
    accepted = [{"type": name, "status": "True"} for name in ("Established", "NamesAccepted")]
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": listed},
        "status": {"conditions": accepted, "acceptedNames": names, "storedVersions": [versions[0]]},
    }  # fmt: skip


def thing(name: str, *, group: str = "ex.com", kind: str = "W", version: str = "v1", **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "d", "uid": f"u-{name}", "creationTimestamp": "2024-01-01T00:00:00Z"}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, **body}


def write(path: Path, documents: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return str(path)


def audit(dump: str | tuple[str, ...], report: Path, **options: Any) -> dict[str, Any]:
    dumps = (dump,) if isinstance(dump, str) else dump
    _, manifest = run_anywhere(
        AuditOptions(dumps=dumps, report=str(report), fail_on="never", jobs=1, engine="inline", **options)
    )
    return manifest


def ask(target: str | Path, plural: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    run_query(QueryOptions(target=str(target), args=(plural,), output="json"))
    return capsys.readouterr().out


def components(report: Path) -> list[str]:
    return [path.name for path in report.rglob("*")]


def test_each_of_two_definitions_of_a_kind_has_its_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(definition("ws"), definition("vs"), definition("us", kind="w"))
    for plural, kind in (("ws", "W"), ("vs", "W"), ("us", "w")):
        store.put(thing(f"of-{plural}", kind=kind), f"/registry/ex.com/{plural}/d/of-{plural}")
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    manifest = audit(dump, tmp_path / "r")
    assert len({row["folder"].lower() for row in manifest["index"]}) == 3
    index = auditor.open_index(tmp_path / "r")
    for plural in ("ws", "vs", "us"):
        assert index.select(f"{plural}.v1.ex.com")["name"].to_pylist() == [f"of-{plural}"]
        found = ask(tmp_path / "r", plural, capsys)
        assert [one["metadata"]["name"] for one in json.loads(found)["items"]] == [f"of-{plural}"]
        assert found == ask(dump, plural, capsys)


def test_the_longest_group_that_a_server_takes_is_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = [definition("ws", group=GROUP251), thing("a", group=GROUP251), definition("ws"), thing("b")]
    dump = write(tmp_path / "dump.ndjson", documents)
    manifest = audit(dump, tmp_path / "r")
    assert manifest["exit_code"] == 0
    assert [row["group"] for row in manifest["index"]] == ["ex.com", GROUP251]
    for group, name in ((GROUP251, "a"), ("ex.com", "b")):
        found = json.loads(ask(tmp_path / "r", f"ws.{group}", capsys))
        assert [one["metadata"]["name"] for one in found["items"]] == [name]


@pytest.mark.parametrize("kind", ["../" * 12 + "tmp/{}/objects", "../../../../../findings", "../../../objects"])
def test_a_kind_leads_nowhere(tmp_path: Path, kind: str) -> None:
    kind = kind.format(tmp_path.name)
    documents = [
        definition("ws", field=True),
        thing("a", spec="xx"),
        definition("xs", kind=kind),
        thing("b", kind=kind),
    ]
    outside = tmp_path / "in" / "deep"
    outside.mkdir(parents=True)
    audit(write(tmp_path / "dump.ndjson", documents), outside / "r")
    assert sorted(path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.parquet")) == ["in"] * 6
    assert pq.read_table(outside / "r" / "findings")["name"].to_pylist() == ["a"]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(*[st.one_of(st.sampled_from(ODD), st.sampled_from(("ex.com", "W", "w", "v1", "V1")), st.text(min_size=1, max_size=90))] * 3),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_any_names(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    drawn: list[tuple[str, str, str]],
) -> None:
    folder = tmp_path_factory.mktemp("any")
    documents = []
    for number, (group, kind, version) in enumerate(drawn):
        documents += [definition(f"p{number}s", group=group, kind=kind, versions=(version, "v9"))]
        documents += [thing(f"n{number}", group=group, kind=kind, version=version)]
    dump = write(folder / "dump.ndjson", documents)
    manifest = audit(dump, folder / "deep" / "r")
    assert [path.name for path in folder.iterdir()] == ["deep", "dump.ndjson"] or len(list(folder.iterdir())) == 2
    assert all(len(name.encode()) <= MOST_BYTES for name in components(folder / "deep"))
    assert manifest["counts"]["rows"] == len(documents)
    for number in range(len(drawn)):
        assert ask(folder / "deep" / "r", f"p{number}s", capsys) == ask(dump, f"p{number}s", capsys)


def test_a_fleet_has_a_folder_for_each_definition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "one.ndjson", [definition("ws"), thing("a")])
    write(tmp_path / "two.ndjson", [definition("vs", versions=("v1", "v2")), thing("b")])
    write(tmp_path / "three.ndjson", [definition("ws"), thing("c")])
    manifest = audit(str(tmp_path / "*.ndjson"), tmp_path / "r", cluster="{name}")
    assert [(row["folder"], row["plural"]) for row in manifest["index"]] == [
        ("group=ex.com/version=v1/kind=W", "ws"),
        ("group=ex.com/version=v1/kind=W~vs.ex.com", "vs"),
        ("group=ex.com/version=v2/kind=W~vs.ex.com", "vs"),
    ]
    index = auditor.open_index(tmp_path / "r")
    assert sorted(index.select("ws.v1.ex.com")["name"].to_pylist()) == ["a", "c"]
    assert index.select("vs.v1.ex.com")["name"].to_pylist() == ["b"]


@pytest.mark.parametrize("whole", [True, False], ids=["manifest", "no manifest"])
def test_reports_of_before_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], whole: bool) -> None:
    dump = write(tmp_path / "dump.ndjson", [definition("ws", kind="Widget"), thing("a", kind="Widget")])
    report = tmp_path / "r"
    manifest = audit(dump, report)
    del manifest["index"]
    if whole:
        (report / "manifest.json").write_text(json.dumps(manifest))
    else:
        (report / "manifest.json").unlink()
    assert auditor.open_index(report).select("widget")["name"].to_pylist() == ["a"]
    if whole:
        assert ask(report, "ws", capsys) == ask(dump, "ws", capsys)
    shutil.rmtree(report)
