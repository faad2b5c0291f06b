"""A report finds objects in its dump by their positions, without reading the keys of the dump again."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from auditor.base.errors import PlanError
from auditor.plan.options import AuditOptions
from auditor.printing.get.options import GetOptions
from auditor.server import report as report_store
from pipelines.run import query
from pipelines.run.audit import run_audit
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import run_query

SAMPLE = Path(__file__).resolve().parents[3] / "sample-data" / "cluster.db.gz"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    dump = tmp_path / "cluster.db"
    dump.write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    run_audit(AuditOptions(dumps=(str(dump),), report=str(tmp_path / "report"), fail_on="never"))
    return tmp_path / "report"


def test_objects_are_read_without_a_scan(
    report: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(target: Path, *args: str, **more: Any) -> str:
        options = QueryOptions(str(target), args=args, get=GetOptions(now=1_780_000_000.0), **more)
        assert run_query(options) == 0
        return capsys.readouterr().out

    asked: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("loaves",), {"output": "yaml", "fields": "spec.flour=rye"}),
        (("loaves", "too-heavy"), {"output": "json", "namespace": "south"}),
        (("ovens",), {"output": "wide"}),
        (("loaves",), {"output": "csv", "where": "has(spec.grams) && spec.grams > 500"}),
    ]
    wanted = [run(report.parent / "cluster.db", *args, **more) for args, more in asked]

    def scan(*_: Any, **__: Any) -> Any:
        raise AssertionError("the keys of the dump are read")

    monkeypatch.setattr(query, "make_plan", scan)
    monkeypatch.setattr(report_store, "make_plan", scan)
    assert [run(report, *args, **more) for args, more in asked] == wanted
    assert all(wanted)


def test_a_dump_that_changed_is_refused(report: Path) -> None:
    dump = report.parent / "cluster.db"
    data = bytearray(dump.read_bytes())
    data[-1] ^= 1
    dump.write_bytes(data)
    with pytest.raises(PlanError, match="is not the dump that the report was made from"):
        run_query(QueryOptions(str(report), args=("loaves",)))
