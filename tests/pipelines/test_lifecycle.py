"""Namespaces that are missing or deleted although objects are in them, and objects that have been deleting for long."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import etcdctl_text, named_definition

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
MADE = 1793750400
"""When the dump was made: 2026-11-04T00:00:00Z."""
NEWLY, LONG = "2026-11-03T00:00:00Z", "2026-10-01T00:00:00Z"
TRUE = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]


def definition() -> dict[str, Any]:
    found = named_definition("things.a.io", "Thing", SCHEMA)
    names = found["spec"]["names"]
    return {**found, "status": {"acceptedNames": names, "storedVersions": ["v1"], "conditions": TRUE}}


def namespace(name: str, **metadata: Any) -> tuple[str, dict[str, Any]]:
    return f"namespaces/{name}", {
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": name, **metadata},
        "status": {"phase": "Terminating" if metadata else "Active"},
    }  # fmt: skip


def in_(space: str, name: str, **metadata: Any) -> tuple[str, dict[str, Any]]:
    own = {"name": name, "namespace": space, "uid": name, **metadata}
    return f"a.io/things/{space}/{name}", {"apiVersion": "a.io/v1", "kind": "Thing", "metadata": own}


def config(space: str, name: str) -> tuple[str, dict[str, Any]]:
    metadata = {"name": name, "namespace": space, "uid": name}
    return f"configmaps/{space}/{name}", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


OBJECTS = dict(
    [
        ("apiextensions.k8s.io/customresourcedefinitions/things.a.io", definition()),
        *(namespace("live"), namespace("going", deletionTimestamp=NEWLY), namespace("empty", deletionTimestamp=NEWLY)),
        *(in_("live", "one"), in_("going", "two"), in_("gone", "three"), in_("gone", "four"), config("gone", "five")),
        *(in_("default", "made-by-the-server"), in_("live", "new", deletionTimestamp=NEWLY, finalizers=["a.io/x"])),
        in_("live", "old", deletionTimestamp=LONG, finalizers=["a.io/x", "a.io/y"]),
        in_("live", "older", deletionTimestamp=LONG, finalizers=["a.io/x"]),
    ]
)


def report(folder: Path, text: str, *words: str) -> dict[str, Any]:
    path = folder / "d.json"
    path.write_text(text)
    os.utime(path, (MADE, MADE))
    ended = auditor("audit", path, "--report", folder / "r", "--force", "--jobs", 1, *words)
    found: dict[str, Any] = json.loads(auditor("findings", folder / "r", "-o", "json").stdout)
    return found | {"shown": " ".join(ended.stdout.split()), "code": ended.code, "report": folder / "r"}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return report(tmp_path_factory.mktemp("night"), etcdctl_text(OBJECTS))


def test_each_such_namespace_is_one_cause(night: dict[str, Any]) -> None:
    assert night["code"] == 0
    found = {one["title"]: (one["severity"], one["kind"], one["impact"], one["objects"]) for one in night["causes"]}
    assert found == {
        "gone does not exist, but objects are in it": ("medium", "Namespace", "lacks-namespace", 3),
        "going is being deleted, with the objects in it": ("medium", "Namespace", "loses-namespace", 1),
    }
    gone, going = (next(one for one in night["causes"] if one["objects"] == count) for count in (3, 1))
    then = "a server lists them, and refuses to create any (404)"
    assert gone["messages"][0] == f"in gone: 2 Thing.a.io, 1 ConfigMap; {then}"
    assert going["messages"][0].startswith(f"in going: 1 Thing.a.io; being deleted since {NEWLY}")
    rows = json.loads(auditor("findings", night["report"], gone["cause"], "-o", "json").stdout)["rows"]
    assert sorted(row["name"] for row in rows) == ["five", "four", "three"]
    next_ = "Next: save what is in 2 namespaces (going, gone), which do not exist or are being deleted"
    assert next_ in night["shown"]


def test_what_deletes_for_long_is_one_line_in_every_view(night: dict[str, Any]) -> None:
    line = "DELETING FOR MORE THAN 7 D 2 of 3 custom resources, waiting for a.io/x (2), a.io/y (1)"
    assert line in night["shown"]
    assert night["deleting"] == {
        "objects": 3, "long": 2, "days": 7, "unread": 0, "finalizers": {"a.io/x": 2, "a.io/y": 1},
    }  # fmt: skip
    for form in ("markdown", "html"):
        path = night["report"].parent / form
        auditor("report", night["report"], "-o", f"{form}={path}")
        assert line in " ".join(path.read_text().replace("\\", "").split())


@pytest.mark.parametrize(
    ("objects", "cut", "words"),
    [
        ({key: one for key, one in OBJECTS.items() if not key.startswith("namespaces/")}, 0, ()),
        (OBJECTS, 1, ()),
        (OBJECTS, 0, ("--namespace", "gone")),
        (OBJECTS, 0, ("--exclude", "configmaps")),
    ],
    ids=["of other kinds", "damaged", "one namespace", "some kinds"],
)
def test_nothing_is_said_where_a_namespace_may_be_missing_from_the_dump(
    tmp_path: Path, objects: dict[str, Any], cut: int, words: tuple[str, ...]
) -> None:
    found = report(tmp_path, etcdctl_text(objects, cut=cut), *words)
    assert (found["namespaces"], [one["impact"] for one in found["causes"]]) == (None, [])


def test_an_export_shows_no_namespaces_but_what_is_being_deleted(tmp_path: Path) -> None:
    text = "".join(f"{json.dumps(one)}\n" for one in OBJECTS.values())
    found = report(tmp_path, text)
    assert found["namespaces"] is None
    assert found["deleting"]["long"] == 2


def test_a_namespace_that_is_missing_tonight_is_new_and_fixed_when_it_is_back(tmp_path: Path) -> None:
    whole = OBJECTS | dict([namespace("gone"), namespace("going")])
    nights = (("one", whole, []), ("two", OBJECTS, ["new"] * 2), ("three", whole, ["fixed"] * 2))
    for revision, (name, objects, change) in enumerate(nights, start=9):
        before = {"two": "one", "three": "two"}.get(name)
        (tmp_path / name).mkdir()
        words = ("--diff", str(tmp_path / before / "r")) if before else ()
        found = report(tmp_path / name, etcdctl_text(objects, revision=revision), *words)
        assert [one["change"] for one in found["causes"]] == change
        if name == "two":
            assert sorted(one["new_objects"] for one in found["causes"]) == [1, 3]


def test_what_an_earlier_report_could_not_see_is_not_new(tmp_path: Path) -> None:
    nights = (("one", 1, ()), ("two", 0, ("--diff", str(tmp_path / "one" / "r"))))
    for revision, (name, cut, words) in enumerate(nights, start=9):
        (tmp_path / name).mkdir()
        found = report(tmp_path / name, etcdctl_text(OBJECTS, cut=cut, revision=revision), *words)
    assert [(one["change"], one["new_objects"]) for one in found["causes"]] == [(None, 0)] * 2


def test_a_fleet_has_those_of_each_cluster(tmp_path: Path) -> None:
    clusters = {"east": OBJECTS, "west": OBJECTS | dict([namespace("gone"), namespace("going")])}
    for name, objects in clusters.items():
        (tmp_path / f"{name}.json").write_text(etcdctl_text(objects))
        os.utime(tmp_path / f"{name}.json", (MADE, MADE))
    auditor("audit", tmp_path / "*.json", "--cluster-name", "{1}", "--report", tmp_path / "r", "--jobs", 1)
    found = json.loads(auditor("findings", tmp_path / "r", "-o", "json").stdout)
    assert [(one["cluster"], one["name"]) for one in found["namespaces"]] == [("east", "going"), ("east", "gone")]
    assert {tuple(one["clusters"]) for one in found["causes"]} == {("east",)}
    assert (found["deleting"]["objects"], found["deleting"]["long"]) == (6, 4)


def test_parts_are_searched_only_if_an_object_is_being_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr("pipelines.run.report.lifecycle._deleting", lambda *_: searched.append("parts"))
    stays = {key: one for key, one in OBJECTS.items() if "deletionTimestamp" not in one["metadata"]}
    report(tmp_path, etcdctl_text(stays))
    assert not searched
    report(tmp_path, etcdctl_text(OBJECTS))
    assert searched
