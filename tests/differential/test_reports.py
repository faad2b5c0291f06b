"""The comparison of two trees sees what differs, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.differential.reports import Case, compare, corpus_cases, differences, run, sample_cases
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def report(folder: Path, manifest: dict[str, object], **files: bytes) -> Path:
    """Write something like a report."""
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("manifest", "files", "expected"),
    [
        ({"rows": 3, "seconds": 9}, {"a": b"x"}, []),
        ({"rows": 4}, {"a": b"x"}, ["manifest.json: .rows: 3 -> 4"]),
        ({"rows": 3}, {"a": b"y"}, ["a: the bytes differ"]),
        ({"rows": 3}, {}, ["a: only in one of the reports"]),
    ],
)
def test_differences(tmp_path: Path, manifest: dict[str, object], files: dict[str, bytes], expected: list[str]) -> None:
    one = report(tmp_path / "one", {"rows": 3, "seconds": 1}, a=b"x")
    assert differences(one, report(tmp_path / "other", manifest, **files)) == expected


def test_a_tree_agrees_with_itself_and_not_with_another_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(sample_cases(ROOT))
    assert compare(ROOT, [case], tmp_path) == 0
    (tmp_path / "base" / f"{case.name}.txt").write_text("3\nanother answer")
    assert compare(ROOT, [case], tmp_path) == 1
    assert "another answer" in capsys.readouterr().out


def test_drawn_objects_are_put_at_keys(tmp_path: Path) -> None:
    crds = tmp_path / "crds.json"
    names = {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    crds.write_text(json.dumps(definition | {"metadata": {"name": "things.example.com"}}))
    corpus = tmp_path / "few.ndjson"
    metadata = {"namespace": "a", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    lines = [
        {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata | {"name": f"n{number}"}}
        for number in range(41)
    ]
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    cases = {case.name: case for case in corpus_cases(corpus, crds, tmp_path)}
    counts = {}
    for name in ("few-keyed", "few-night"):
        assert run(ROOT, Case(name, cases[name].command), tmp_path).startswith("0\n")
        counts[name] = json.loads((tmp_path / name / "manifest.json").read_text())["counts"]["statuses"]
    assert counts["few-keyed"]["valid"] == 41
    assert counts["few-night"]["valid"] == 40
