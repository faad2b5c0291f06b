"""Engines give the result of every item, whatever happens to their workers."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from auditor.base.errors import EngineError, Refused
from pipelines.engines import run_in_background, run_inline, run_processes
from tests.shared import ROOT


def make_square():
    return lambda number: number * number


def dying_setup(folder, times):
    """Item 3 kills its worker the first `times` times."""

    def work(number):
        if number == 3:
            marks = list(Path(folder).iterdir())
            if len(marks) < times:
                (Path(folder) / str(len(marks))).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    return work


def failing_setup():
    def work(number):
        raise ValueError(f"no {number}")

    return work


def refused_setup():
    def work(number):
        raise OSError(errno.ENOSPC, "as Arrow words it")

    return work


def slow_setup():
    def work(number):
        time.sleep(0.5 if number == 0 else 0)
        return (number, os.getpid())

    return work


def lingering_setup():
    """A worker takes long to end when all is done."""
    threading.Thread(target=time.sleep, args=(60,)).start()
    return lambda _: os.getpid()


SQUARES = [number * number for number in range(10)]


def test_inline_keeps_order():
    assert list(run_inline(make_square, range(10), on_lost=lambda item, error: -1)) == SQUARES


def test_an_item_beyond_the_memory_of_this_process_is_lost_and_no_other():
    def setup():
        def work(item):
            if item == 3:
                raise MemoryError
            return item * item

        return work

    lost = []

    def on_lost(item, error):
        lost.append((item, error.found))
        return -1

    assert list(run_inline(setup, range(10), on_lost=on_lost)) == [*SQUARES[:3], -1, *SQUARES[4:]]
    assert lost == [(3, "it needs more memory than the command may hold (--memory)")]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_processes_answer_every_item_once(jobs):
    answers = run_processes(make_square, range(10), jobs=jobs, on_lost=lambda item, error: -1)
    assert sorted(answers) == SQUARES


def test_killed_worker_is_noticed_and_its_item_tried_again(tmp_path):
    setup = partial(dying_setup, str(tmp_path), 1)
    assert sorted(run_processes(setup, range(10), jobs=2, on_lost=lambda item, error: -1)) == SQUARES
    assert len(list(tmp_path.iterdir())) == 1


def test_item_that_kills_twice_is_given_up_and_the_rest_goes_on(tmp_path):
    setup = partial(dying_setup, str(tmp_path), 99)
    lost = []

    def on_lost(item, error):
        lost.append((item, error.found))
        return -1

    assert sorted(run_processes(setup, range(10), jobs=2, on_lost=on_lost)) == sorted({-1, *SQUARES} - {9})
    assert lost == [(3, "its worker ended twice, last with exit code -9")]
    assert len(list(tmp_path.iterdir())) == 2


def crowded_setup(folder):
    """Item 0 ends its first worker, and then tells how many other items are in work."""

    def work(item):
        mine = Path(folder) / f"running-{item}"
        if item == 0 and not mine.exists():
            mine.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        mine.touch()
        time.sleep(0.15)
        others = len(list(Path(folder).glob("running-*"))) - 1
        mine.unlink()
        return item, others

    return work


def test_the_item_of_a_lost_worker_is_tried_alone(tmp_path):
    answers = list(run_processes(partial(crowded_setup, str(tmp_path)), range(8), jobs=2, on_lost=lambda *_: None))
    assert sorted(item for item, _ in answers) == list(range(8))
    assert answers[-1] == (0, 0)


def test_exception_in_a_worker_is_raised_with_its_trace():
    with pytest.raises(EngineError, match="no 0"):
        list(run_processes(failing_setup, [0], jobs=1, on_lost=lambda item, error: -1))


def test_what_the_system_refuses_a_worker_is_reported_without_a_trace():
    with pytest.raises(Refused, match=r"^No space left on device; free disk space"):
        list(run_processes(refused_setup, [0], jobs=1, on_lost=lambda item, error: -1))


def test_slow_item_keeps_no_other_worker_from_working():
    answers = list(run_processes(slow_setup, range(6), jobs=2, on_lost=lambda item, error: -1))
    slow = next(pid for number, pid in answers if number == 0)
    assert all(pid != slow for number, pid in answers if number in {1, 2, 3})


def test_each_worker_gets_neighbours_and_then_helps_from_the_end():
    answers = list(run_processes(slow_setup, range(8), jobs=2, on_lost=lambda item, error: -1))
    slow = next(pid for number, pid in answers if number == 0)
    quick = [number for number, pid in answers if pid != slow]
    assert quick[:4] == [4, 5, 6, 7]
    assert quick[4:] == [3, 2, 1][: len(quick) - 4]


def test_the_parent_does_not_wait_for_the_end_of_a_worker_that_has_answered_all():
    (worker,) = run_processes(lingering_setup, [0], jobs=1, on_lost=lambda item, error: -1)
    os.kill(worker, signal.SIGKILL)  # it is still there


def pid():
    return os.getpid()


def refusing():
    raise EngineError("somewhere", "refused")


def killed_elsewhere(parent):
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return "made here"


def waiting(folder):
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)


def test_a_call_is_made_meanwhile_in_another_process():
    with run_in_background(pid) as result:
        other = result()
        assert result() == other != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)


def test_what_the_call_raises_is_raised_where_it_is_waited_for():
    with run_in_background(refusing) as result, pytest.raises(EngineError, match="refused"):
        result()


def test_a_call_whose_process_is_lost_is_made_here():
    with run_in_background(partial(killed_elsewhere, os.getpid())) as result:
        assert result() == "made here"


def test_a_call_that_is_not_awaited_leaves_no_process(tmp_path):
    with pytest.raises(KeyboardInterrupt), run_in_background(partial(waiting, str(tmp_path))):
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        raise KeyboardInterrupt
    (mark,) = tmp_path.iterdir()
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.name), 0)


def test_leaving_early_leaves_no_process():
    answers = run_processes(slow_setup, range(100), jobs=2, on_lost=lambda item, error: -1)
    _, pid = next(answers)
    answers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


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


def test_workers_are_forked_from_a_process_that_has_loaded_what_they_need(tmp_path):
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
def test_a_run_has_no_process_but_workers_and_what_they_are_forked_from(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], check=True, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 1\n", "")


def test_a_process_that_is_expected_and_not_needed_ends_with_this_one():
    code = (
        "from pipelines.engines import expect_processes\n"
        "from multiprocess import forkserver\n"
        "expect_processes(())\n"
        "print(forkserver._forkserver._forkserver_pid)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    server = int(done.stdout)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("it is still there")


def test_an_interrupt_while_that_process_loads_is_not_its_business(tmp_path):
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
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
