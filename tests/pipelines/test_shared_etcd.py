"""API servers that share one etcd: each prefix is a cluster, judged by the definitions below it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import Ended, auditor

if TYPE_CHECKING:
    from pathlib import Path

NAME = "xs.x.example.com"
NAMES = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}
BOTH = ("--etcd-prefix", "/registry", "--etcd-prefix", "/east")


def definition(most: int) -> dict[str, Any]:
    n = {"type": "integer", "maximum": most}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": n}}}}
    conditions = [{"type": one, "status": "True"} for one in ("Established", "NamesAccepted")]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "group": "x.example.com",
            "scope": "Namespaced",
            "names": NAMES,
            "conversion": {"strategy": "None"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
        "status": {"storedVersions": ["v1"], "acceptedNames": NAMES, "conditions": conditions},
    }


def x(n: int) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "d", "uid": "v", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
    return {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "spec": {"n": n}}


def values(prefix: str, most: int) -> dict[str, Any]:
    return {
        f"/{prefix}/apiextensions.k8s.io/customresourcedefinitions/{NAME}": definition(most),
        f"/{prefix}/x.example.com/xs/d/a": x(5),
    }


def write(path: Path, content: dict[str, Any]) -> None:
    rows = [
        {
            "key": base64.b64encode(key.encode()).decode(),
            "mod_revision": 2,
            "value": base64.b64encode(json.dumps(value).encode()).decode(),
        }
        for key, value in sorted(content.items())
    ]
    path.write_text(json.dumps({"header": {"revision": 9}, "kvs": rows, "count": len(rows)}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    write(
        folder / "d.json",
        {**values("registry", 10), **values("east", 3), **values("west", 1), "/other": {}, "compact_rev_key": 1},
    )
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> Ended:
    return auditor("audit", "d.json", *BOTH, "--etcd-prefix", "east/", "--report", "r", "--jobs", 1, cwd=folder)


def manifest(folder: Path, name: str = "r") -> Any:
    return json.loads((folder / name / "manifest.json").read_text())


def test_each_server_is_judged_by_its_own_definitions(folder: Path, report: Ended) -> None:
    assert report.code == 1, report.stderr
    by_name = {one["name"]: one for one in manifest(folder)["clusters"]}
    assert {name: one["options"]["etcd_prefix"] for name, one in by_name.items()} == {
        "registry": "/registry",
        "east": "/east",
    }
    assert by_name["registry"]["counts"]["statuses"] == {"definition": 1, "other": 4, "valid": 1}
    assert by_name["east"]["counts"]["statuses"] == {"definition": 1, "invalid": 1}


def test_each_key_is_counted_once(folder: Path, report: Ended) -> None:
    assert report.code == 1, report.stderr
    assert manifest(folder)["counts"]["keys"] == 8
    assert manifest(folder)["options"]["etcd_prefix"] is None
    said = " ".join(report.stdout.split())
    assert said.startswith("FINDINGS registry, east · 1 medium cause d.json at revision 9 · ")
    assert "3 keys that belong to no object below /registry, /east" in said


def test_only_servers_that_were_not_given_are_named(report: Ended) -> None:
    said = " ".join(report.stdout.split())
    assert said.count("as those of another API server") == 1
    assert "2 keys are below /west/, as those of another API server: not judged in this run" in said
    assert "(a further --etcd-prefix /west of `audit` judges them)" in said


def test_the_report_answers_for_each_server(folder: Path, report: Ended) -> None:
    assert report.code == 1, report.stderr
    both = auditor("query", "r", "X", "-A", cwd=folder)
    assert [line.split()[0] for line in both.stdout.splitlines()[1:]] == ["registry", "east"]
    east = auditor("show", "r", "--cluster", "east", "/east/x.example.com/xs/d/a", cwd=folder)
    assert east.code == 0, east.stderr
    assert "less than or equal" in east.stdout


def test_an_earlier_report_is_compared_server_by_server(folder: Path, report: Ended) -> None:
    assert report.code == 1, report.stderr
    again = auditor("audit", "d.json", *BOTH, "--diff", "r", "--report", "s", "--jobs", 1, cwd=folder)
    assert again.code == 1, again.stderr
    assert "1 stale dump (d.json)" in " ".join(again.stdout.split())
    assert manifest(folder, "s")["diff"]["findings"]["new"] == 0
    counts = [[one["counts"] for one in manifest(folder, name)["clusters"]] for name in "rs"]
    assert counts[0] == counts[1]


def test_definitions_in_files_and_further_dumps_are_those_of_all(folder: Path) -> None:
    (folder / "crd.json").write_text(json.dumps(definition(4)))
    (folder / "more.json").write_text(json.dumps(x(1)))
    named = ("--cluster-name", "prod", "--crds", "crd.json", "--report", "n", "--jobs", 1)
    done = auditor("audit", "d.json", "more.json", *BOTH, *named, cwd=folder)
    assert done.code == 1, done.stderr
    by_name = {one["name"]: one["counts"]["statuses"] for one in manifest(folder, "n")["clusters"]}
    assert by_name["prod/registry"] == {"definition": 1, "other": 4, "invalid": 1, "valid": 1}
    assert by_name["prod/east"] == {"definition": 1, "invalid": 1, "valid": 1}


def test_each_dump_of_a_pattern_has_all_servers(folder: Path, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes((folder / "d.json").read_bytes())
    done = auditor("audit", "?.json", *BOTH, "--report", "r", "--jobs", 1, cwd=tmp_path)
    assert done.code == 1, done.stderr
    names = [one["name"] for one in manifest(tmp_path)["clusters"]]
    assert names == ["a/registry", "a/east", "b/registry", "b/east"]


def test_a_key_is_of_the_longest_prefix(tmp_path: Path) -> None:
    write(tmp_path / "d.json", {**values("a", 10), **values("a/b", 3), "/a.c/x": {}})
    nested = ("--etcd-prefix", "/a", "--etcd-prefix", "/a/b")
    auditor("audit", "d.json", *nested, "--report", "r", "--jobs", 1, cwd=tmp_path)
    by_name = {one["name"]: one["counts"]["statuses"] for one in manifest(tmp_path)["clusters"]}
    assert by_name == {"a": {"definition": 1, "other": 1, "valid": 1}, "a/b": {"definition": 1, "invalid": 1}}


def test_damage_of_a_shared_dump_is_said_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_bytes((folder / "d.json").read_bytes()[:-2400])
    done = auditor("audit", "d.json", *BOTH, "--report", "r", "--jobs", 1, cwd=tmp_path)
    assert done.code == 3, done.stderr
    said = " ".join(done.stdout.split())
    assert said.count("DAMAGED d.json") == 1
    assert "1 dump not read completely" in said
    assert [len(one["damage"]) for one in manifest(tmp_path)["inputs"]] == [1, 1]
    assert "no key that was read is below /registry/" in said


def test_a_server_without_a_key_is_not_judged(folder: Path) -> None:
    mistyped = ("--etcd-prefix", "/registry", "--etcd-prefix", "/eats")
    done = auditor("audit", "d.json", *mistyped, "--report", "m", "--jobs", 1, cwd=folder)
    assert done.code == 3, done.stderr
    said = " ".join(done.stdout.split())
    assert "no key is below /eats/" in said
    assert "all of eats (no object was judged)" in said


def test_what_can_be_read_once_is_refused(folder: Path) -> None:
    done = auditor("audit", "-", *BOTH, "--report", "o", cwd=folder, stdin=b"{}")
    assert done.code == 2
    assert "standard input can be read once; expected a file or folder" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        *[("query", "d.json", "X"), ("show", "d.json", "X/a"), ("kinds", "d.json"), ("gates", "list", "d.json")],
        *[("upgrade", "d.json", "--new-crds", "crd.json", "--report", "u"), ("events", "d.json")],
    ],
    ids=lambda words: words[0],
)
def test_other_commands_take_one_prefix(folder: Path, words: tuple[str, ...]) -> None:
    done = auditor(*words, *BOTH, cwd=folder)
    assert done.code == 2
    assert "takes one --etcd-prefix; given: /registry, /east (`auditor audit` takes several)" in done.stderr
    same = auditor(*words, "--etcd-prefix", "/east", "--etcd-prefix", "east/", cwd=folder)
    assert "takes one --etcd-prefix" not in same.stderr
