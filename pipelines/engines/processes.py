"""Worker processes with one pipe each, waited on together with their sentinels.

A Pool hangs when a worker is killed; here the end of a process is an event like an answer. A shard whose worker died
is tried once more in a new process, then given to `on_lost`. The parent sends one shard at a time, so a slow shard
keeps nobody else from working; neighbours, which are alike, go to one worker, which then makes fewer programs.
Workers are started by a fork server, which is safe in a process that has threads. Where that is known to be needed
before there are any, and before anything heavy was loaded, it is forked itself instead of started anew.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from auditor.errors import Refused, WorkerLost, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["begun", "expect_processes", "run_processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_STOP = None
_FIRST = "pipelines.engines.no_interrupt"
_TASKS = "/proc/self/task"
"""A name for each thread of this process, whatever started it; on Linux."""


def _serve(connection: Any, setup: Callable[[], Callable[[Any], Any]]) -> None:
    """Answer every item that comes through the pipe, until told to stop or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    try:
        work = setup()
        while (item := connection.recv()) is not _STOP:
            connection.send((True, work(item)))
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001 - the parent raises it again, with this trace
        connection.send((False, refusal(error) or traceback.format_exc()))


class _Shares(Generic[Item]):
    """Items, shared out in order: each place has its own, and then takes from the end where most are left."""

    def __init__(self, items: Iterable[Item], places: int) -> None:
        every = list(items)
        bounds = [len(every) * place // places for place in range(places + 1)]
        self._shares = [deque(every[start:stop]) for start, stop in pairwise(bounds)]

    def next(self, place: int) -> Item | None:
        """Return the next item for a place, None where all are given out."""
        own = self._shares[place]
        if own:
            return own.popleft()
        most = max(self._shares, key=len)
        return most.pop() if most else None


class _Worker(Generic[Item]):
    """One process, the place whose items it gets, and the one that it works on."""

    def __init__(self, context: Any, setup: Callable[[], Callable[[Any], Any]], place: int) -> None:
        self.place = place
        self.connection, child = context.Pipe()
        self.process = context.Process(target=_serve, args=(child, setup), daemon=True)
        self.process.start()
        child.close()
        self.item: Item | None = None

    def give(self, item: Item) -> bool:
        """Send an item; False where the process is gone already."""
        self.item = item
        try:
            self.connection.send(item)
        except OSError:
            return False
        return True

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # it may be gone already
            self.connection.send(_STOP)
        self.connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def expect_processes(preload: tuple[str, ...]) -> None:
    """Start what workers will be forked from: its modules are loaded beside whatever is done until they are needed.

    Args:
        preload: As for `run_processes`, which must be given the same.
    """
    _forkserver(preload, forked=_is_light())


def _is_light() -> bool:
    """Tell a process that may be forked: it has one thread, and has not loaded yet what workers load."""
    try:
        return "numpy" not in sys.modules and len(os.listdir(_TASKS)) == 1  # noqa: PTH208 - names alone
    except OSError:
        return False


def _forkserver(preload: tuple[str, ...], *, forked: bool = False) -> Any:
    """Return the way to start processes; what they are forked from is running."""
    import multiprocess  # noqa: PLC0415 - it brings much along, and a run in one process needs none of it
    import multiprocess.forkserver  # noqa: PLC0415
    import multiprocess.resource_tracker  # noqa: PLC0415
    import multiprocess.util  # noqa: PLC0415

    context = multiprocess.get_context("forkserver")
    context.set_forkserver_preload([_FIRST, *preload])
    tracker = multiprocess.resource_tracker._resource_tracker  # noqa: SLF001
    if tracker._fd is None:  # noqa: SLF001 - nothing is shared that it would clean up: no process need be started for it
        tracker._fd = os.open(os.devnull, os.O_WRONLY)  # noqa: SLF001
    started = multiprocess.util.spawnv_passfds
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # so it begins deaf to what is not its business
    try:
        if forked:
            multiprocess.util.spawnv_passfds = _fork
        multiprocess.forkserver.ensure_running()
    finally:
        multiprocess.util.spawnv_passfds = started
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def _fork(_: Any, arguments: list[str], kept: list[int]) -> int:
    """Run the command of an interpreter, the last of its arguments, in a fork of this one; return its process id.

    As in a new one only some files are open there. What was loaded is there already, which saves a third of a start.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # what is in there is written once
    process = os.fork()
    if process:
        return process
    try:
        for below, above in pairwise((2, *sorted(kept), os.sysconf("SC_OPEN_MAX"))):
            os.closerange(below + 1, above)
        exec(arguments[-1], {})  # noqa: S102 - it is that of the fork server
    except Exception:  # noqa: BLE001 - as an interpreter would
        traceback.print_exc()
    finally:
        os._exit(0)  # what ends with the process is the business of the other one


def _answer(connection: Any, work: Callable[[], Any]) -> None:
    """Make a call, send what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        answer = (True, work())
    except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
        answer = (False, error)
    with contextlib.suppress(OSError):  # nobody may listen any more
        connection.send(answer)


@contextlib.contextmanager
def begun(work: Callable[[], Result], preload: tuple[str, ...] = ()) -> Iterator[Callable[[], Result]]:
    """Yield what waits for the result of a call that is made meanwhile in a process of its own.

    The exception that the call raises is raised there. If its process is lost the call is made in this one. Nothing of
    it is left behind at the end of the block.

    Args:
        work: Picklable, and so must be its result.
        preload: As for `run_processes`, which must be given the same.
    """
    context = _forkserver(preload)
    mine, child = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(child, work), daemon=True)
    answers: list[tuple[bool, Any]] = []
    started = threading.Event()

    def wait() -> None:  # a process starts only when all is loaded that it will be forked with
        try:
            with contextlib.suppress(EOFError, OSError):
                process.start()
        finally:
            child.close()
            started.set()
        with contextlib.suppress(EOFError, OSError):
            answers.append(mine.recv())

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
) -> Iterator[Result]:
    """Yield the result of each item as it comes.

    Args:
        setup: Picklable; runs once in each worker and gives the function that answers items.
        items: Picklable.
        jobs: Number of processes.
        on_lost: Gives the result of an item whose worker died twice.
        preload: Modules that the fork server imports once for all workers.
    Raises:
        EngineError: A worker failed with an exception; its trace is in the text.
        Refused: The operating system refused a worker what it needs.
    """
    from multiprocessing.connection import wait  # noqa: PLC0415 - it brings much along, and one process needs none of it

    context = _forkserver(preload)
    shares = _Shares(items, jobs)
    tried: list[Item] = []
    workers: list[_Worker[Item]] = []

    def start(item: Item, place: int) -> None:
        worker: _Worker[Item] = _Worker(context, setup, place)
        workers.append(worker)
        worker.give(item)

    finished = False
    try:
        for place in range(jobs):
            if (item := shares.next(place)) is not None:
                start(item, place)
        while workers:
            ready = wait([w.connection for w in workers] + [w.process.sentinel for w in workers])
            for worker in list(workers):
                if worker.connection not in ready and worker.process.sentinel not in ready:
                    continue
                answer = _receive(worker)
                if answer is None:
                    workers.remove(worker)
                    lost = worker.item
                    worker.kill()
                    code = worker.process.exitcode
                    if lost is not None and lost in tried:
                        yield on_lost(
                            lost, WorkerLost(str(lost), f"its worker ended twice, last with exit code {code}")
                        )
                        lost = None
                    elif lost is not None:
                        tried.append(lost)
                    item = lost if lost is not None else shares.next(worker.place)
                    if item is not None:
                        start(item, worker.place)
                    continue
                yield answer
                if (item := shares.next(worker.place)) is None:
                    workers.remove(worker)
                    worker.stop()  # and goes by itself; what it did is all here
                else:
                    worker.give(item)
        finished = True
    finally:
        if not finished:
            for worker in workers:
                worker.kill()


def _receive(worker: _Worker[Any]) -> Any:
    """Return what a worker answered, or None where its process is gone; raise where it failed."""
    from auditor.errors import EngineError  # noqa: PLC0415 - only on failure

    try:
        if not worker.connection.poll():  # its sentinel woke us, and no answer was left behind
            return None
        good, answer = worker.connection.recv()
    except (EOFError, OSError):
        return None
    if not good:
        worker.kill()
        raise answer if isinstance(answer, Refused) else EngineError("worker", f"failed:\n{answer}")
    return answer
