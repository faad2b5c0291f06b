"""Keys of several API servers in one etcd: those of the others are named, with the option that judges them."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from auditor.sources import open_source
from auditor.sources.source_plan import SourcePlan
from tests.command import auditor

if TYPE_CHECKING:
    from pathlib import Path

CRD = "apiextensions.k8s.io/customresourcedefinitions/xs.x.example.com"


def dump(path: Path, *keys: str) -> Path:
    rows = [
        {"key": base64.b64encode(key.encode()).decode(), "mod_revision": 2, "value": base64.b64encode(b"{}").decode()}
        for key in sorted(keys)
    ]
    path.write_text(json.dumps({"header": {"revision": 9}, "kvs": rows, "count": len(rows)}))
    return path


def notes(path: Path, prefix: str) -> list[str]:
    plan = open_source(str(path), number=0, workdir=path.parent, etcd_prefix=prefix)
    assert isinstance(plan, SourcePlan)
    return [note.partition(", as those")[0] for note in plan.notes if "/, as those of another API server" in note]


@pytest.mark.parametrize(
    ("prefix", "named"),
    [
        ("/registry", ["3 keys are below /east/", "1 key is below /west/"]),
        ("/east", ["2 keys are below /registry/", "1 key is below /west/"]),
        ("west/", ["3 keys are below /east/", "2 keys are below /registry/"]),
        ("/", []),
    ],
)
def test_each_other_server_is_named(tmp_path: Path, prefix: str, named: list[str]) -> None:
    of_east = [f"/east/{one}" for one in (CRD, "namespaces/a", "x.example.com/xs/d/a")]
    of_registry = [f"/registry/{one}" for one in (CRD, "pods/d/a")]
    path = dump(
        tmp_path / "d.json", *of_east, *of_registry, "/west/namespaces/a", "/registry.io/lock", "compact_rev_key"
    )
    assert notes(path, prefix) == named


def test_keys_of_another_program_are_no_server(tmp_path: Path) -> None:
    path = dump(tmp_path / "d.json", f"/registry/{CRD}", "/coreos.com/network/config", "/cilium/state/identities/v1/1")
    assert notes(path, "/registry") == []


def test_the_summary_says_how_to_judge_them(tmp_path: Path) -> None:
    path = dump(tmp_path / "d.json", "/registry/namespaces/a", "/east/namespaces/a")
    ended = auditor("audit", path, "--report", tmp_path / "r", "--jobs", 1)
    said = " ".join(ended.stdout.split())
    assert "not judged in this run (a further --etcd-prefix /east of `audit` judges them)" in said
    assert "1 key that belongs to no object below /registry" in said
