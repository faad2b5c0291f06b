"""A command line of its own process, and an object store on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.object_store import STORE, served_store
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture
def audit(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `auditor audit` of the sample data, in a folder of its own."""

    def run(*options: Any, dump: Any = SAMPLE) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pipelines", "audit", str(dump), "--jobs", "1", *map(str, options)]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "AUDITOR_AUDIT_QUIET": ""}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)

    return run


@pytest.fixture
def store() -> Iterator[str]:
    """Return the URL of an empty bucket; the environment leads clients to it."""
    with served_store():
        yield STORE
