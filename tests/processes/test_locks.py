"""The lock of a report root that another process holds."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.command import Ended, auditor
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def holder(root: Path) -> subprocess.Popen[str]:
    """Return a process that holds the lock of a root until it is killed, or for a minute."""
    code = (
        "import sys, time\nfrom pipelines.run.job.lock import run_lock\nfrom pipelines.run.job.roots import open_root\n"
        "with run_lock(open_root(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.Popen([sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, text=True, env=env)
    assert found.stdout is not None
    assert found.stdout.readline() == "held\n"
    return found


def test_a_second_run_ends_with_5_and_names_the_first(tmp_path: Path) -> None:
    def audit(*options: str) -> Ended:
        nightly = ("--diff", "auto", "--only-new", "--no-fail-on-standing")
        return auditor("audit", SAMPLE, "--jobs", 1, "--report-root", "root", *nightly, *options, cwd=tmp_path)

    root = tmp_path / "root"
    assert audit().code == 1
    before = (root / "last-run.json").read_bytes()
    first = holder(root)
    try:
        done = audit()
        assert first.poll() is None, "the second run waited for the first"
        assert done.code == 5
        assert f"root: another run writes reports there: process {first.pid} on " in done.stderr
        assert (root / "last-run.json").read_bytes() == before
        assert audit("--no-lock", "--report-name", "all-the-same").code == 0
    finally:
        first.kill()
        first.wait()
    assert audit("--report-name", "after").code == 0  # the lock of a dead process is free
