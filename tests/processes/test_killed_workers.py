"""Workers of an audit that die: their shard is tried once more, then reported by name; no key is skipped silently."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.documents import definition_of
from tests.fuzz.content.drawn import definition, resource
from tests.pipelines.tables.test_audit_pass import hold_against_report, rows_of
from tests.pipelines.test_fleet_clusters import dumps
from tests.pipelines.test_hostile_content import dumped
from tests.process_tree import processes_by_parent
from tests.processes.program import start
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

OBJECTS = 60_000
KILLING = """
import os, sys
from auditor.shards import shard_audit as audit
from pipelines import preload
judge, judged = audit.ShardAuditor.judge, []

def killing(self, definition, data, *rest):
    judged.append(1)
    if DEADLY:
        os.kill(os.getpid(), 9)
    return judge(self, definition, data, *rest)

audit.ShardAuditor.judge = killing
audit.ShardAuditor.uses_fast_paths = lambda *_: False
from pipelines.run.fleet import run_anywhere
from auditor.plan.options import AuditOptions
if __name__ == "__main__":
    code, manifest = run_anywhere(AuditOptions(dumps=(sys.argv[1],), report=sys.argv[2], jobs=2, fail_on="never", MORE))
    print(code, manifest["counts"]["statuses"], *manifest["lost"], sep="\\n")
"""
"""An audit by two workers; each ends itself where an object is deadly."""


def killed_by(deadly: str, folder: Path, dump: object, report: str, more: str) -> list[str]:
    """Run an audit in which workers end where an expression is true; return exit code, statuses and what is lost."""
    (folder / "killing.py").write_text(KILLING.replace("DEADLY", deadly).replace("MORE", more))
    words = [sys.executable, str(folder / "killing.py"), str(dump), str(folder / report)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=environment)
    (folder / "killing.py").unlink()
    return ended.stdout.splitlines() or [ended.stderr, ""]


def test_an_object_that_ends_its_worker_is_lost_alone(tmp_path: Path) -> None:
    dump = dumped(tmp_path, definition(), *(resource(f"o{number}") for number in range(40)))
    deadly = "b'\"o7\"' in data or b'\"o31\"' in data"
    code, statuses, *lost = killed_by(deadly, tmp_path, dump, "r", "shard_bytes=40_000")
    assert (code, statuses) == ("3", "{'definition': 1, 'unreadable': 2, 'valid': 38}")
    assert sorted(line.partition(":")[0] for line in lost) == ["W.ex.com d/o31", "W.ex.com d/o7"]
    assert all("worker lost (its worker ended twice, last with exit code -9" in line for line in lost)


def test_objects_that_end_a_worker_only_together_are_judged_in_smaller_shards(tmp_path: Path) -> None:
    """As where the rows of many objects need more memory than there is."""
    odd = {**resource("b1"), "spec": {"n": -1}}
    odd["metadata"] = {**odd["metadata"], "namespace": "d-d"}  # before "d/" by key, after it by name
    objects = [*(resource(f"o{number:02d}") for number in range(40)), odd]
    dump = dumped(tmp_path, definition(), *objects)
    some = killed_by("len(judged) > 12", tmp_path, dump, "some", "shard_bytes=40_000")
    assert some == ["0", "{'definition': 1, 'invalid': 1, 'valid': 40}"]
    given = {"dumps": (str(dump),), "fail_on": "never", "shard_bytes": 40_000}
    run_audit(AuditOptions(report=str(tmp_path / "all"), jobs=1, **given))
    files = sorted(path.relative_to(tmp_path / "all") for path in (tmp_path / "all").rglob("part-*.parquet"))
    assert len(files) > 2
    for path in (*files, "causes.parquet"):
        assert pq.read_table(tmp_path / "some" / path, partitioning=None).to_pylist() == (
            pq.read_table(tmp_path / "all" / path, partitioning=None).to_pylist()
        ), path
    manifests = [json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("some", "all")]
    assert manifests[0]["counts"] == manifests[1]["counts"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "dump.ndjson", "some"]


@pytest.mark.parametrize("deadly", ["b'\"o7\"' in data", "len(judged) > 12"])
def test_shards_whose_workers_end_have_the_tables_of_their_report(tmp_path: Path, deadly: str) -> None:
    dump = dumped(tmp_path, definition(), *(resource(f"o{number}") for number in range(40)))
    tables = f"shard_bytes=40_000, tables={str(tmp_path / 'tables')!r}"
    code = killed_by(deadly, tmp_path, dump, "report", tables)[0]
    assert code == ("3" if "data" in deadly else "0")
    hold_against_report(tmp_path)
    rows = rows_of(tmp_path / "tables", "group=ex.com/kind=W")
    assert sorted(row["key"] or "" for row in rows if row["metadata"] is None) == [""] * (code == "3")
    assert len(rows) == 40
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "dump.ndjson", "report", "tables"]


def test_an_object_of_a_fleet_that_ends_its_worker_is_lost_alone(tmp_path: Path) -> None:
    pattern = dumps(tmp_path / "night")
    (tmp_path / "night" / "torn.json").unlink()
    code, statuses, *lost = killed_by("b'\"l7\"' in data", tmp_path, pattern, "r", 'cluster="{1}"')
    # 43 loafs in one cluster and 3 in each of the others, a roll and two definitions in each
    assert (code, statuses) == ("3", "{'definition': 10, 'unreadable': 1, 'valid': 59}")
    assert [line.partition(": not audited: worker lost")[0] for line in lost] == [
        "c2: /registry/bakery.example.com/loafs/north/l7"
    ]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    head = '{"apiVersion":"x.example.com/v1","kind":"X","metadata":{"namespace":"d","name":"x'
    (folder / "many.ndjson").write_text("".join(f'{head}{number}"}}}}\n' for number in range(OBJECTS)))
    (folder / "crd.json").write_text(json.dumps(definition_of({"type": "object"})))
    return folder


def workers(parent: int) -> list[int]:
    """Processes two levels below one: the fork server's children, except the tracker of resources."""
    tree = processes_by_parent()
    return [grandchild for child in tree.get(parent, []) for grandchild in tree.get(child, [])]


