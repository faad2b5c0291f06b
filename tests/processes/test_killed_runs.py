"""Runs of a job that a signal ends: what they leave in the report root."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.run.job.lock import LOCK_FILE
from tests.command import auditor
from tests.processes.program import start
from tests.shared import ROOT
from tests.signals import heeded

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def last_run(root: Path) -> dict[str, Any]:
    return json.loads((root / "last-run.json").read_text())


def begun(folder: Path) -> subprocess.Popen[str]:
    """Return an audit that waits for its dump from standard input."""
    run = start("audit", "-", "--report-root", "root", cwd=folder, env={"AUDITOR_AUDIT_QUIET": ""})
    assert run.stderr is not None
    assert "audit of -" in run.stderr.readline()
    return run


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_a_record(tmp_path: Path, number: int, code: int) -> None:
    with heeded(number):
        run = begun(tmp_path)
    run.send_signal(number)
    run.communicate(timeout=120)
    assert run.returncode == code
    record = last_run(tmp_path / "root")
    assert record["exit_code"] == code
    assert record["ended"]
    assert [path for path in (tmp_path / "root").iterdir() if path.is_dir()] == []


def test_a_killed_run_is_recorded_as_not_ended_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run = begun(tmp_path)
    until = time.monotonic() + 120
    while not any((tmp_path / "root").glob(".2*/owner.json")):
        assert time.monotonic() < until
        time.sleep(0.01)
    run.kill()
    run.communicate(timeout=120)
    record = last_run(tmp_path / "root")
    assert (record["ended"], record["exit_code"], record["reason"]) == (None, None, "running, or killed")
    assert auditor("audit", SAMPLE, "--jobs", 1, "--report-root", "root", "--diff", "auto", cwd=tmp_path).code == 1
    assert sorted(path.name for path in (tmp_path / "root").iterdir() if path.name.startswith(".")) == [LOCK_FILE]
