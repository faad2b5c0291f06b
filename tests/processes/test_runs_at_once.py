"""Two processes that write one report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from tests.pipelines.nights.support import definition, loaf
from tests.processes.program import start

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_two_audits_with_force_leave_one_whole_report(tmp_path: Path) -> None:
    for number, count in (("one", 3), ("two", 40)):
        documents = [definition(), *(loaf(f"{number}{at}") for at in range(count))]
        (tmp_path / f"{number}.ndjson").write_text("".join(json.dumps(one) + "\n" for one in documents))
    report = tmp_path / "r"
    for turn in range(3):
        words = ("audit", "--report", report, "--force", "--fail-on", "never")
        runs = [start(*words, f"{name}.ndjson", cwd=tmp_path) for name in ("one", "two")]
        errors = [run.communicate(timeout=300)[1] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], errors
        manifest = json.loads((report / "manifest.json").read_text())
        table = ds.dataset(report / "objects", format="parquet").to_table()
        assert len(set(table["source"].to_pylist())) == 1, turn
        assert len(table) - 1 == manifest["counts"]["statuses"]["valid"] in {3, 40}
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
