"""Worker processes with one pipe each; the parent waits for all pipes together.

A Pool hangs when a worker is killed; here the end of a process is an event like an answer, because it closes its end of
the pipe, which no other process has. A shard whose worker died is tried again in a new process after all others have
ended, as it may need their memory; then it goes to `on_lost`. Workers are started by a fork server, which is safe in a
process that has threads. If the fork server dies, its workers continue, and it is started again for new ones. The
parent sends one shard at a time, so a slow shard delays no other worker; neighbouring shards are similar and go to the
same worker, which then builds fewer programs.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from auditor.base.errors import EngineError, FileRefused, ProofRefuted, WorkerLost, refusal
from pipelines.import_path import search_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


Item = TypeVar("Item")
Result = TypeVar("Result")

_STOP = None
_FIRST = "pipelines.engines.no_interrupt"
_ENVIRONMENT = "_AUDITOR_ENVIRONMENT"
"""Variable with the environment that `no_interrupt` gives back, as JSON."""
_STARTS = 5
"""Largest number of attempts to start a worker."""
_ENDING_SECONDS = 0.1
"""Pause before another attempt, in which a fork server that was killed ends."""
_ENDS_SECONDS = 10.0
_UNKNOWN = 255
"""Exit code that `multiprocess` returns if the fork server is gone."""
_NO_MEMORY = 112
"""Exit code of a worker that ran out of memory."""


def _send(connection: Any, message: Any) -> None:
    """Send a message, pickled by C: a connection pickles in Python, which takes many times as long."""
    connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def _receive(connection: Any) -> Any:
    """Return the next message.

    Raises:
        EOFError, OSError: The other side is gone.
    """
    return pickle.loads(connection.recv_bytes())  # noqa: S301 - a process of this run made it


def _serve(connection: Any, setup: bytes) -> None:
    """Process every item from the pipe, until the parent sends the end or is gone; `setup` is pickled."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    try:
        work = pickle.loads(setup)()  # noqa: S301 - the parent made it
        while (item := _received(connection)) is not _STOP:
            answer = (True, _done(work, item))
            with contextlib.suppress(BrokenPipeError):  # the parent is gone: there is no next item
                _send(connection, answer)
    except Exception as error:  # noqa: BLE001 - the parent raises it again, with this trace
        with contextlib.suppress(BrokenPipeError):
            shown = error if isinstance(error, ProofRefuted) else traceback.format_exc()
            _send(connection, (False, refusal(error) or shown))


def _done(work: Callable[[Any], Any], item: Any) -> Any:
    """Return the result of an item; out of memory, end the process: only the item is lost, not the run."""
    try:
        return work(item)
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        os._exit(_NO_MEMORY)


def _received(connection: Any) -> Any:
    """Return the next item, or the end if the parent is gone."""
    try:
        return _receive(connection)
    except (EOFError, ConnectionResetError):
        return _STOP


