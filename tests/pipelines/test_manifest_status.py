"""Definitions in manifests that have a status which no server wrote, as generators write it: a server drops it."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import definition_of

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": []}
"""What older versions of controller-gen write."""
REFUSED = [{"type": name, "status": "False"} for name in ("NamesAccepted", "Established")]
OF_MANIFESTS: list[Any] = [
    EMPTY,
    {},
    None,
    {"conditions": None},
    {"storedVersions": ["v1"]},
    {"conditions": REFUSED},
    {"acceptedNames": {"kind": "X", "listKind": "XList", "plural": "xs", "singular": "x"}, "conditions": []},
]
SCHEMA = {"type": "object", "properties": {"decks": {"type": "integer", "maximum": 5}}}
HANSA = {
    "apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": "hansa", "namespace": "d", "uid": "u"},
    "decks": 9,
}  # fmt: skip


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def folder_of(path: Path, status: Any) -> Path:
    """Write a folder of a definition and an object that it refuses."""
    path.mkdir()
    (path / "crd.json").write_text(json.dumps({**definition_of(SCHEMA), "status": status}))
    (path / "hansa.json").write_text(json.dumps(HANSA))
    return path


@pytest.mark.parametrize("status", OF_MANIFESTS)
def test_the_kind_is_judged_in_every_command(tmp_path: Path, status: Any) -> None:
    folder = folder_of(tmp_path / "port", status)
    definition = folder / "crd.json"
    audited = auditor("audit", folder, "--report", tmp_path / "r", "--jobs", 1)
    assert (audited.code, "1 invalid" in audited.stdout) == (1, True), audited.output
    given = auditor("audit", folder / "hansa.json", "--crds", definition, "--report", tmp_path / "g", "--jobs", 1)
    assert (given.code, "1 invalid" in given.stdout) == (1, True), given.output
    for queried in (folder, tmp_path / "r"):
        assert auditor("query", queried, "xs", "-n", "d", "-o", "name").stdout == "x.x.example.com/hansa\n"
    assert auditor("validate", folder).code == 1
    assert auditor("validate", folder / "hansa.json", "--crds", definition).code == 1
    assert auditor("crds", "check", definition).code == 0
    assert auditor("crds", "check", definition, "--old", definition).code == 0
    kinds = {kind["kind"]: kind["objects"] for kind in json.loads(auditor("kinds", folder, "-o", "json").stdout)}
    assert kinds == {"CustomResourceDefinition": 1, "X": 1}


def test_an_upgrade_compares_its_objects(tmp_path: Path) -> None:
    fine = {**HANSA, "decks": 5}
    folder = folder_of(tmp_path / "port", EMPTY)
    (folder / "hansa.json").write_text(json.dumps(fine))
    new = tmp_path / "new.json"
    tighter = {"type": "object", "properties": {"decks": {"type": "integer", "maximum": 4}}}
    new.write_text(json.dumps({**definition_of(tighter), "status": EMPTY}))
    scanned = auditor("upgrade", folder, "--new-crds", new, "--report", tmp_path / "u", "--jobs", 1)
    assert (scanned.code, "1 object becomes invalid" in scanned.stdout) == (1, True), scanned.output
    assert "should be less than or equal to 4" in auditor("changes", tmp_path / "u").stdout


@pytest.mark.parametrize("keyed", [False, True], ids=["export", "keyed"])
def test_a_status_of_a_server_counts(tmp_path: Path, *, keyed: bool) -> None:
    """In etcd each status is a server's; in an export it is one if a condition is true."""
    conditions = [{"type": "NonStructuralSchema", "status": "True"}, *REFUSED]
    document = {**definition_of(SCHEMA), "status": {**EMPTY, "conditions": REFUSED if keyed else conditions}}
    path = tmp_path / "d.json"
    if keyed:
        values = {"apiextensions.k8s.io/customresourcedefinitions/xs.x.example.com": document}
        values["x.example.com/xs/d/hansa"] = HANSA
        rows = [
            {"key": _base64(f"/registry/{place}"), "mod_revision": 2, "value": _base64(json.dumps(value))}
            for place, value in values.items()
        ]
        path.write_text(json.dumps({"header": {"revision": 9}, "kvs": rows, "count": len(rows)}))
    else:
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [document, HANSA]}))
    audited = auditor("audit", path, "--report", tmp_path / "r", "--jobs", 1)
    assert "1 unserved" in audited.stdout, audited.output
