"""Rows of a shard: one record of the columns, an observer that sees objects, a sink that takes rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.plan.cut import cut_shards
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import make_plan
from auditor.shards.row_writer import PartFiles, RowWriter
from auditor.shards.shard_audit import ShardAuditor
from tests.documents import definition_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.plan.run_plan import Plan

SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


def planned(folder: Path, **options: Any) -> Plan:
    """Return the plan of a dump with valid and invalid objects."""
    crds, dump = folder / "crd.json", folder / "dump.ndjson"
    crds.write_text(json.dumps(definition_of(SCHEMA)))
    objects = [
        {
            "apiVersion": "x.example.com/v1",
            "kind": "X",
            "metadata": {
                "name": f"n{number}",
                "namespace": "a",
                "uid": "u",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:size": {}}}}],
            },
            "spec": {"size": "no" if number % 3 == 0 else number},
        }
        for number in range(90)
    ]
    dump.write_text("".join(json.dumps(one) + "\n" for one in objects))
    for name in ("objects", "findings"):
        (folder / "parts" / name).mkdir(parents=True)
    return make_plan(AuditOptions(dumps=(str(dump),), crds=(str(crds),), **options), folder)


def sampled(folder: Path) -> Plan:
    """Return the plan of the sample."""
    folder.mkdir()
    return make_plan(AuditOptions(dumps=(str(ROOT / "sample-data" / "cluster.db.gz"),)), folder)


class Seen:
    """An observer that notes names."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def begin(self) -> None:
        """Forget all."""
        self.names = []

    def rejudged(self, _definition: Any, _data: bytes, judged: Any) -> Any:
        """Let it be as it is."""
        return judged

    def on_judged(self, row: Any, _definition: Any, judged: Any, _outcome: Any) -> None:
        """Note an object, and whether it is valid."""
        self.names.append(f"{row.name} {not judged.audited.findings}")


class Counted(PartFiles):
    """A sink that writes nothing."""

    def write(self, rows: Any, _parts: Any) -> None:
        """Note how many rows there are."""
        self.rows = len(rows.objects), len(rows.found)


@pytest.mark.parametrize("fast", [True, False])
def test_every_row_of_objects_is_written_in_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fast: bool
) -> None:
    """Custom resources of all paths, built-in kinds, definitions and keys without an object."""
    if not fast:
        monkeypatch.setattr(ShardAuditor, "uses_fast_paths", lambda *_: False)
    written: list[str] = []
    write = RowWriter.write

    def noted(*words: Any, **more: Any) -> str:
        written.append(write(*words, **more))
        return written[-1]

    monkeypatch.setattr(RowWriter, "write", noted)
    for number, plan in enumerate((sampled(tmp_path / "sample"), planned(tmp_path))):
        written.clear()
        parts, rows = tmp_path / f"parts-{number}", 0
        for shard in cut_shards(plan):
            rows += ShardAuditor(plan, str(parts))(shard).rows
        table = pq.read_table(parts / "objects")
        assert table["value_hash"].to_pylist() == written
        assert len(written) == rows >= 25
        assert set(table["status"].to_pylist()) >= ({"valid", "builtin", "definition"}, {"valid", "invalid"})[number]


def test_an_observer_sees_every_object_once_and_the_rows_stay_as_they_are(tmp_path: Path) -> None:
    plan, tables, seen = planned(tmp_path), [], Seen()
    parts = tmp_path / "parts"
    for observer in (None, seen):
        auditor = ShardAuditor(plan, str(parts), observer=observer)
        for shard in cut_shards(plan):
            auditor(shard)
        tables.append([pq.read_table(path) for path in sorted(parts.rglob("*.parquet"))])
    assert sorted(seen.names) == sorted(f"n{number} {number % 3 != 0}" for number in range(90))
    assert len(tables[0]) >= 3
    assert [one.equals(other) for one, other in zip(*tables, strict=True)] == [True] * len(tables[0])


def test_a_sink_takes_the_rows_in_place_of_files(tmp_path: Path) -> None:
    plan, sink = planned(tmp_path), Counted()
    auditor = ShardAuditor(plan, str(tmp_path / "parts"), sink=sink)
    for shard in cut_shards(plan)[:1]:
        result = auditor(shard)
    assert sink.rows[0] == result.rows > 0
    assert not list((tmp_path / "parts").rglob("*.parquet"))


@pytest.mark.parametrize(("skip", "managers"), [((), {"m"}), (("updates",), {None}), (("rules",), {None})])
def test_the_writer_of_a_field_is_looked_up_with_the_verdicts_on_updates(
    tmp_path: Path, skip: tuple[str, ...], managers: set[str | None]
) -> None:
    plan, parts = planned(tmp_path, skip=skip), tmp_path / "parts"
    for shard in cut_shards(plan):
        ShardAuditor(plan, str(parts))(shard)
    findings = pq.read_table(parts / "findings")
    assert (len(findings), set(findings["last_manager"].to_pylist())) == (30, managers)
