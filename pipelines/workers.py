"""Workers that will surely be needed are made ready first of all, beside whatever this process loads and reads itself.

Light on purpose: nothing heavy may be imported here.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pipelines.plan import Plan, SourceShard
    from pipelines.shard_result import ShardResult

__all__ = ["PRELOAD", "expect_workers", "left_later", "lost_later", "lost_left_later", "ready_later"]

PRELOAD: Final = ("pipelines.preload",)
"""What workers are forked from has loaded these."""

_WORTH_WORKERS: Final = 1 << 20
"""Bytes of a dump from which on workers are made ready while it is read."""
_WORTH_ONE: Final = 64 << 20
"""The same where rows of an earlier report are kept: then one worker is a process too, beside what keeps them."""


def expect_workers(dumps: Iterable[str], *, engine: str, jobs: int, since: str = "") -> bool:
    """Start what workers are forked from, if any will be; of what changed since a report there is mostly little.

    Returns:
        Whether there will be workers for sure.
    """
    least = _WORTH_ONE if since else _WORTH_WORKERS
    if engine != "processes" or (jobs == 1 and not since) or all(_size(dump) < least for dump in dumps):
        return False
    from pipelines.engines import expect_processes  # noqa: PLC0415

    expect_processes(PRELOAD)
    return True


def _size(dump: str) -> int:
    """Return the size of a dump that is a file; of what else there is nobody knows it yet."""
    try:
        status = Path(dump).stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def ready_later(plan: Plan, parts: str) -> Callable[[SourceShard], ShardResult]:
    """Make a worker ready, as `pipelines.audit.setup`: who only hands out shards does not load what judges objects."""
    from pipelines.audit import setup  # noqa: PLC0415

    return setup(plan, parts)


def lost_later(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a shard whose worker died twice, as `pipelines.audit.lost_shard`."""
    from pipelines.audit import lost_shard  # noqa: PLC0415

    return lost_shard(item, error, plan=plan, parts=parts)


def left_later(plan: Plan, parts: str, whole: Plan) -> Callable[[SourceShard], ShardResult]:
    """Make a worker ready, as `pipelines.left_audit.setup_left`."""
    from pipelines.left_audit import setup_left  # noqa: PLC0415

    return setup_left(plan, parts, whole)


def lost_left_later(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a shard whose worker died twice, as `pipelines.left_audit.lost_left`."""
    from pipelines.left_audit import lost_left  # noqa: PLC0415

    return lost_left(item, error, plan=plan, parts=parts)
