"""`auditor upgrade --to-kubernetes`: what a new release of the API server does to stored objects and definitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.documents import definition_of
from tests.pipelines.test_kubernetes import COSTLY, DEFINITION, NEW_TEXT, audit, refused, run, thing

if TYPE_CHECKING:
    from pathlib import Path


def of_kind(letter: str, document: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(document).replace("xs.x.example", f"{letter}s.{letter}.example")
    text = text.replace('"x.example.com', f'"{letter}.example.com').replace('"xs"', f'"{letter}s"')
    return json.loads(text.replace('"X"', f'"{letter.upper()}"'))


OPEN = definition_of(
    {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
)
DOCUMENTS = [
    DEFINITION,
    of_kind("y", definition_of({"type": "object", "properties": {"u": COSTLY}})),
    of_kind("z", OPEN),
    thing("few", l=["a"]),
    thing("standard", b="+/+/"),
    thing("url", b="-_-_"),
    thing("well", b="aGlq"),
    of_kind("z", thing("other", a=1)),
]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.ndjson"
    path.write_text("\n".join(map(json.dumps, DOCUMENTS)))
    return path


def upgrade(dump: Path, *words: Any, expect: int = 1) -> tuple[str, dict[str, Any]]:
    report = dump.parent / "report"
    shown = run("upgrade", dump, "--report", report, "--force", *words, expect=expect).stdout
    return shown, json.loads((report / "manifest.json").read_text())


def test_objects_are_compared_under_both_releases(dump: Path) -> None:
    shown, manifest = upgrade(dump, "--to-kubernetes", "1.38")
    section = manifest["upgrade"]
    assert shown.startswith("blocks, because of xs.x.example.com (updates of 1 object that pass today are refused)\n")
    assert "Kubernetes v1.37.2 to v1.38.0-alpha.2: 7 behaviours differ (auditor releases 1.37 1.38)\n" in shown
    assert manifest["kubernetes_release"] == section["kubernetes"]["to"] == "v1.38.0-alpha.2"
    assert section["kubernetes"]["from"] == "v1.37.2"
    assert {"too-few", "standard-base64"} <= {one["name"] for one in section["kubernetes"]["records"]}
    found = {one["name"]: one for one in section["definitions"]}
    assert found["xs.x.example.com"]["categories"] == {"blocked": 1, "mended": 1, "reworded": 1, "unchanged": 1}
    assert found["xs.x.example.com"]["samples"]["reworded"][0]["text"] == NEW_TEXT
    assert found["xs.x.example.com"]["samples"]["blocked"][0]["key"] == "n/url"
    assert found["zs.z.example.com"]["categories"] == {"unchanged": 1}
    rows = pq.read_table(dump.parent / "report" / "findings").to_pylist()
    assert NEW_TEXT in {row["message"] for row in rows}


def test_a_definition_that_another_release_refuses_needs_attention(dump: Path) -> None:
    _, manifest = upgrade(dump, "--to-kubernetes", "1.38")
    found = {one["name"]: one for one in manifest["upgrade"]["definitions"]}["ys.y.example.com"]
    note = "Kubernetes 1.38 accepts a create of it, which today's server refuses"
    assert (found["decision"], found["notes"]) == ("safe", [note])
    assert note in run("changes", dump.parent / "report", "ys.y.example.com", expect=0).stdout
    _, manifest = upgrade(dump, "--kubernetes", "1.38", "--to-kubernetes", "1.37")
    (costly,) = (one for one in manifest["upgrade"]["definitions"] if one["name"] == "ys.y.example.com")
    assert costly["decision"] == "attention"
    assert costly["reasons"][0].startswith("Kubernetes 1.37 refuses a create of it: spec.validation.openAPIV3Schema")
    assert "invalid" in costly["levels"]


def test_new_definitions_and_a_new_release_are_scanned_together(dump: Path, tmp_path: Path) -> None:
    new = json.loads(json.dumps(DEFINITION).replace('"minItems": 2', '"minItems": 1'))
    crds = tmp_path / "new.json"
    crds.write_text(json.dumps(new))
    _, manifest = upgrade(dump, "--to-kubernetes", "1.38", "--new-crds", crds)
    (found,) = (one for one in manifest["upgrade"]["definitions"] if one["name"] == "xs.x.example.com")
    assert (found["action"], found["categories"]) == ("update", {"blocked": 1, "mended": 2, "unchanged": 1})
    _, manifest = upgrade(dump, "--new-crds", crds, expect=0)
    assert manifest["upgrade"]["kubernetes"] is None
    assert [one["name"] for one in manifest["upgrade"]["definitions"]] == ["xs.x.example.com"]
    assert manifest["upgrade"]["definitions"][0]["categories"] == {"broken-before": 1, "mended": 1, "unchanged": 2}


def test_the_same_release_changes_nothing(dump: Path) -> None:
    shown, manifest = upgrade(dump, "--to-kubernetes", "1.37", expect=0)
    assert shown.startswith("safe\n")
    assert manifest["upgrade"]["kubernetes"] is None


def test_the_result_does_not_depend_on_the_number_of_workers(dump: Path) -> None:
    alone = upgrade(dump, "--to-kubernetes", "1.38", "--jobs", 1)[1]["upgrade"]
    together = upgrade(dump, "--to-kubernetes", "1.38", "--jobs", 2, "--engine", "processes")[1]["upgrade"]
    assert alone == together


def test_a_reworded_finding_is_neither_new_nor_fixed(dump: Path) -> None:
    audit(dump)
    report = dump.parent / "report"
    report.rename(dump.parent / "old")
    _, manifest, messages = audit(dump, "--kubernetes", "1.38", "--diff", dump.parent / "old")
    assert NEW_TEXT in messages
    rows = pq.read_table(report / "findings").to_pylist()
    assert {row["change"] for row in rows if row["type"] == "FieldValueTooFew"} == {"same"}
    fixed = pq.read_table(report / "fixed").to_pylist()
    assert {row["name"] for row in fixed} == {"standard"}
    assert {row["name"] for row in rows if row["change"] == "new"} == {"url"}
    assert manifest["diff"]["findings"]["same"] > 0


def test_what_changes_nothing_is_a_usage_error(dump: Path) -> None:
    done = run("upgrade", dump, "--report", dump.parent / "report", expect=2)
    assert "give --new-crds PATH, --to-kubernetes RELEASE, or both" in done.output
    words = ("upgrade", dump, "--report", dump.parent / "report", "--to-kubernetes", "1.31")
    assert "'1.31' is not a release that is known" in refused(*words)
