"""Worker processes with one pipe each, waited on together.

A Pool hangs when a worker is killed; here the end of a process is an event like an answer: its end of the pipe closes,
which no other process holds. A shard whose worker died is tried once more in a new process when all others have ended,
as it may need the memory that they held, then given to `on_lost`.
What workers are forked from may die as well: those that are there go on, and for new ones it is started again.
The parent sends one shard at a time, so a slow shard delays no other worker; neighbours, which are alike, go to
one worker, which then makes fewer programs.
Workers are started by a fork server, which is safe in a process that has threads.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
import traceback
from collections import deque
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from auditor.base.errors import ProofRefuted, Refused, WorkerLost, refusal
from pipelines.import_path import search_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["expect_processes", "run_in_background", "run_processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_STOP = None
_FIRST = "pipelines.engines.no_interrupt"
_STARTS = 5
"""Attempts to start a worker."""
_ENDS_SECONDS = 10.0
_UNKNOWN = 255
"""What `multiprocess` gives as the exit code where what the process was forked from is gone."""
_NO_MEMORY = 112
"""Exit code of a worker that was refused memory."""


def _serve(connection: Any, setup: Callable[[], Callable[[Any], Any]]) -> None:
    """Answer every item that comes through the pipe, until the parent asks it to stop, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    try:
        work = setup()
        while (item := _received(connection)) is not _STOP:
            answer = (True, _done(work, item))
            with contextlib.suppress(BrokenPipeError):  # the parent is gone: there is no next item either
                connection.send(answer)
    except Exception as error:  # noqa: BLE001 - the parent raises it again, with this trace
        with contextlib.suppress(BrokenPipeError):
            shown = error if isinstance(error, ProofRefuted) else traceback.format_exc()
            connection.send((False, refusal(error) or shown))


def _done(work: Callable[[Any], Any], item: Any) -> Any:
    """Return what an item gives; where memory ends so does the process: the item is lost, not the run."""
    try:
        return work(item)
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        os._exit(_NO_MEMORY)


def _received(connection: Any) -> Any:
    """Return the next item; a parent that is gone has none."""
    try:
        return connection.recv()
    except (EOFError, ConnectionResetError):
        return _STOP


