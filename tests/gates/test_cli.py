"""`auditor gates` and what `auditor crds export --openapi` says of gates, through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import Ended, auditor
from tests.gates.support import definition, gate, loaf

if TYPE_CHECKING:
    from pathlib import Path


def run(*words: str) -> Ended:
    return auditor("gates", *words)


def write(path: Path, *documents: Any) -> str:
    path.write_text("\n---\n".join(json.dumps(document) for document in documents))
    return str(path)


def named(name: str, spec: Any) -> Any:
    made = loaf(spec)
    made["metadata"]["name"] = name
    return made


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    given = [
        gate("Replicas", ".spec.replicas", enabled=True),
        gate("Foo", ".spec.foo"),
        gate("Qux", ".spec.foo.qux", stage="beta", default=True),
        gate("Rep", ".spec.rep", stage="deprecated", default=True, deprecatedWarning="use replicas"),
    ]
    return write(tmp_path / "crd.json", definition(given, component="oven").document)


def test_check_says_all_that_is_wrong(tmp_path: Path, manifest: str) -> None:
    good = run("check", manifest)
    assert (good.code, good.stdout) == (0, "loaves.bakery.example.com: 4 gates, ok\n")
    bad = write(tmp_path / "bad.json", definition([gate("", "spec")]).document)
    answer = run("check", bad)
    assert answer.code == 1
    assert "spec.customFeatureGates.featureGates[0].name: Required value" in answer.stdout
    assert "must be a simple JSON path that starts with ." in answer.stdout
    assert json.loads(run("check", bad, "-o", "json").stdout)[0]["findings"][1]["type"] == "FieldValueRequired"


def test_list_says_what_is_on_why_and_what_uses_it(tmp_path: Path, manifest: str) -> None:
    dump = write(
        tmp_path / "objects.yaml",
        named("a", {"replicas": 1, "foo": {"qux": 1}}),
        named("b", {"foo": {}, "rep": 1}),
        named("c", {}),
    )
    answer = run("list", dump, "--crds", manifest, "-o", "json")
    assert answer.code == 0
    rows = {row["gate"]: row for row in json.loads(answer.stdout)}
    assert {name: (row["on"], row["why"]) for name, row in rows.items()} == {
        "Replicas": (True, "enabled: true"),
        "Foo": (False, "alpha, and no default"),
        "Qux": (True, "default: true"),
        "Rep": (True, "default: true"),
    }
    assert {row["component"] for row in rows.values()} == {"oven"}
    assert {name: row["paths"][0]["objects"] for name, row in rows.items()} == {
        "Replicas": 1,
        "Foo": 2,
        "Qux": 1,
        "Rep": 1,
    }
    assert rows["Qux"]["paths"][0] == {"path": ".spec.foo.qux", "on": False, "blockedBy": ".spec.foo", "objects": 1}
    table = run("list", "--crds", manifest, "--field-gates", "AllAlpha=true").stdout
    assert "--field-gates AllAlpha=true" in table
    assert "off by" not in table


def test_overrides_and_sidecars_that_fit_nothing_are_refused(tmp_path: Path, manifest: str) -> None:
    sidecar = write(tmp_path / "sidecar.yaml", {"loaves.bakery.example.com": {"featureGates": [gate("", ".spec.rep")]}})
    for option, value, reason in (
        ("--field-gates", "Nope=true", "unrecognized feature gate: Nope"),
        ("--sidecar", sidecar, "its gates are not valid"),
        ("--sidecar", write(tmp_path / "list.yaml", [1]), "a mapping of names of definitions"),
    ):
        refused = run("list", "--crds", manifest, option, value)
        assert (refused.code, refused.stdout) == (2, "")
        assert reason in refused.stderr


def test_simulate_one_create(tmp_path: Path, manifest: str) -> None:
    new = write(tmp_path / "new.yaml", named("a", {"replicas": 3, "foo": {"baz": 1}}))
    (answer,) = json.loads(run("simulate", new, "--crds", manifest, "-o", "json").stdout)
    assert answer["request"] == "create"
    assert answer["stored"]["spec"] == {"replicas": 3}
    assert answer["dropped"] == [{"path": "spec.foo", "sent": {"baz": 1}}]
    assert answer["generationChanges"] is None


def test_simulate_one_pair_and_whole_dumps(tmp_path: Path, manifest: str) -> None:
    old = write(tmp_path / "old.yaml", named("a", {"foo": {"qux": 1}}), named("b", {"rep": 1}), named("gone", {}))
    new = write(
        tmp_path / "new.yaml", named("a", {"foo": {"baz": 2}}), named("b", {"foo": {"baz": 2}}), named("c", {"rep": 2})
    )
    answers = [
        json.loads(line) for line in run("simulate", old, new, "--crds", manifest, "-o", "ndjson").stdout.splitlines()
    ]
    by_name = {answer["name"]: answer for answer in answers}
    assert {name: (one["request"], one["generationChanges"]) for name, one in by_name.items()} == {
        "a": ("update", False),
        "b": ("update", False),
        "c": ("create", None),
    }
    assert by_name["a"]["stored"]["spec"] == {"foo": {"qux": 1}}
    assert by_name["a"]["kept"] == [{"path": "spec.foo", "sent": {"qux": 1, "baz": 2}, "stored": {"qux": 1}}]
    assert by_name["b"]["stored"]["spec"] == {"rep": 1}
    table = run("simulate", old, new, "--crds", manifest, "--apply", "replace")
    assert "spec.foo" in table.stdout
    assert "3 writes of kinds with gates: 1 drop fields, 1 keep old values of fields, 1 change no generation" in (
        table.stderr
    )


def test_how_items_of_lists_are_paired_is_said(tmp_path: Path, manifest: str) -> None:
    new = write(tmp_path / "new.yaml", named("a", {"list": [{"size": 1}]}))
    crd = write(tmp_path / "lists.json", definition([gate("A", ".spec.list.size")]).document)
    assert "paired by their keys if the list is a map, else by position" in run("simulate", new, "--crds", crd).stderr
    assert "paired" not in run("simulate", new, "--crds", manifest).stderr


def test_manifests_in_folders_are_distinguished(tmp_path: Path, manifest: str) -> None:
    for name, spec in (("old", {"foo": {"qux": 1}}), ("new", {"foo": {"qux": 2}})):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "a.yaml", named("a", spec))
    answer = run("simulate", str(tmp_path / "old"), str(tmp_path / "new"), "--crds", manifest, "-o", "json")
    (one,) = json.loads(answer.stdout)
    assert (one["request"], one["stored"]["spec"]) == ("update", {"foo": {"qux": 1}})


def test_discovery_names_gates(manifest: str) -> None:
    published = json.loads(auditor("crds", "export", manifest, "--openapi").stdout)
    schemas = published["apis/bakery.example.com/v1"]["components"]["schemas"]
    said = schemas["com.example.bakery.v1.Loaf"]["x-kubernetes-feature-gates"]
    assert said[0] == {"name": "Replicas", "preRelease": "alpha", "enabled": True, "fieldPaths": [".spec.replicas"]}
