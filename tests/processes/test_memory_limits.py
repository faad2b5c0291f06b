"""Limits of memory that the system sets for a process: `ulimit -v`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.documents import definition_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def limited(kilobytes: int, cwd: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a command that may have so much address space."""
    call = shlex.join([sys.executable, "-P", "-m", "pipelines", *map(str, words)])
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(cwd), "AUDITOR_AUDIT_QUIET": "1"}
    line = ["bash", "-c", f"ulimit -v {kilobytes}; exec {call}"]
    return subprocess.run(line, cwd=cwd, env=known, capture_output=True, text=True, check=False)


def test_too_little_address_space_is_reported_before_libraries_fail_to_load(tmp_path: Path) -> None:
    done = limited(400_000, tmp_path, "audit", SAMPLE, "--report", "r")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "error: 390 MiB of address space; expected at least 512 MiB; raise `ulimit -v`\n"
    assert list(tmp_path.iterdir()) == []


def test_memory_that_the_system_refuses_is_said_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "crd.json").write_text(json.dumps(definition_of({"type": "object"})))
    (tmp_path / "big.db").write_bytes(b"")
    os.truncate(tmp_path / "big.db", 4 << 30)
    words = ("--crds", "crd.json", "--report", "r", "--jobs", 2, "--source", "etcd-snapshot")
    done = limited(2_000_000, tmp_path, "audit", "big.db", *words)
    assert done.returncode == 4
    assert "Cannot allocate memory" in done.stderr
    assert "Traceback" not in done.stderr
