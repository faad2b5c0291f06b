"""Reports are compared part by part in threads: the main thread reads and writes none of them, and rows keep their order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from pipelines.run import diff, diff_side
from pipelines.run.audit import run_audit
from pipelines.run.diff_side import side_by_side
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path


def test_results_come_in_the_order_of_the_parts_and_errors_are_raised() -> None:
    assert list(side_by_side(lambda *pair: pair, range(100), "ab" * 50)) == list(
        zip(range(100), "ab" * 50, strict=True)
    )
    with pytest.raises(ZeroDivisionError):
        list(side_by_side(lambda part: 1 // part, [2, 1, 0]))


def test_the_main_thread_reads_and_writes_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nights = {
        "old": [loaf(f"l{number:02}") for number in range(40)],
        "new": [loaf(f"l{number:02}", grams=100 if number % 2 else "much") for number in range(1, 42)],
    }
    handled: list[tuple[str, bool]] = []

    def noted(name: str, work: Any) -> Any:
        def call(*words: Any, **options: Any) -> Any:
            handled.append((name, threading.current_thread() is threading.main_thread()))
            return work(*words, **options)

        return call

    monkeypatch.setattr(diff_side, "identified", noted("read", diff_side.identified))
    monkeypatch.setattr(diff, "write_parquet", noted("write", diff.write_parquet))
    for name, objects in nights.items():
        dump = tmp_path / f"{name}.json"
        Store(definition(), *objects).write(dump, "etcdctl")
        report = str(tmp_path / name)
        earlier = str(tmp_path / "old") if name == "new" else ""
        run_audit(AuditOptions(dumps=(str(dump),), report=report, diff=earlier, shard_bytes=2000, fail_on="never"))
    parts = sorted((tmp_path / "new" / "objects").glob("part-*.parquet"))
    assert len(parts) > 4
    assert not any(is_main for _, is_main in handled)
    assert sum(name == "write" for name, _ in handled) >= len(parts)
    rows = [row for part in parts for row in pq.read_table(part, columns=["kind", "name", "change"]).to_pylist()]
    changes = {row["name"]: row["change"] for row in rows if row["kind"] == "Loaf"}
    expected = {f"l{number:02}": "same" if number % 2 else "worse" for number in range(1, 40)}
    assert changes == expected | {"l40": "new", "l41": "new"}


def test_only_parts_in_which_something_changed_are_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def noted(rows: Any, path: Path) -> None:
        written.append(f"{path.parent.name}/{path.name}")
        whole(rows, path)

    whole = diff.write_parquet
    monkeypatch.setattr(diff, "write_parquet", noted)
    for name, count in (("old", 40), ("new", 41)):
        objects = [loaf(f"l{number:02}", grams=100 if number % 3 else "much") for number in range(count)]
        dump = tmp_path / f"{name}.json"
        Store(definition(), *objects).write(dump, "etcdctl")
        earlier = str(tmp_path / "old") if name == "new" else ""
        options = AuditOptions(
            dumps=(str(dump),), report=str(tmp_path / name), diff=earlier, shard_bytes=2000, fail_on="never"
        )
        run_audit(options)
    changes: dict[str, set[str | None]] = {}
    for table in ("objects", "findings"):
        for part in (tmp_path / "new" / table).glob("part-*.parquet"):
            changes[f"{table}/{part.name}"] = set(pq.read_table(part, columns=["change"])["change"].to_pylist())
    assert set(written) == {name for name, found in changes.items() if found != {"same"}}
    assert 0 < len(written) < len(changes) / 2