class _Shares(Generic[Item]):
    """Distributes items: each worker has its own share, and then takes from the end of the largest remaining share.

    Args:
        places: Number of workers.
        turns: Items; those of a turn are distributed when none of the turn before remain.
    """

    def __init__(self, places: int, *turns: Iterable[Item]) -> None:
        self._turns: list[list[deque[Item]]] = []
        for every in map(list, turns):
            bounds = [len(every) * place // places for place in range(places + 1)]
            self._turns.append([deque(every[start:stop]) for start, stop in pairwise(bounds)])

    def next(self, place: int) -> Item | None:
        """Return the next item for a worker, or None if none remain."""
        for shares in self._turns:
            if own := shares[place]:
                return own.popleft()
            if most := max(shares, key=len):
                return most.pop()
        return None


class _InOrder(Generic[Item]):
    """Distributes items in their order: each to the next worker that is free; none is made before it is needed."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)

    def next(self, _: int) -> Item | None:
        """Return the next item, or None if none remain."""
        return next(self._items, None)


class _Worker(Generic[Item]):
    """One process, the number of its share, and its current item."""

    def __init__(self, context: Any, setup: bytes, place: int) -> None:
        self.place = place
        self.connection, child = context.Pipe()
        self.process = context.Process(target=_serve, args=(child, setup), daemon=True)
        self.process.start()
        child.close()
        self.item: Item | None = None

    def give(self, item: Item) -> bool:
        """Send an item; return False if the process is gone already."""
        self.item = item
        try:
            _send(self.connection, item)
        except OSError:
            return False
        return True

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # it may be gone already
            _send(self.connection, _STOP)
        self.connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join(_ENDS_SECONDS)
        self.connection.close()

    def how_it_ended(self) -> str:
        """Return the exit code of the process, if the fork server still exists to report it."""
        code = self.process.exitcode
        if code == _NO_MEMORY:
            return ": it needs more memory than a worker may hold (--memory)"
        return "" if code in {None, _UNKNOWN} else f", last with exit code {code}"


def _started(context: Any, setup: bytes, place: int) -> _Worker[Any]:
    """Start a worker, and the fork server again if it is gone.

    Raises:
        EngineError: The fork server ended at each attempt.
        Refused: The operating system refused a resource for a process.
    """
    failure: OSError | EOFError | None = None
    for _ in range(_STARTS):
        try:
            _ensure_server()
            return _Worker(context, setup, place)
        except (OSError, EOFError) as error:
            failure = error
            time.sleep(_ENDING_SECONDS)
    assert failure is not None
    if refused := refusal(failure):
        raise refused from failure
    reason = str(failure) or "it ended before it answered"
    raise EngineError(
        "workers",
        f"no process could be started in {_STARTS} attempts: {reason}",
        advice="what they are forked from ended each time; see what ends it (memory, ulimit), or give --jobs 1",
    ) from failure


def expect_processes(preload: tuple[str, ...]) -> None:
    """Start the fork server in advance: it loads its modules while this process does other work.

    Args:
        preload: As in `run_processes`, which must get the same value.
    """
    _forkserver(preload)


def _forkserver(preload: tuple[str, ...]) -> Any:
    """Return the context for starting processes, with its fork server running."""
    import multiprocess  # noqa: PLC0415 - it brings much along, and a run in one process needs none of it

    context = multiprocess.get_context("forkserver")
    context.set_forkserver_preload([_FIRST, *preload])
    _ensure_server()
    return context


def _ensure_server() -> None:
    """Start the fork server, and the process that tracks resources for it, where they do not run.

    They search modules where this process does, without the current directory in front, and begin with an interrupt
    blocked; `no_interrupt` gives the environment back to workers.
    """
    import multiprocess.forkserver  # noqa: PLC0415 - as above
    import multiprocess.resource_tracker  # noqa: PLC0415

    if sys.flags.ignore_environment and not sys.flags.safe_path:
        raise EngineError(
            "workers",
            "Python was started with -E and without -P: workers would search modules in the current directory",
            advice="start it with -P, or give --jobs 1",
        )
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYTHONSAFEPATH")}
    path = os.pathsep.join(entry for entry in search_path() if os.pathsep not in entry)
    os.environ |= {"PYTHONPATH": path, "PYTHONSAFEPATH": "1", _ENVIRONMENT: json.dumps(before)}
    try:
        multiprocess.resource_tracker.ensure_running()  # it lets interrupts through again, so it is first
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            multiprocess.forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    finally:
        del os.environ[_ENVIRONMENT]
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _answer(connection: Any, work: Callable[[], Any]) -> None:
    """Make a call, and send its result or exception."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        answer = (True, work())
    except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
        answer = (False, error)
    with contextlib.suppress(OSError):  # the parent may be gone
        _send(connection, answer)


@contextlib.contextmanager
def run_in_background(work: Callable[[], Result], preload: tuple[str, ...] = ()) -> Iterator[Callable[[], Result]]:
    """Yield a function that waits for the result of a call, which runs meanwhile in its own process.

    The function raises the exception of the call. If the process is lost, this process makes the call. At the end of
    the block the process has ended.

    Args:
        work: Picklable, and so must be its result.
        preload: As in `run_processes`, which must get the same value.
    """
    context = _forkserver(preload)
    mine, child = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(child, work), daemon=True)
    answers: list[tuple[bool, Any]] = []
    started = threading.Event()

    def wait() -> None:  # a process starts only after the fork server has loaded all modules
        try:
            with contextlib.suppress(EOFError, OSError):
                process.start()
        finally:
            child.close()
            started.set()
        with contextlib.suppress(EOFError, OSError):
            answers.append(_receive(mine))

    def result() -> Result:
        thread.join()
        if not answers:
            return work()
        good, answer = answers[0]
        if good:
            made: Result = answer
            return made
        raise answer

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield result
    finally:
        started.wait()
        if process.pid:
            process.kill()
            thread.join()
            process.join()
        mine.close()


