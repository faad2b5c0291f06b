"""A dump that changes while it is read is named, with exit code 3: no rows of another state, no hash of another file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.plan import run_plan as planning
from auditor.plan.options import AuditOptions
from auditor.sources.files.state import changes, states_below
from pipelines.run import audit as run
from pipelines.run import query
from pipelines.run.audit import run_audit
from pipelines.run.objects.query_options import QueryOptions
from tests.fuzz.content.drawn import definition, resource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OBJECTS = 40


def dumped(folder: Path) -> Path:
    path = folder / "dump.ndjson"
    path.write_text(
        "".join(json.dumps(one) + "\n" for one in [definition(), *(resource(f"o{n}") for n in range(OBJECTS))])
    )
    return path


def truncated(path: Path) -> None:
    os.truncate(path, 4096)


def grown(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(json.dumps(resource("new")).encode() + b"\n")


def replaced(path: Path) -> None:
    other = path.with_name(".other")
    other.write_text(path.read_text().replace('"a": "y"', '"a": "?"'))
    other.rename(path)


def overwritten(path: Path) -> None:
    with path.open("r+b") as stream:
        data = stream.read().replace(b'"a": "y"', b'"a": "?"')
        stream.seek(0)
        stream.write(data)


CHANGES: list[Callable[[Path], None]] = [truncated, grown, replaced, overwritten]


def between(monkeypatch: Any, module: Any, name: str, act: Callable[[], None], *, after: bool = False) -> None:
    """Let something happen before, or after, a function of a module is called."""
    call = getattr(module, name)

    def calling(*words: Any, **more: Any) -> Any:
        if not after:
            act()
        made = call(*words, **more)
        if after:
            act()
        return made

    monkeypatch.setattr(module, name, calling)


def check(report: Path, code: int, manifest: dict[str, Any], name: str) -> None:
    assert code == 3
    (damage,) = manifest["inputs"][0]["damage"]
    assert damage["where"] == name
    assert manifest["inputs"][0]["sha256"] is None
    rows = [row for part in (report / "objects").glob("*") for row in pq.read_table(part).to_pylist()]
    assert len(rows) == manifest["counts"]["rows"] == OBJECTS + 1
    assert {row["status"] for row in rows} <= {"valid", "definition", "unreadable"}  # nothing of the other state
    assert {row["reason"] for row in rows if row["status"] == "unreadable"} <= {
        f"not audited: {report.parent / name}: it changed after its keys were read{more}"
        for more in ("", "; expected a file at rest; read a copy of it")
    }
    assert all(kind["breaking"] is None for kind in manifest["kinds"])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_dump_that_changes_before_it_is_judged(
    change: Callable[[Path], None], jobs: int, tmp_path: Path, monkeypatch: Any
) -> None:
    dump, report = dumped(tmp_path), tmp_path / "report"
    between(monkeypatch, run, "run_shards", lambda: change(dump))
    options = AuditOptions(dumps=(str(dump),), report=str(report), jobs=jobs, fail_on="never", shard_bytes=8192)
    check(report, *run_audit(options), "dump.ndjson")


@pytest.mark.parametrize("change", CHANGES)
def test_a_dump_that_changes_while_it_is_judged(
    change: Callable[[Path], None], tmp_path: Path, monkeypatch: Any
) -> None:
    from auditor.shards import judge

    dump, report = dumped(tmp_path), tmp_path / "report"
    between(monkeypatch, judge, "open_values", lambda: change(dump), after=True)
    options = AuditOptions(dumps=(str(dump),), report=str(report), jobs=1, fail_on="never")
    check(report, *run_audit(options), "dump.ndjson")


def test_a_dump_that_changes_after_it_was_judged_has_the_rows_that_it_had(tmp_path: Path, monkeypatch: Any) -> None:
    dump, report = dumped(tmp_path), tmp_path / "report"
    between(monkeypatch, run, "run_shards", lambda: overwritten(dump), after=True)
    code, manifest = run_audit(AuditOptions(dumps=(str(dump),), report=str(report), jobs=1, fail_on="never"))
    check(report, code, manifest, "dump.ndjson")
    assert manifest["counts"]["statuses"] == {"definition": 1, "valid": OBJECTS}


def test_definitions_that_change_while_they_are_read_are_named(tmp_path: Path, monkeypatch: Any) -> None:
    dump, crds = dumped(tmp_path), tmp_path / "crd.json"
    crds.write_text(json.dumps(definition()))
    between(monkeypatch, planning, "definitions_at", lambda: grown(crds))
    options = AuditOptions(dumps=(str(dump),), crds=(str(crds),), report=str(tmp_path / "r"), jobs=1, fail_on="never")
    code, manifest = run_audit(options)
    assert (code, [one["where"] for one in manifest["inputs"][0]["damage"]]) == (3, ["definitions crd.json"])


def test_a_member_of_a_folder_that_changes_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    dump = dumped(folder)
    from auditor.sources import opening

    between(monkeypatch, opening._Opening, "any", lambda: grown(dump), after=True)
    code, manifest = run_audit(AuditOptions(dumps=(str(folder),), report=str(tmp_path / "r"), jobs=1, fail_on="never"))
    assert (code, [one["where"] for one in manifest["inputs"][0]["damage"]]) == (3, ["dump.ndjson"])


def test_a_query_says_that_its_dump_changed(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    dump = dumped(tmp_path)
    between(monkeypatch, query, "get", lambda: grown(dump), after=True)
    assert query.run_query(QueryOptions(target=str(dump), args=("ws",), output="name")) == 3
    assert "DAMAGED" in (reported := capsys.readouterr().err)
    assert "dump.ndjson: was" in reported


def test_files_that_are_as_they_were_have_not_changed(tmp_path: Path) -> None:
    states = states_below(str(dumped(tmp_path)))
    assert len(states) == 1
    assert changes(states) == []