class _Shares(Generic[Item]):
    """Items, shared out in order: each place has its own, and then takes from the end where most are left."""

    def __init__(self, items: Iterable[Item], places: int) -> None:
        every = list(items)
        bounds = [len(every) * place // places for place in range(places + 1)]
        self._shares = [deque(every[start:stop]) for start, stop in pairwise(bounds)]

    def next(self, place: int) -> Item | None:
        """Return the next item for a place, None if all are given out."""
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
        self.process.join(_ENDS_SECONDS)
        self.connection.close()

    def how_it_ended(self) -> str:
        """Return the exit code of the process, where what it was forked from is there to tell it."""
        code = self.process.exitcode
        if code == _NO_MEMORY:
            return ": it needs more memory than a worker may hold (--memory)"
        return "" if code in {None, _UNKNOWN} else f", last with exit code {code}"


def _end_server() -> None:
    """End the process that workers are forked from, which may be gone already; workers go on without it."""
    from multiprocess.forkserver import _forkserver as server  # noqa: PLC0415 - it is running

    if (process := server._forkserver_pid) is None:  # noqa: SLF001 - nothing public says it
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    try:
        server._stop()  # noqa: SLF001
    except OSError:  # another call has waited for it, or has removed its socket
        server._forkserver_pid = server._forkserver_address = None  # noqa: SLF001


def _started(context: Any, setup: Callable[[], Callable[[Any], Any]], place: int) -> _Worker[Any]:
    """Start a worker; what it is forked from is started again where it is gone.

    Raises:
        EngineError: Each time that was gone too.
        Refused: The operating system refused what a process needs.
    """
    from auditor.base.errors import EngineError  # noqa: PLC0415 - only on failure

    found: OSError | EOFError | None = None
    for _ in range(_STARTS):
        try:
            return _Worker(context, setup, place)
        except (OSError, EOFError) as error:
            found = error
            _end_server()
    assert found is not None
    if refused := refusal(found):
        raise refused from found
    reason = str(found) or "it ended before it answered"
    raise EngineError(
        "workers",
        f"no process could be started in {_STARTS} attempts: {reason}",
        advice="what they are forked from ended each time; see what ends it (memory, ulimit), or give --jobs 1",
    ) from found


def expect_processes(preload: tuple[str, ...]) -> None:
    """Start what workers will be forked from: its modules are loaded beside whatever is done until they are needed.

    Args:
        preload: As for `run_processes`, which must be given the same.
    """
    _forkserver(preload)


def _forkserver(preload: tuple[str, ...]) -> Any:
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
    _watch_start(multiprocess.util)
    multiprocess.forkserver.ensure_running()
    return context


def _watch_start(util: Any) -> None:
    """Have `multiprocess` start interpreters by `_spawn` from now on, also where it starts one again."""
    if getattr(util.spawnv_passfds, "func", None) is not _spawn:
        util.spawnv_passfds = partial(_spawn, util.spawnv_passfds)


def _spawn(started: Callable[..., int], executable: Any, arguments: list[Any], kept: list[int]) -> int:
    """Start an interpreter that looks for modules where this one does, and not in the current directory first."""
    command = f"import sys; sys.path[:] = {search_path()!r}; {arguments[-1]}"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # so it begins deaf to what is not its business
    try:
        return started(executable, [arguments[0], "-P", *arguments[1:-1], command], kept)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer(connection: Any, work: Callable[[], Any]) -> None:
    """Make a call, send what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        answer = (True, work())
    except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
        answer = (False, error)
    with contextlib.suppress(OSError):  # the parent may be gone
        connection.send(answer)


@contextlib.contextmanager
def run_in_background(work: Callable[[], Result], preload: tuple[str, ...] = ()) -> Iterator[Callable[[], Result]]:
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
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[Result]:
    """Yield the result of each item as it comes.

    Args:
        setup: Picklable; runs once in each worker and gives the function that answers items.
        items: Picklable.
        jobs: Number of processes.
        on_lost: Gives the result of an item whose worker died twice; no worker runs while it is called.
        preload: Modules that the fork server imports once for all workers.
        meanwhile: Called once when the workers have their first items.
    Raises:
        EngineError: A worker failed with an exception; its trace is in the text.
        Refused: The operating system refused a worker what it needs.
    """
    from multiprocessing.connection import wait  # noqa: PLC0415 - it brings much along, and one process needs none of it

    context = _forkserver(preload)
    shares = _Shares(items, jobs)
    alone: deque[Item] = deque()
    workers: list[_Worker[Item]] = []

    def start(item: Item, place: int) -> None:
        worker: _Worker[Item] = _started(context, setup, place)
        workers.append(worker)
        worker.give(item)

    finished = False
    try:
        for place in range(jobs):
            if (item := shares.next(place)) is not None:
                start(item, place)
        if meanwhile is not None:
            meanwhile()
        while workers:
            ready = wait([worker.connection for worker in workers])
            for worker in list(workers):
                if worker.connection not in ready:
                    continue
                answer = _receive(worker)
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
                    worker.stop()  # and goes by itself; what it did is all here
                else:
                    worker.give(item)
        while alone:
            item = alone.popleft()
            start(item, 0)
            if (answer := _receive(workers[0])) is None:
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


def _receive(worker: _Worker[Any]) -> Any:
    """Return what a worker answered, or None if its process is gone; raise where it failed."""
    from auditor.base.errors import EngineError  # noqa: PLC0415 - only on failure

    try:
        good, answer = worker.connection.recv()
    except (EOFError, OSError):
        return None
    if not good:
        worker.kill()
        raise answer if isinstance(answer, Refused | ProofRefuted) else EngineError("worker", f"failed:\n{answer}")
    return answer
