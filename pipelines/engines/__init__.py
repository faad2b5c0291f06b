"""Engines: ways to run one function on many shards. They know nothing of Kubernetes.

An engine takes a picklable `setup()` that returns a callable `work(shard) -> result`, and yields results in any order.
`run_inline` runs them in this process, `processes` in worker processes, `ray` on a Ray cluster.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, TypeVar

from auditor.base.errors import WorkerLost
from pipelines.engines.processes import expect_processes, run_in_background, run_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["expect_processes", "run_in_background", "run_inline", "run_processes"]

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
