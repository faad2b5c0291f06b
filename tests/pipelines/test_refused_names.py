"""A definition whose names another one has: the server answers 404 for its objects, and keeps them (v1.37.2)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import etcdctl_text, named_definition

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SAID = '"WidgetList" is already in use'
REFUSED = [
    {"type": "NamesAccepted", "status": "False", "reason": "ListKindConflict", "message": SAID},
    {"type": "Established", "status": "False", "reason": "NotAccepted", "message": "not all names are accepted"},
]
ACCEPTED = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]


def crd(plural: str, kind: str = "Widget", conditions: list[Any] | None = None) -> dict[str, Any]:
    found = named_definition(f"{plural}.a.io", kind, SCHEMA)
    if conditions is None:
        return found
    names = found["spec"]["names"]
    granted = names if conditions is ACCEPTED else {"kind": "", "plural": plural, "singular": names["singular"]}
    return {**found, "status": {"acceptedNames": granted, "storedVersions": ["v1"], "conditions": conditions}}


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names") / "d.json"
    values = {f"apiextensions.k8s.io/customresourcedefinitions/{plural}.a.io": crd(plural, conditions=conditions)
              for plural, conditions in (("gadgets", REFUSED), ("widgets", ACCEPTED))}  # fmt: skip
    for plural, name in (("gadgets", "x"), ("gadgets", "y"), ("widgets", "w")):
        metadata = {"name": name, "namespace": "default", "uid": name}
        values[f"a.io/{plural}/default/{name}"] = {"apiVersion": "a.io/v1", "kind": "Widget", "metadata": metadata}
    path.write_text(etcdctl_text(values))
    return path


def test_an_audit_says_why_in_the_words_of_the_server(dump: Path, tmp_path: Path) -> None:
    shown = " ".join(auditor("audit", dump, "--report", tmp_path / "r", "--jobs", 1).stdout.split())
    assert "Next: find out why a server answers 404 for 2 objects, whose definition it does not serve." in shown
    [cause] = json.loads(auditor("findings", tmp_path / "r", "-o", "json").stdout)["causes"]
    assert (cause["severity"], cause["impact"], cause["objects"]) == ("medium", "unserved", 2)
    why = f"the server answers 404 until its names are accepted (ListKindConflict: {SAID})"
    assert cause["messages"][0] == f"gadgets.a.io is not established: {why}"


@pytest.mark.parametrize(
    ("kind", "metadata", "is_refused"),
    [
        ("Widget", {}, True),
        ("Widget", {"labels": {"a": "b"}}, True),
        ("Gadget", {}, False),  # the server accepts the names, and serves the objects
    ],
)
def test_an_upgrade_that_leaves_it_so_is_not_safe(
    dump: Path, tmp_path: Path, kind: str, metadata: dict[str, Any], *, is_refused: bool
) -> None:
    path, new = tmp_path / "new.json", crd("gadgets", kind)
    path.write_text(json.dumps({**new, "metadata": {**new["metadata"], **metadata}}))
    scanned = auditor("upgrade", dump, "--new-crds", path, "--report", tmp_path / "u", "--jobs", 1)
    shown = " ".join(scanned.stdout.split())
    assert not shown.startswith("safe")
    said = "no server serves it as long as other definitions have its names"
    assert (said in shown, shown.startswith("attention")) == (is_refused, is_refused)
