"""Calls beside a thread: in their order, errors where they are waited for, and no thread afterwards."""

import threading

import pytest

from auditor.sources.files.beside import Beside


def threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("some-work")]


@pytest.mark.parametrize("ahead", [0, 1, 4])
def test_calls_are_made_in_their_order(ahead):
    made = []
    with Beside(ahead, "some-work") as beside:
        for number in range(20):
            beside.do(made.append, number)
        assert beside.last(lambda: [*made, len(threads())]) == [*range(20), 1 if ahead else 0]
        assert list(beside.each(iter(range(5)))) == list(range(5))
    assert threads() == []


@pytest.mark.parametrize("ahead", [0, 1, 4])
def test_an_error_is_raised_here_and_ends_the_thread(ahead):
    with pytest.raises(ZeroDivisionError), Beside(ahead, "some-work") as beside:
        for number in (2, 1, 0, 3):
            beside.do(lambda number: 1 / number, number)
        beside.settle()
    assert threads() == []


def test_few_calls_wait():
    reached, go_on = [], threading.Event()
    with Beside(2, "some-work") as beside:
        beside.do(go_on.wait)
        beside.do(reached.append, 1)
        threading.Timer(0.05, go_on.set).start()
        beside.do(reached.append, 2)  # it waits for the first
        assert go_on.is_set()
        beside.settle()
    assert reached == [1, 2]
