"""A definition that is being deleted: the server deletes its objects as soon as it runs, and refuses creates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import definition_of, etcdctl_text

if TYPE_CHECKING:
    from pathlib import Path

MARKED = {"deletionTimestamp": "2026-09-01T00:00:00Z", "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]}


def crd(metadata: dict[str, Any], *conditions: str) -> dict[str, Any]:
    found = definition_of({"type": "object"})
    names = found["spec"]["names"]
    true = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established", *conditions)]
    accepted = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}
    found["metadata"] |= metadata
    return {**found, "status": {"acceptedNames": accepted, "storedVersions": ["v1"], "conditions": true}}


def dump(path: Path, definition: dict[str, Any], *names: str) -> Path:
    spec = definition["spec"]
    head = {"apiVersion": f"{spec['group']}/v1", "kind": spec["names"]["kind"]}
    objects = [{**head, "metadata": {"name": name, "namespace": "d", "uid": name}} for name in names]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (definition, *objects)))
    return path


@pytest.mark.parametrize("definition", [crd(MARKED, "Terminating"), crd(MARKED), crd({}, "Terminating")])
def test_its_objects_are_critical_and_an_upgrade_blocks(tmp_path: Path, definition: dict[str, Any]) -> None:
    path = dump(tmp_path / "d.ndjson", definition, "a", "b")
    audited = auditor("audit", path, "--report", tmp_path / "r", "--jobs", 1)
    assert audited.code == 1
    assert "save the objects whose definition is being deleted" in audited.stdout
    [cause] = json.loads(auditor("findings", tmp_path / "r", "-o", "json").stdout)["causes"]
    assert (cause["severity"], cause["impact"], cause["objects"]) == ("critical", "is-deleted", 2)
    new = tmp_path / "new.json"
    new.write_text(json.dumps(definition_of({"type": "object"})))
    scanned = auditor("upgrade", path, "--new-crds", new, "--report", tmp_path / "u", "--jobs", 1)
    assert scanned.code == 1
    assert "it is being deleted: a server removes it, with 2 objects, as soon as it runs" in " ".join(
        scanned.stdout.split()
    )


def test_its_objects_are_saved_before_a_list_is_repaired(tmp_path: Path) -> None:
    """The server deletes nothing as long as it cannot list the kind; a repair before a copy loses the objects."""
    definition = crd(MARKED, "Terminating")
    whole = json.loads(dump(tmp_path / "d.ndjson", definition, "a").read_text().splitlines()[1])
    spec = definition["spec"]
    kind = f"{spec['group']}/{spec['names']['plural']}/d"
    crds = "apiextensions.k8s.io/customresourcedefinitions"
    values = {f"{crds}/{definition['metadata']['name']}": definition, f"{kind}/a": whole, f"{kind}/torn": "no object"}
    (tmp_path / "e.json").write_text(etcdctl_text(values))
    audited = auditor("audit", tmp_path / "e.json", "--report", tmp_path / "r", "--jobs", 1)
    text = " ".join(audited.stdout.split())
    assert "cannot be listed or watched" in text
    assert "Next: save the objects whose definition is being deleted" in text


def test_one_that_is_not_is_fine(tmp_path: Path) -> None:
    path = dump(tmp_path / "d.ndjson", crd({}), "a")
    audited = auditor("audit", path, "--report", tmp_path / "r", "--jobs", 1)
    assert (audited.code, "nothing to do" in audited.stdout) == (0, True)


def test_what_is_being_deleted_tonight_is_new(tmp_path: Path) -> None:
    for night, definition in (("one", crd({})), ("two", crd(MARKED, "Terminating"))):
        path = dump(tmp_path / f"{night}.ndjson", definition, "a")
        words = ("--report", tmp_path / night, "--jobs", 1, "--fail-on", "data-loss")
        audited = auditor(
            "audit", path, *words, *(("--diff", tmp_path / "one", "--only-new") if night == "two" else ())
        )
        assert audited.code == (0 if night == "one" else 1), audited.output
