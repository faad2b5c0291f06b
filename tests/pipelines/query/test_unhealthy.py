"""`auditor query --unhealthy`: objects that say that they are not healthy, and how many do not tell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import export_of

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = "back-off 5m0s restarting failed container=c pod=web_shop(a0) and so on"
CRASHING = {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": MESSAGE}}}


def thing(kind: str, name: str, api_version: str = "v1", **body: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **body}


FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OBJECTS = [
    thing("ConfigMap", "a"),
    thing("ConfigMap", "b"),
    thing("Pod", "done", status={"phase": "Succeeded"}),
    thing("Pod", "web", status={"phase": "Running", "containerStatuses": [CRASHING]}),
    thing("Deployment", "web", "apps/v1", spec={"replicas": 2}, status={"readyReplicas": 1}),
    thing("Deployment", "off", "apps/v1", spec={"replicas": 0}, status={"observedGeneration": 1}),
]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.json"
    export_of(path, *OBJECTS)
    return path


def test_objects_of_all_kinds_are_rows_with_the_reason(dump: Path) -> None:
    done = auditor("query", dump, "--unhealthy")
    assert done.code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["KIND", "Pod", "Deployment"]
    assert "1 of 2 ready" in done.stdout
    assert f"CrashLoopBackOff   {MESSAGE[:26]}...\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) == 80
    assert done.stderr == "2 of 6 objects are not healthy; 2 objects of 1 kind do not show it\n"


def test_pods_come_first_then_what_makes_them_and_custom_kinds_last(tmp_path: Path) -> None:
    bad = {"conditions": [{"type": "Ready", "status": "False"}]}
    kinds = (("Alpha", "a.example.com/v1"), ("Node", "v1"), ("Deployment", "apps/v1"), ("Pod", "v1"))
    path = tmp_path / "dump.json"
    alphas = {"plural": "alphas", "kind": "Alpha", "listKind": "AlphaList", "singular": "alpha"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": FREE}}
    spec = {"group": "a.example.com", "scope": "Namespaced", "names": alphas, "versions": [version]}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    crd["metadata"] = {"name": "alphas.a.example.com"}
    export_of(path, crd, *(thing(kind, "x", api, status={**bad, "phase": "Failed"}) for kind, api in kinds))
    rows = json.loads(auditor("query", path, "--unhealthy", "-o", "json").stdout)
    assert [row["kind"] for row in rows] == ["Pod", "Deployment", "Node", "Alpha"]


def test_the_verb_is_that_of_all_objects(tmp_path: Path) -> None:
    for number, bad in ((1, 0), (1, 1), (2, 1)):
        pods = [thing("Pod", f"p{at}", status={"phase": "Failed" if at < bad else "Succeeded"}) for at in range(number)]
        told = auditor("query", export_of(tmp_path / f"{number}{bad}.json", *pods), "--unhealthy").stderr
        assert told.startswith(f"{bad} of {number} {'object is' if number == 1 else 'objects are'} not healthy"), told


def test_values_of_kinds_without_a_definition_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    export_of(path, thing("Widget", "w", "example.com/v1"))
    for words in (("--unhealthy",), ("--certificates",), ("*",)):
        done = auditor("query", path, *words)
        assert done.stderr.startswith("note: 1 value of no kind that its definitions name, not searched; first ")


def test_a_table_has_the_first_of_several_reasons(tmp_path: Path) -> None:
    conditions = [{"type": name, "status": "Unknown", "message": "stopped"} for name in ("Ready", "DiskPressure")]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(thing("Node", "n", status={"conditions": conditions})))
    assert "n      Ready Unknown (+1)   stopped\n" in auditor("query", path, "--unhealthy").stdout
    assert (
        "Ready Unknown, DiskPressure Unknown   stopped\n" in auditor("query", path, "--unhealthy", "-o", "wide").stdout
    )


def test_data_and_wide_tables_have_the_whole_message(dump: Path) -> None:
    done = auditor("query", dump, "pods", "--unhealthy", "-o", "json")
    (row,) = json.loads(done.stdout)
    assert row == {
        "group": "",
        "kind": "Pod",
        "namespace": "shop",
        "name": "web",
        "why": ["CrashLoopBackOff"],
        "message": [MESSAGE],
    }
    assert done.stderr == "1 of 2 objects are not healthy\n"
    assert MESSAGE in auditor("query", dump, "pods", "--unhealthy", "-o", "wide").stdout


def test_selectors_and_names_choose_the_objects(dump: Path) -> None:
    assert auditor("query", dump, "--unhealthy", "-n", "other").stderr == "no such objects were found\n"
    done = auditor("query", dump, "pods", "done", "--unhealthy")
    assert (done.code, done.stdout, done.stderr) == (0, "", "0 of 1 object is not healthy\n")
    assert auditor("query", dump, "pods", "gone", "--unhealthy").code == 1


def test_a_namespace_has_no_objects_of_the_cluster(tmp_path: Path) -> None:
    gone = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}, "status": {"phase": "Terminating"}}
    path = tmp_path / "dump.json"
    export_of(path, gone, thing("Pod", "web"))
    assert auditor("query", path, "--unhealthy").stderr.startswith("1 of 2 objects are not healthy")
    done = auditor("query", path, "--unhealthy", "-n", "shop")
    assert (done.stdout, done.stderr.partition("\n")[2]) == (
        "",
        "0 of 1 object is not healthy; 1 object of 1 kind does not show it\n",
    )
    path.write_text(json.dumps(gone))
    assert auditor("query", path, "--unhealthy", "-n", "shop").output.endswith("\nno such objects were found\n")
    assert "Terminating" in auditor("query", path, "namespaces", "--unhealthy", "-n", "shop").stdout


def test_rows_of_a_fleet_name_the_cluster(tmp_path: Path) -> None:
    for name in ("east", "west"):
        pod = thing("Pod", name, status={"phase": "Failed", "reason": "Evicted"})
        (tmp_path / f"{name}.json").write_text(json.dumps(pod))
    words = ("*.json", "--cluster-name", "{1}", "--report", "fleet", "--fail-on", "never")
    assert auditor("audit", *words, cwd=tmp_path).code == 0
    done = auditor("query", "fleet", "pods", "--unhealthy", "-o", "json", cwd=tmp_path)
    assert [(row["cluster"], row["name"]) for row in json.loads(done.stdout)] == [("east", "east"), ("west", "west")]
    assert done.stderr == "2 of 2 objects are not healthy\n"
    assert auditor("query", "fleet", "pods", "--unhealthy", cwd=tmp_path).stdout.startswith("CLUSTER   KIND")


def test_a_report_answers_from_its_dump_and_not_without(dump: Path, tmp_path: Path) -> None:
    assert auditor("audit", dump, "--report", tmp_path / "report", "--fail-on", "never").code == 0
    asked = auditor("query", tmp_path / "report", "--unhealthy")
    assert asked.stderr == auditor("query", dump, "--unhealthy").stderr
    dump.unlink()
    refused = auditor("query", tmp_path / "report", "--unhealthy")
    assert refused.code == 2
    assert "an index has no whole objects" in refused.stderr
