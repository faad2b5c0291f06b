"""Guarded fields in the report of an audit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.base.errors import PlanError
from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.gates.support import definition, gate, loaf

if TYPE_CHECKING:
    from pathlib import Path


def named(name: str, spec: Any) -> Any:
    made = loaf(spec)
    made["metadata"]["name"] = name
    return made


@pytest.fixture
def audit(tmp_path: Path) -> Any:
    def run(*gates: Any, **options: Any) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
        crds, dump = tmp_path / "crd.json", tmp_path / "objects.json"
        crds.write_text(json.dumps(definition(list(gates)).document))
        objects = [named("a", {"replicas": 1, "rep": 1}), named("b", {"replicas": 2}), named("c", {})]
        dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        report = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        code, manifest = run_audit(AuditOptions((str(dump),), (str(crds),), report=str(report), **options))
        return code, manifest, pq.read_table(report / "findings").to_pylist()

    return run


def test_fields_in_use_are_rows_that_invalidate_nothing(audit: Any) -> None:
    deprecated = gate("Old", ".spec.rep", stage="deprecated", default=True, deprecatedWarning="use replicas")
    code, manifest, rows = audit(gate("New", ".spec.replicas"), deprecated)
    assert code == 0
    assert [(row["name"], row["field"], row["type"], row["check"]) for row in rows] == [
        ("a", "spec.rep", "DeprecatedFieldInUse", "gate"),
        ("a", "spec.replicas", "GatedFieldInUse", "gate"),
        ("b", "spec.replicas", "GatedFieldInUse", "gate"),
    ]
    assert rows[0]["detail"] == "use replicas; gate Old (deprecated) is on"
    counted = {(one["field"], one["type"]): one["count"] for one in manifest["findings"]}
    assert counted == {("spec.replicas", "GatedFieldInUse"): 2, ("spec.rep", "DeprecatedFieldInUse"): 1}
    assert [kind["statuses"] for kind in manifest["kinds"] if kind["kind"] == "Loaf"] == [{"valid": 3}]


def test_a_gate_that_is_on_has_no_findings(audit: Any) -> None:
    assert audit(gate("New", ".spec.replicas"), field_gates="New=true")[2] == []
    assert audit()[2] == []


def test_what_is_asked_of_gates_is_checked_before_anything_is_read(audit: Any, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="unrecognized feature gate: Nope"):
        audit(gate("New", ".spec.replicas"), field_gates="Nope=true")
    with pytest.raises(PlanError, match="its gates are not valid"):
        audit(gate("", ".spec.replicas"))
    sidecar = tmp_path / "gates.yaml"
    sidecar.write_text(json.dumps({"loaves.bakery.example.com": {"featureGates": [gate("Side", ".spec.rep")]}}))
    rows = audit(gate("New", ".spec.replicas"), gate_sidecars=(str(sidecar),))[2]
    assert [row["field"] for row in rows] == ["spec.rep"]
