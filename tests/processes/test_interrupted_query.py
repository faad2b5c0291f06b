"""A query whose output is closed, and queries that signals end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.processes.program import start
from tests.shared import ROOT
from tests.signals import heeded

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query") / "report"
    assert auditor("audit", SAMPLE, "--report", folder, "--jobs", 1, "--fail-on", "never").code == 0
    return folder


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("dump", ["query", "loaves", "-o", "yaml"]),
        ("report", ["explain", "loaves", "--values"]),
        pytest.param("dump", ["explain", "loaves", "--values"], marks=pytest.mark.slow),
        pytest.param("report", ["query", "loaves", "-o", "yaml"], marks=pytest.mark.slow),
    ],
)
def test_a_closed_pipe_is_no_error(report: Path, of: str, words: list[str]) -> None:
    target = SAMPLE if of == "dump" else report
    with start(words[0], target, *words[1:], stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before anything was written
        errors = process.stderr.read()
        assert process.wait() == 0
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow),
    ],
)
def test_signal_ends_with_its_code_no_trace_and_nothing_left(tmp_path: Path, number: int, code: int) -> None:
    with heeded(number):
        process = start("query", "-", "pods", env={"TMPDIR": str(tmp_path)}, start_new_session=True)
    with process:
        deadline = time.monotonic() + 120
        while not any(tmp_path.glob("auditor-*")) and time.monotonic() < deadline:  # Python tries the folder first
            time.sleep(0.02)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_executed_text_ends_with_130(tmp_path: Path) -> None:
    """Python remembers that it ended `exec(text)`, and `python -m` then kills itself whatever its exit code."""
    (tmp_path / "interrupted.py").write_text(
        "from pipelines.cli import main\nmain.cli.main = lambda *_, **__: exec('raise KeyboardInterrupt')\nmain.main()\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    run = subprocess.run([sys.executable, "-m", "interrupted"], env=env, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (130, "interrupted; nothing was written\n")


def test_help_loads_nothing_heavy_and_few_modules() -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom pipelines.cli.main import cli\n"
        "try:\n    cli.main(['--help'], standalone_mode=False)\nexcept SystemExit:\n    pass\n"
        "heavy = {'pyarrow', 'numpy', 'yaml', 'orjson', 'msgspec', 're2', 'multiprocess'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "more = set(sys.modules) - before\n"
        "assert len(more) <= 190, sorted(more)\n"  # 159 today
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
