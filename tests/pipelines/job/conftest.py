"""Audits of the sample data, and an object store on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.object_store import STORE, served_store
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.command import Ended

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture
def audit(tmp_path: Path) -> Callable[..., Ended]:
    """Run `auditor audit` of the sample data, in a folder of its own."""

    def run(*options: Any, dump: Any = SAMPLE) -> Ended:
        return auditor("audit", dump, "--jobs", 1, *options, cwd=tmp_path, env={"AUDITOR_AUDIT_QUIET": ""})

    return run


@pytest.fixture
def store() -> Iterator[str]:
    """Return the URL of an empty bucket; the environment leads clients to it."""
    with served_store():
        yield STORE
