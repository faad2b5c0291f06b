"""Engines: ways to run one function on many shards. They know nothing of Kubernetes.

An engine takes a picklable `setup()` that returns a callable `work(shard) -> result`, and yields results in any order.
`run_inline` runs them in this process, `processes` in worker processes, `ray` on a Ray cluster; `run_shards` chooses.
"""

from __future__ import annotations

import gc
import os
import stat
import time
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeVar

from auditor.base.errors import WorkerLost
from auditor.base.progress import tell
from auditor.plan.limits import SIZE_IN_MEMORY
from pipelines.engines.processes import expect_processes, run_in_background, run_processes
from pipelines.log import LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from auditor.plan.options import AuditOptions
    from auditor.plan.run_plan import SourceShard
    from auditor.sources.files.helpers import Helpers

__all__ = ["PRELOAD", "expect_workers", "helping", "run_in_background", "run_inline", "run_processes", "run_shards"]

PRELOAD: Final = ("pipelines.preload",)
"""Modules that the fork server of workers imports."""
_WORTH_WORKERS: Final = 1 << 20
"""Size in bytes of a dump from which on workers are prepared while it is read."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_inline(
    setup: Callable[[], Callable[[Item], Result]],
    items: Iterable[Item],
    *,
    on_lost: Callable[[Item, WorkerLost], Result],
) -> Iterator[Result]:
    """Yield the result of each item, in order.

    Args:
        setup: Returns the function to run on items.
        items: The items.
        on_lost: Returns the result of an item for which this process has not enough memory.
    """
    work: Callable[[Item], Result] | None = None
    for item in items:
        work = work or setup()
        try:
            result = work(item)
        except MemoryError:
            work = None  # its references may hold the missing memory
            gc.collect()
            error = WorkerLost(str(item), "it needs more memory than the command may hold (--memory)")
            result = on_lost(item, error)
        yield result


def run_shards(
    ready: Any,
    shards: list[SourceShard],
    options: AuditOptions,
    lost: Any,
    spool: Path,
    *,
    apart: bool = False,
) -> list[Any]:
    """Return the results of all shards, from this process or from workers.

    Args:
        ready: Makes the function that a worker calls with each of its shards; picklable.
        lost: Called with a shard whose worker died twice, and the error; returns the shard's result.
        spool: Folder for temporary files of this run.
        apart: Judge no object in this process.
    """
    if options.engine == "ray":
        from pipelines.engines.ray import run_ray  # noqa: PLC0415 - only when asked

        ordered = sorted(shards, key=lambda item: item.is_last)
        answers = run_ray(ready, ordered, on_lost=lost, shared=spool, address=options.ray_address, jobs=options.jobs)
    elif not apart and (
        options.engine == "inline" or ((options.jobs == 1 or len(shards) <= 1) and _fits(options, shards))
    ):
        answers = run_inline(ready, shards, on_lost=lost)
    else:
        jobs = max(1, min(options.jobs, len(shards)))
        first, last = ([item for item in shards if item.is_last is late] for late in (False, True))
        answers = run_processes(ready, first, jobs=jobs, on_lost=lost, preload=PRELOAD, last=last)
    return _with_progress(answers, shards)


def _fits(options: AuditOptions, shards: list[SourceShard]) -> bool:
    """Return whether this process may audit objects itself: none is too large for it."""
    return not options.memory or all(item.largest * SIZE_IN_MEMORY < options.memory for item in shards)


def _with_progress(answers: Any, shards: list[SourceShard]) -> list[Any]:
    """Return the results; tell how many objects are judged."""
    out = []
    rows = sum(item.shard.stop - item.shard.start for item in shards)
    by_number = {item.shard.number: item.shard for item in shards}
    done, began = 0, time.monotonic()
    tell("judging", 0, rows, "objects")
    for answer in answers:
        shard = by_number[answer.number]
        done += shard.stop - shard.start
        out.append(answer)
        tell("judging", done, rows, "objects")
        LOG.progress(done, rows, time.monotonic() - began)
    tell("writing", 0, None, "parts")
    return out


def expect_workers(dumps: Iterable[str], *, engine: str, jobs: int, fleet: bool = False) -> bool:
    """Start the fork server, if there will be workers.

    Args:
        dumps: The dumps of the run.
        engine: Its engine.
        jobs: Its number of workers.
        fleet: Whether each of several dumps is that of a cluster.

    Returns:
        Whether there will certainly be workers.
    """
    if engine != "processes" or jobs == 1:
        return False
    if not fleet and not any(map(_is_worth_workers, dumps)):
        return False
    expect_processes(PRELOAD)
    return True


def helping(count: int) -> Helpers:
    """Return so many processes, for which `expect_workers` started the fork server, as helpers of this one."""
    from auditor.sources.files.helpers import Helpers  # noqa: PLC0415 - workers are started before readers are loaded

    return Helpers(count, partial(run_in_background, preload=PRELOAD))


def _is_worth_workers(dump: str) -> bool:
    """Return whether a dump is so large; False if not known yet."""
    return any(size >= _WORTH_WORKERS for size in accumulate(map(_size, _files(dump))))


def _files(dump: str) -> Iterator[str]:
    """Yield the dump, or the files in one that is a folder, without hidden ones."""
    if not os.path.isdir(dump):  # noqa: PTH112 - names as they were given
        yield dump
        return
    for folder, below, names in os.walk(dump):
        below[:] = [name for name in below if not name.startswith(".")]
        yield from (os.path.join(folder, name) for name in names if not name.startswith("."))  # noqa: PTH118


def _size(file: str) -> int:
    """Return the size of a file; 0 if not known yet."""
    try:
        status = os.stat(file)  # noqa: PTH116 - a folder may have many
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
