"""The process that workers are forked from: what it has loaded, and its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.shared import ROOT

FORKED = """\
import gc, sys
from pipelines.engines import expect_processes, run_processes
from pipelines.preload import MODULES

def setup():
    return lambda name: (name in sys.modules, gc.get_freeze_count() > 0)

if __name__ == "__main__":
    preload = ("pipelines.preload",)
    expect_processes(preload)
    answers = run_processes(setup, MODULES, jobs=2, on_lost=print, preload=preload)
    assert list(answers) == [(True, True)] * len(MODULES)
"""


def test_workers_are_forked_from_a_process_that_has_loaded_what_they_need(tmp_path: Path) -> None:
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, script], check=True, env=env)


ALONE = """\
import os
from pathlib import Path
from pipelines.engines import expect_processes, run_processes

def children(process):
    return len(Path(f"/proc/{process}/task/{process}/children").read_text().split())

def setup():
    return lambda _: children(os.getppid())

if __name__ == "__main__":
    expect_processes(())
    for workers in run_processes(setup, [0], jobs=1, on_lost=print):
        print(workers, children(os.getpid()))
"""


CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


@pytest.mark.skipif(not CHILDREN.exists(), reason="the system does not tell what processes belong to one")
def test_a_run_has_no_process_but_workers_what_they_are_forked_from_and_the_tracker_of_resources(
    tmp_path: Path,
) -> None:
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], check=True, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 2\n", "")


@pytest.mark.skipif(not CHILDREN.exists(), reason="the system does not tell what processes belong to one")
def test_processes_that_are_expected_and_not_needed_end_with_this_one() -> None:
    code = (
        "import os, pathlib\n"
        "from pipelines.engines import expect_processes\n"
        "expect_processes(())\n"
        "print(pathlib.Path(f'/proc/self/task/{os.getpid()}/children').read_text())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    left = [int(process) for process in done.stdout.split()]
    assert len(left) == 2
    deadline = time.monotonic() + 120
    while left and time.monotonic() < deadline:
        try:
            os.kill(left[0], 0)
        except ProcessLookupError:
            left.pop(0)
        time.sleep(0.05)
    assert left == []


@pytest.mark.skipif(not CHILDREN.exists(), reason="the system does not tell what processes belong to one")
def test_an_interrupt_while_these_processes_load_is_not_their_business(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "slow_to_load.py").write_text(
        "import time, pathlib\npathlib.Path('loading').touch()\ntime.sleep(1)\n"
    )
    code = (
        "import os, pathlib, signal, time\n"
        "from pipelines.engines import expect_processes\n"
        "expect_processes(('slow_to_load',))\n"
        "both = pathlib.Path(f'/proc/self/task/{os.getpid()}/children').read_text().split()\n"
        "for process in both:\n"
        "    os.kill(int(process), signal.SIGINT)\n"
        "while not pathlib.Path('loading').exists():\n"
        "    time.sleep(0.01)\n"
        "for process in both:\n"
        "    os.kill(int(process), signal.SIGINT)\n"
        "time.sleep(0.3)\n"
        "assert [os.waitpid(int(process), os.WNOHANG) for process in both] == [(0, 0), (0, 0)]\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path / 'modules'}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


ENVIRONMENT = """\
import os, sys
from pipelines.engines import run_processes

def setup():
    return lambda _: (dict(os.environ), sys.path)

if __name__ == "__main__":
    before = dict(os.environ), sys.path
    assert list(run_processes(setup, [0], jobs=1, on_lost=print)) == [before]
    assert dict(os.environ) == before[0]
"""


@pytest.mark.parametrize("safe", [{}, {"PYTHONSAFEPATH": "1"}])
def test_workers_have_the_environment_and_the_search_path_of_the_command(tmp_path: Path, safe: dict[str, str]) -> None:
    script = tmp_path / "environment.py"
    script.write_text(ENVIRONMENT)
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}/nowhere", **safe}
    subprocess.run([sys.executable, script], check=True, env=env)


def test_workers_that_would_search_the_current_directory_are_not_started(tmp_path: Path) -> None:
    (tmp_path / "multiprocess.py").write_text("open('imported', 'w')\n")
    code = f"import sys; sys.path[0] = {str(ROOT)!r}; from pipelines.engines import expect_processes as e; e(())"
    done = subprocess.run([sys.executable, "-E", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "Python was started with -E and without -P" in done.stderr
    assert not (tmp_path / "imported").exists()
