"""Engines give the result of every item, whatever happens to their workers."""

import errno
import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from auditor.base.errors import EngineError, FileRefused
from pipelines.engines import run_in_background, run_inline, run_processes


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


def slow_setup(folder, others):
    """Item 0 takes until so many others are done."""

    def work(number):
        if number == 0:
            until = time.monotonic() + 120
            while len(list(Path(folder).iterdir())) < others and time.monotonic() < until:
                time.sleep(0.01)
        (Path(folder) / str(number)).touch()
        return (number, os.getpid())

    return work


def noting_setup(folder):
    """A worker notes the items that it begins."""

    def work(item):
        with (Path(folder) / "begun").open("a") as stream:
            stream.write(f"{item}\n")
        return item

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


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_last_items_begin_when_all_others_were_given(tmp_path, jobs):
    setup = partial(noting_setup, str(tmp_path))
    answers = run_processes(setup, range(8), jobs=jobs, on_lost=lambda item, error: -1, last=range(8, 12))
    assert sorted(answers) == list(range(12))
    begun = [int(line) for line in (tmp_path / "begun").read_text().split()]
    assert sorted(begun) == list(range(12))
    assert set(begun[: 9 - jobs]) <= set(range(8))  # others may be on their way to a worker
    assert jobs > 1 or begun == list(range(12))


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
    with pytest.raises(FileRefused, match=r"^No space left on device; free disk space"):
        list(run_processes(refused_setup, [0], jobs=1, on_lost=lambda item, error: -1))


def test_each_worker_gets_neighbours_and_then_takes_the_last_of_a_slow_one(tmp_path):
    setup = partial(slow_setup, str(tmp_path), 7)
    answers = list(run_processes(setup, range(8), jobs=2, on_lost=lambda item, error: -1))
    slow = next(pid for number, pid in answers if number == 0)
    assert [number for number, pid in answers if pid != slow] == [4, 5, 6, 7, 3, 2, 1]


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


def test_leaving_early_leaves_no_process(tmp_path):
    answers = run_processes(partial(slow_setup, str(tmp_path), 5), range(100), jobs=2, on_lost=lambda *_: -1)
    _, pid = next(answers)
    answers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
