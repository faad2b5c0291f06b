"""Workers of the engine `processes` import no Ray."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.processes.program import run
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def test_the_engine_processes_needs_no_ray(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "ray.py").write_text("raise ImportError('there is no Ray here')\n")
    env = {"PYTHONPATH": f"{tmp_path / 'lib'}{os.pathsep}{ROOT}"}
    words = ("audit", SAMPLE, "--report", "r", "--fail-on", "never", "--engine", "processes")
    done = run(*words, env=env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
