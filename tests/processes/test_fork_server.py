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
def test_a_run_has_no_process_but_workers_and_what_they_are_forked_from(tmp_path: Path) -> None:
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], check=True, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 1\n", "")


def test_a_process_that_is_expected_and_not_needed_ends_with_this_one() -> None:
    code = (
        "from pipelines.engines import expect_processes\n"
        "from multiprocess import forkserver\n"
        "expect_processes(())\n"
        "print(forkserver._forkserver._forkserver_pid)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    server = int(done.stdout)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("it is still there")


def test_an_interrupt_while_that_process_loads_is_not_its_business(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "slow_to_load.py").write_text(
        "import time, pathlib\npathlib.Path('loading').touch()\ntime.sleep(1)\n"
    )
    code = (
        "import os, pathlib, signal, time\n"
        "from pipelines.engines import expect_processes\n"
        "from multiprocess import forkserver\n"
        "expect_processes(('slow_to_load',))\n"
        "os.kill(forkserver._forkserver._forkserver_pid, signal.SIGINT)\n"
        "while not pathlib.Path('loading').exists():\n"
        "    time.sleep(0.01)\n"
        "server = forkserver._forkserver._forkserver_pid\n"
        "os.kill(server, signal.SIGINT)\n"
        "time.sleep(0.3)\n"
        "assert os.waitpid(server, os.WNOHANG) == (0, 0)\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path / 'modules'}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
