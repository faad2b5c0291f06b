"""Processes that add runs to one history at the same time."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from auditor.history.files import read_runs
from auditor.history.months import runs_in
from auditor.history.runs import read_history
from tests.history.test_months import names_of, tidy
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_APPENDING = """
import datetime, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from auditor.base.errors import AuditorError
from tests.history.test_months import add_run, tidy, START, DAY, cause
folder, work, which = Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
for night in range(45):
    draft = work / "drafts"
    draft.mkdir(parents=True, exist_ok=True)
    name = add_run(draft, night, [cause(1, 5)], which)
    (draft / name).replace(folder / name)
    tidy(folder, night, 1000, work)
"""


@pytest.mark.slow
def test_processes_that_add_runs_at_the_same_time_lose_none(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    words = [sys.executable, "-c", _APPENDING, str(ROOT), str(folder)]
    running = [subprocess.Popen([*words, str(tmp_path / which), which]) for which in ("a", "b", "c")]
    failed: list[BaseException] = []

    def read() -> None:
        while any(one.poll() is None for one in running):
            try:
                read_history(folder)
            except BaseException as error:  # noqa: BLE001 - looked at below
                failed.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    assert [one.wait() for one in running] == [0, 0, 0]
    reader.join()
    assert failed == []
    runs = read_runs(path for path in folder.iterdir() if path.suffix == ".parquet")
    assert len(runs.names) == 3 * 45
    tidy(folder, 44, 1000, tmp_path / "a")
    assert runs_in(names_of(folder)) == 3 * 45
    assert [counts.tolist() for counts in read_history(folder).objects.values()] == [[5] * 135]
