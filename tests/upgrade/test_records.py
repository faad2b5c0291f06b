"""An upgrade of the API server is grouped by the records of the table of changes: each makes its own difference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.plan.options import AuditOptions
from auditor.releases import changes, find_release, running_as
from auditor.shards.upgrade import UpgradeOptions
from auditor.shards.upgrade.scan import UpgradeAuditor
from auditor.upgrade.release_change import release_change
from pipelines.run.upgrade import run_upgrade
from tests.command import auditor
from tests.documents import definition_of
from tests.pipelines.test_kubernetes import COSTLY, DEFINITION, NEW_TEXT, OLD_TEXT, thing
from tests.upgrade.support import summary_of
from tests.upgrade.test_releases import of_kind, upgrade

if TYPE_CHECKING:
    from pathlib import Path

LISTS = definition_of(
    {"type": "object", "properties": {"l": {"type": "array", "minItems": 2, "items": {"type": "string"}}}}
)


def found(manifest: dict[str, Any]) -> dict[str | None, dict[str, Any]]:
    return {one["name"]: one for one in manifest["upgrade"]["kubernetes"]["records"]}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    documents = [
        DEFINITION,
        of_kind("y", definition_of({"type": "object", "properties": {"u": COSTLY}})),
        thing("few", l=["a"]),
        thing("few-too", l=["b"]),
        thing("standard", b="+/+/"),
        thing("url", b="-_-_"),
        thing("well", b="aGlq"),
    ]
    path = tmp_path / "dump.ndjson"
    path.write_text("\n".join(map(json.dumps, documents)))
    return path


def test_objects_and_definitions_are_counted_by_the_record_that_makes_the_difference(dump: Path) -> None:
    _, manifest = upgrade(dump, "--to-kubernetes", "1.38")
    shown = auditor("changes", dump.parent / "report").stdout
    records = found(manifest)
    assert records["too-few"]["objects"] == {"reworded": 2}
    assert records["too-few"]["samples"][0] == {"definition": "xs.x.example.com", "key": "n/few", "text": NEW_TEXT}
    assert records["standard-base64"]["objects"] == {"blocked": 1, "mended": 1}
    assert records["url-part-sizes"]["definitions"] == {
        "accepted": ["ys.y.example.com"],
        "cheaper": ["ys.y.example.com"],
    }
    assert records["exact-quantities"]["objects"] == records["cidr-is-mask"]["definitions"] == {}
    assert None not in records
    assert "too-few: 2 objects reworded" in shown
    assert NEW_TEXT in shown
    assert "standard-base64: 1 object blocked, 1 object repaired\n" in shown


def test_the_way_back_has_the_same_records(dump: Path) -> None:
    _, manifest = upgrade(dump, "--kubernetes", "1.38", "--to-kubernetes", "1.37")
    records = found(manifest)
    assert records["too-few"]["objects"] == {"reworded": 2}
    assert records["too-few"]["samples"][0]["text"] == OLD_TEXT
    assert records["standard-base64"]["objects"] == {"blocked": 1, "mended": 1}
    assert records["url-part-sizes"]["definitions"] == {"refused": ["ys.y.example.com"], "dearer": ["ys.y.example.com"]}


def test_a_difference_that_no_record_makes_alone_is_named_so(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tuple(one for one in changes.CHANGES if one.name != "too-few")
    monkeypatch.setattr("auditor.releases.changes.CHANGES", kept)
    code, manifest = run_upgrade(
        AuditOptions(dumps=(str(dump),), report=str(dump.parent / "report"), jobs=1, engine="inline"),
        UpgradeOptions((), to_kubernetes="1.38"),
    )
    shown = summary_of(str(dump.parent / "report"))
    assert code == 1
    assert found(manifest)[None]["objects"] == {"reworded": 2}
    line = next(line.split("  ") for line in shown.splitlines() if "2 objects reworded" in line)
    assert list(map(str.strip, filter(None, line)))[:3] == [
        *("Kubernetes", "2 objects"),
        "several together, or one of the rule language: 2 objects reworded",
    ]


def test_a_release_can_have_one_later_change_alone() -> None:
    old = find_release("1.37")
    one = type(old)(old.minor, old.version, also=frozenset({"too-few"}))
    with running_as(one):
        assert changes.TOO_FEW.holds
        assert not changes.CIDR_MASK.holds
    assert not changes.TOO_FEW.holds
    assert one != old


def test_definitions_that_do_not_differ_have_no_records() -> None:
    made = release_change(LISTS, find_release("1.37"), find_release("1.38"))
    assert made.records == made.refused == made.accepted == made.dearer == ()


@pytest.mark.parametrize(
    ("schema", "twice"), [({"minItems": 2}, 1), ({}, 0), ({"items": {"type": "string", "format": "byte"}}, 3)]
)
def test_an_object_that_no_record_concerns_is_judged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any], twice: int
) -> None:
    items = {"type": "array", "items": {"type": "string"}, **schema}
    spec = {"type": "object", "properties": {"l": items}}
    definition = definition_of({"type": "object", "properties": {"spec": spec}})
    documents = [definition, thing("few", l=["YQ=="]), thing("two", l=["YQ==", "Yg=="]), thing("none")]
    path = tmp_path / "dump.ndjson"
    path.write_text("\n".join(map(json.dumps, documents)))
    judged = []
    compare = UpgradeAuditor._compare

    def counted(self: UpgradeAuditor, row: Any, *words: Any, **more: Any) -> Any:
        judged.append(row.name)
        return compare(self, row, *words, **more)

    monkeypatch.setattr(UpgradeAuditor, "_compare", counted)
    _, manifest = run_upgrade(
        AuditOptions(dumps=(str(path),), report=str(tmp_path / "report"), jobs=1, engine="inline"),
        UpgradeOptions((), to_kubernetes="1.38"),
    )
    assert len(judged) == twice
    (found_,) = manifest["upgrade"]["definitions"]
    assert found_["objects"] == 3
    assert found_["categories"].get("reworded", 0) == ("minItems" in schema)
