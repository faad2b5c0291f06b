"""Processes that share the folder of `audit --cache`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.command import auditor
from tests.pipelines.nights.test_cache import DEFINITIONS, DUMP, content
from tests.processes.program import run

if TYPE_CHECKING:
    from pathlib import Path


def test_runs_may_share_it_at_the_same_time_and_one_after_them(tmp_path: Path) -> None:
    words = ("audit", DUMP, "--crds", DEFINITIONS, "--fail-on", "never", "--verify-proven", 1, "--jobs", 1, "--report")

    def audit(number: int) -> tuple[int, str]:
        cached = ("--cache", tmp_path / "cache")
        done = run(*words, tmp_path / f"report-{number}", *cached, env={"AUDITOR_AUDIT_NO_CACHE": ""})
        return done.returncode, done.stderr

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(audit, range(3))) == [(0, "")] * 3
    before = {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
    assert {name.partition("-")[0] for name in before} == {"code", "definition", "yaml"}
    assert audit(3) == (0, "")
    assert {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()} == before
    assert auditor(*words, tmp_path / "plain", "--no-cache").code == 0
    for number in range(4):
        assert content(tmp_path / f"report-{number}") == content(tmp_path / "plain")