def run_processes(
    setup: Callable[[], Callable[[Item], Result]],
    items: Iterable[Item],
    *,
    jobs: int,
    on_lost: Callable[[Item, WorkerLost], Result],
    preload: tuple[str, ...] = (),
    last: Iterable[Item] = (),
    in_order: bool = False,
) -> Iterator[Result]:
    """Yield the result of each item as it arrives.

    Args:
        setup: Picklable; runs once in each worker and returns the function to run on items.
        items: Picklable.
        jobs: Number of processes.
        on_lost: Returns the result of an item whose worker died twice; no worker runs during the call.
        preload: Modules that the fork server imports once for all workers.
        last: Further items, for when all others have been given to workers.
        in_order: Give each item, in their order, to the next worker that is free; not with further items.
    Raises:
        EngineError: A worker raised an exception; its trace is in the text.
        Refused: The operating system refused a worker a resource.
    """
    context = _forkserver(preload)
    from multiprocess.connection import wait  # noqa: PLC0415 - it is loaded now

    shares: Any = _InOrder(items) if in_order else _Shares(jobs, items, last)
    pickled = pickle.dumps(setup)  # once, and by C: the plan of a thousand definitions takes long otherwise
    alone: deque[Item] = deque()
    workers: list[_Worker[Item]] = []

    def start(item: Item, place: int) -> None:
        workers.append(_started(context, pickled, place))
        workers[-1].give(item)

    finished = False
    try:
        for place in range(jobs):
            if (item := shares.next(place)) is not None:
                start(item, place)
        while workers:
            ready = wait([worker.connection for worker in workers])
            for worker in list(workers):
                if worker.connection not in ready:
                    continue
                answer = _answer_of(worker)
                if answer is None:
                    workers.remove(worker)
                    if worker.item is not None:
                        alone.append(worker.item)
                    worker.kill()
                    if (item := shares.next(worker.place)) is not None:
                        start(item, worker.place)
                    continue
                yield answer
                if (item := shares.next(worker.place)) is None:
                    workers.remove(worker)
                    worker.stop()  # it ends by itself; all its results have arrived
                else:
                    worker.give(item)
        while alone:
            item = alone.popleft()
            start(item, 0)
            if (answer := _answer_of(workers[0])) is None:
                workers[0].kill()
                answer = on_lost(item, WorkerLost(str(item), f"its worker ended twice{workers[0].how_it_ended()}"))
            else:
                workers[0].stop()
            workers.clear()
            yield answer
        finished = True
    finally:
        if not finished:
            for worker in workers:
                worker.kill()


def _answer_of(worker: _Worker[Any]) -> Any:
    """Return the answer of a worker, or None if its process is gone; raise its exception."""
    try:
        good, answer = _receive(worker.connection)
    except (EOFError, OSError):
        return None
    if not good:
        worker.kill()
        raise answer if isinstance(answer, FileRefused | ProofRefuted) else EngineError("worker", f"failed:\n{answer}")
    return answer
