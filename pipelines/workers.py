"""Workers that will surely be needed are made ready first of all, beside whatever this process loads and reads itself.

Light on purpose: nothing heavy may be imported here.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.plan.plan import Plan, SourceShard
    from auditor.shards.result import ShardResult

__all__ = ["PRELOAD", "expect_workers", "lost_later", "lost_remaining_later", "ready_later", "remaining_later"]

PRELOAD: Final = ("pipelines.preload",)
"""What workers are forked from has loaded these."""

_WORTH_WORKERS: Final = 1 << 20
"""Bytes of a dump from which on workers are made ready while it is read."""
_WORTH_ONE: Final = 64 << 20
"""The same where rows of an earlier report are kept: then one worker is a process too, beside what keeps them."""


def expect_workers(dumps: Iterable[str], *, engine: str, jobs: int, since: str = "", fleet: bool = False) -> bool:
    """Start what workers are forked from, if any will be; of what changed since a report there is mostly little.

    Args:
        dumps: The dumps of the run.
        engine: Its engine.
        jobs: Its number of workers.
        since: The earlier report whose rows are reused.
        fleet: Whether each of several dumps is that of a cluster.

    Returns:
        Whether there will be workers for sure.
    """
    least = _WORTH_ONE if since else _WORTH_WORKERS
    if engine != "processes" or (jobs == 1 and not since):
        return False
    if not (fleet and jobs > 1) and all(_size(dump) < least for dump in dumps):
        return False
    from pipelines.engines import expect_processes  # noqa: PLC0415

    expect_processes(PRELOAD)
    return True


def _size(dump: str) -> int:
    """Return the size of a dump that is a file; the size of anything else is not known yet."""
    try:
        status = Path(dump).stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def ready_later(plan: Plan, parts: str) -> Callable[[SourceShard], ShardResult]:
    """Make a worker ready, by `auditor.shards.audit.setup`, which loads what judges objects."""
    from auditor.shards.audit import setup  # noqa: PLC0415

    return setup(plan, parts)


def lost_later(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Audit a shard whose worker died twice in smaller ones, or write rows that say so."""
    from auditor.shards.audit import lost_shard  # noqa: PLC0415
    from pipelines.lost_shards import audit_smaller  # noqa: PLC0415

    if plan.options.engine == "processes" and (found := audit_smaller(item, plan=plan, parts=parts)) is not None:
        return found
    return lost_shard(item, error, plan=plan, parts=parts)


def remaining_later(plan: Plan, parts: str, whole: Plan) -> Callable[[SourceShard], ShardResult]:
    """Make a worker ready, as `auditor.shards.remaining.setup_remaining`."""
    from auditor.shards.remaining import setup_remaining  # noqa: PLC0415

    return setup_remaining(plan, parts, whole)


def lost_remaining_later(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a shard whose worker died twice, as `auditor.shards.remaining.lost_remaining`."""
    from auditor.shards.remaining import lost_remaining  # noqa: PLC0415

    return lost_remaining(item, error, plan=plan, parts=parts)
