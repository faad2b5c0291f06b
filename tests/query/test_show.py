"""What `auditor show` tells of objects that a report knows by their names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.errors import PlanError
from pipelines.config import AuditOptions
from pipelines.fleet import run_anywhere
from pipelines.query import QueryOptions
from pipelines.run import run_audit
from pipelines.show import run_show
from tests.incremental.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

WIDE = loaf("wide", kind="Pan", namespace=None, grams=900)
HEAVY, ODD = loaf("x", namespace="a", grams=900), loaf("x", namespace="b", flour="sand")


def shown(report: Path, key: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[Any], list[str]]:
    """Return (namespace, name) of the rows that a report has of a key, and the fields of the findings of a create."""
    run_show(QueryOptions(str(report)), key, output="json")
    judged = json.loads(capsys.readouterr().out.partition("---\n")[0])["report"]
    fields = [one["field"] for one in judged["findings"] if one["request"] == "create"]
    return [(one.get("namespace"), one["name"]) for one in judged["objects"]], fields


@pytest.mark.parametrize("form", ["etcdctl", "export"])
@pytest.mark.parametrize(
    ("key", "objects", "fields"),
    [
        ("a/x", [("a", "x")], ["spec.grams"]),
        ("x", [("a", "x"), ("b", "x")], ["spec.grams", "spec.flour"]),
        ("wide", [(None, "wide")], ["spec.grams"]),
        ("/wide", [(None, "wide")], ["spec.grams"]),  # as the summary calls it
    ],
)
def test_rows_and_findings_are_of_the_same_objects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, key: str, objects: list[Any], fields: list[str]
) -> None:
    store = Store(definition(), definition("Pan", scope="Cluster"), HEAVY, ODD, WIDE)
    report = tmp_path / "report"
    run_audit(AuditOptions(dumps=(store.write(tmp_path / "dump.json", form),), report=str(report)))
    assert shown(report, key, capsys) == (objects, fields)
    for other in ("c/x", "/x", "a/wide"):
        with pytest.raises(PlanError, match=f"no key {other}"):
            run_show(QueryOptions(str(report)), other, output="json")


def test_of_several_objects_each_finding_says_whose_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for cluster in ("east", "west"):
        (tmp_path / cluster).mkdir()
        Store(definition(), HEAVY, ODD).write(tmp_path / cluster / "dump.json", "etcdctl")
    report = tmp_path / "report"
    run_anywhere(AuditOptions(dumps=(f"{tmp_path}/*/dump.json",), cluster="{1}", report=str(report)))
    found = []
    for key in (Store.key(HEAVY), "x"):
        run_show(QueryOptions(str(report)), key, output="json")
        judged = json.loads(capsys.readouterr().out.partition("---\n")[0])["report"]
        creates = [one for one in judged["findings"] if one["request"] == "create"]
        found.append([(one["cluster"], one.get("namespace"), one["field"]) for one in creates])
    assert found[0] == [("east", None, "spec.grams"), ("west", None, "spec.grams")]
    assert found[1][:2] == [("east", "a", "spec.grams"), ("east", "b", "spec.flour")]
