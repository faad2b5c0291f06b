"""What `auditor diff` compares: the dumps of reports, revisions of snapshots, all fields, and kinds of little interest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import export_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_report_stands_for_its_dump(sample: str, tmp_path: Path) -> None:
    report = str(tmp_path / "report")
    assert auditor("audit", sample, "--report", report, "--fail-on", "never", "--engine", "inline").code == 0
    assert "0 added, 0 removed, 0 changed" in auditor("diff", sample, report).stdout
    done = auditor("diff", report, report, "loaves")
    assert done.code == 0
    assert done.stderr == f"these are objects: `auditor findings {report} --against {report}` compares the findings\n"
    (tmp_path / "cluster.db").unlink()
    done = auditor("diff", report, report)
    assert done.code == 2
    assert "the dump of this report is not here; --dump names it" in done.stderr


def test_findings_are_compared_elsewhere(sample: str) -> None:
    done = auditor("diff", sample, sample, "--fail-on", "invalid")
    assert done.code == 2
    assert "`auditor findings NEW --against OLD --fail-on LEVEL`" in done.stderr


def test_a_revision_of_a_snapshot_is_compared(sample: str) -> None:
    done = auditor("diff", f"{sample}@49", sample, "loaves", "-o", "json")
    assert (done.code, json.loads(done.stdout)) == (0, [])
    done = auditor("diff", f"{sample}@10", f"{sample}@12", "-o", "ndjson")
    assert {json.loads(line)["change"] for line in done.stdout.splitlines()} == {"added"}
    done = auditor("diff", f"{sample}@9999", sample)
    assert done.code == 2
    assert "future revision" in done.stderr
    assert "there is no such file" in auditor("diff", f"{sample}x@9", sample).stderr


def test_all_fields_that_differ_are_named_also_those_of_the_status(tmp_path: Path) -> None:
    states = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "status": {f"f{field}": night for field in range(7)},
        }
        for night in (1, 2)
    ]
    old, new = (export_of(tmp_path / f"{number}.json", state) for number, state in enumerate(states))
    assert ", ".join(f"status.f{field}" for field in range(7)) in auditor("diff", old, new, "-o", "wide").stdout


def test_leases_and_events_are_one_line_each_unless_asked_for(tmp_path: Path) -> None:
    def lease(name: str, time: str) -> dict[str, Any]:
        place = {"name": name, "namespace": "kube-system"}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": place,
            "spec": {"holderIdentity": time},
        }

    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "shop"}, "involvedObject": {}}
    old = export_of(tmp_path / "old.json", lease("a", "1"), lease("b", "1"), lease("c", "1"))
    new = export_of(tmp_path / "new.json", lease("a", "2"), lease("b", "2"), lease("c", "1"), event)
    rows = [" ".join(line.split()) for line in auditor("diff", old, new).stdout.splitlines()]
    assert sorted(rows[3:5]) == [
        "folded events 1 added -o prints each",
        "folded leases.coordination.k8s.io 2 changed -o prints each",
    ]
    assert rows[0] == "1 added, 0 removed, 2 changed, 1 the same"
    assert auditor("diff", old, new, "leases").stdout.count("kube-system/") == 2
    assert auditor("diff", old, new, "-o", "wide").stdout.count("kube-system") == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--against", "out", "--kind", "Loaf"), "give no CAUSE and no filter"),
        (("3fa91c02", "--against", "out"), "give no CAUSE and no filter"),
        (("--fail-on", "invalid"), "--fail-on needs --against"),
    ],
)
def test_findings_refuse_what_a_comparison_does_not_take(words: tuple[str, ...], reason: str) -> None:
    done = auditor("findings", "out", *words)
    assert done.code == 2
    assert reason in done.stderr


def test_an_export_without_objects_of_a_kind_may_not_have_exported_them(sample: str, tmp_path: Path) -> None:
    things = [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "n"}}
        for kind in ("ConfigMap", "Pod", "Secret", "Service", "Endpoints")
        for name in ("a", "b")
    ]
    whole = export_of(tmp_path / "whole.json", *things)
    part, pods = (export_of(tmp_path / f"{count}.json", *things[:count]) for count in (1, 4))
    done = auditor("diff", whole, part)
    assert done.stdout.startswith("0 added, 9 removed, 0 changed, 1 the same\n")
    note = "the export has no objects of {}; they may not have been exported\n"
    assert done.stderr == f"note: NEW: {note.format('endpoints, pods, secrets and 1 more kind')}"
    assert auditor("diff", pods, whole).stderr == f"note: OLD: {note.format('endpoints, secrets and services')}"
    assert auditor("diff", pods, part, "-o", "json").stderr == f"note: NEW: {note.format('pods')}"
    assert auditor("diff", whole, part, "configmaps").stderr == auditor("diff", whole, whole).stderr == ""
    assert "may not have been exported" not in auditor("diff", f"{sample}@10", sample).stderr