def audited(many: Path, out: Path, *, kills: int) -> tuple[int, str, str, int]:
    """Run an audit with two workers, kill that many of them; return (exit code, output, errors, kills)."""
    words = ("--crds", many / "crd.json", "--report", out / "r", "--jobs", 2, "--fail-on", "never")
    process = start("audit", many / "many.ndjson", *words)
    killed: set[int] = set()
    while len(killed) < kills and process.poll() is None:
        for pid in workers(process.pid):
            if pid not in killed and len(killed) < kills:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        time.sleep(0.002)
    printed, error = process.communicate(timeout=300)
    return process.returncode, printed, error, len(killed)


def report_in(out: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    manifest = json.loads((out / "r" / "manifest.json").read_text())
    return manifest, [
        row for part in sorted((out / "r" / "objects").glob("*")) for row in pq.read_table(part).to_pylist()
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_one_killed_worker_costs_nothing(many: Path, tmp_path: Path) -> None:
    code, _, error, killed = audited(many, tmp_path, kills=1)
    assert (code, killed) == (0, 1), error
    manifest, rows = report_in(tmp_path)
    assert manifest["lost"] == []
    assert manifest["counts"]["statuses"] == {"valid": OBJECTS}
    assert len(rows) == len({row["name"] for row in rows}) == OBJECTS


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_shard_whose_workers_are_killed_twice_is_reported_and_every_key_has_a_row(many: Path, tmp_path: Path) -> None:
    code, printed, error, killed = audited(many, tmp_path, kills=40)
    assert code == 3, error
    assert killed >= 2
    manifest, rows = report_in(tmp_path)
    assert manifest["exit_code"] == 3
    assert manifest["lost"]
    more = re.compile(r"shard \d+: \d+ more objects were not audited")
    named = [line for line in manifest["lost"] if not more.fullmatch(line)]
    assert named
    assert [line for line in named if "its worker ended twice, last with exit code -9" not in line] == []
    counted = manifest["counts"]["statuses"]
    assert sum(counted.values()) == len(rows) == OBJECTS
    lost = [row for row in rows if row["status"] == "unreadable"]
    assert len(lost) == counted["unreadable"] > 0
    assert all("worker lost" in row["reason"] and row["offset"] is not None and row["length"] for row in lost)
    assert "worker lost" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r"]
