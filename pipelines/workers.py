"""Starts the preparation of workers early, while this process loads modules and reads dumps.

It imports only small modules, so that commands start fast.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.plan.run_plan import Plan, SourceShard
    from auditor.shards.result import ShardResult


PRELOAD: Final = ("pipelines.preload",)
"""Modules that the fork server of workers imports."""

_WORTH_WORKERS: Final = 1 << 20
"""Size in bytes of a dump from which on workers are prepared while it is read."""


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
    if not fleet and all(_size(dump) < _WORTH_WORKERS for dump in dumps):
        return False
    from pipelines.engines import expect_processes  # noqa: PLC0415

    expect_processes(PRELOAD)
    return True


def _size(dump: str) -> int:
    """Return the size of a dump that is a file; 0 if not known yet."""
    try:
        status = Path(dump).stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def ready_later(plan: Plan, parts: str) -> Callable[[SourceShard], ShardResult]:
    """Prepare a worker with `auditor.shards.shard_audit.setup`, which loads the modules that audit objects."""
    from auditor.shards.shard_audit import setup  # noqa: PLC0415

    return setup(plan, parts)


def lost_later(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Audit a shard whose worker died twice in smaller ones, or write rows that say so."""
    from auditor.shards.shard_audit import lost_shard  # noqa: PLC0415
    from pipelines.lost_shards import audit_smaller  # noqa: PLC0415

    if plan.options.engine == "processes":
        later = audit_smaller(item, plan=plan, parts=parts, preload=PRELOAD)
        if later is not None:
            return later
    return lost_shard(item, error, plan=plan, parts=parts)
