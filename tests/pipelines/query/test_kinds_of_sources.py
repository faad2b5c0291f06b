"""`auditor kinds` and `explain --values` give the same answers for each form of a dump, where it has the data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import DELETING, Store, definition
from tests.sources.archives.writing import must_gather, rancher, secret, tgz, velero, widget

if TYPE_CHECKING:
    from pathlib import Path

GONE = widget("gone", "shop", grams=7)
GONE["metadata"] |= {**DELETING, "creationTimestamp": "2025-12-31T23:00:00Z"}
ALL = [
    definition("Widget", group="example.com"),
    *(widget(f"w{number}", f"ns{number % 3}", grams=number % 2) for number in range(7)),
    secret("s", "ns0"),
    GONE,
]
FORMS = ("velero", "rancher", "must-gather", "manifests", "etcdctl")


def _dump(form: str, path: Path) -> Path:
    if form in ("manifests", "etcdctl"):
        store = Store()
        for obj in ALL:
            store.put(obj, "/registry/secrets/ns0/s" if obj["kind"] == "Secret" else None)
        store.write(path, "etcdctl" if form == "etcdctl" else "export")
        return path
    files = {"velero": velero, "rancher": rancher, "must-gather": must_gather}[form](ALL)
    path.write_bytes(tgz(files))
    return path


def _rows(*words: object) -> list[dict[str, Any]]:
    done = auditor(*words, "-o", "json")
    assert done.code == 0, done.output
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_dump_gives_the_same_kinds(form: str, tmp_path: Path) -> None:
    dump = _dump(form, tmp_path / "dump")
    rows = {
        row["name"]: row for row in _rows("kinds", dump) if row["kind"] != "Namespace"
    }  # a must-gather has these too
    counts = {name: (row["objects"], row["deleting"], bool(row["storedVersions"])) for name, row in rows.items()}
    is_stored = form == "etcdctl"
    assert counts == {
        "customresourcedefinitions.apiextensions.k8s.io": (1, 0, is_stored),
        "secrets": (1, 0, is_stored),
        "widgets.example.com": (8, 1, is_stored),
    }
    [gone] = _rows("kinds", dump, "--deleting")
    assert (gone["name"], gone["since"], gone["finalizers"]) == ("gone", "2026-01-01T00:00:00Z", ["example.com/wait"])
    values = {row["value"]: row["objects"] for row in _rows("explain", dump, "widgets.spec.grams", "--values")}
    assert values == {"0": 4, "1": 3, "7": 1}
    assert [row["kind"] for row in _rows("kinds", dump, "-n", "shop")] == ["Widget"]
