"""A shard whose workers ended twice (killed, out of memory): the object at which they ended is lost, and no other.

It is audited once more by workers that note at which object they are. Where one ends there the object is left out, and
gets a row that says so.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from auditor.base.errors import WorkerLost
from pipelines.workers import PRELOAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.plan.plan import Plan, SourceShard
    from auditor.shards.result import ShardResult

__all__ = ["audit_neighbours"]

_MOST: Final = 4
"""Objects of a shard at which workers may end; with more of them it is the machine that ends them."""


def audit_neighbours(item: SourceShard, *, plan: Plan, parts: str) -> ShardResult | None:
    """Audit a shard without the objects at which its workers end; None: no object of it is what ends them.

    Args:
        item: The shard.
        plan: The plan of the run.
        parts: Folder of the part files.
    """
    from pipelines.engines import run_processes  # noqa: PLC0415 - only on failure

    mark = Path(parts).parent / f"object-{item.shard.number:05d}"
    ends: list[WorkerLost] = []

    def ended(_: SourceShard, error: WorkerLost) -> None:
        ends.append(error)

    left_out: dict[int, str] = {}
    try:
        for _ in range(_MOST + 1):
            mark.write_bytes(b"")
            ready = partial(_ready, plan, parts, str(mark), dict(left_out))
            (result,) = run_processes(ready, [item], jobs=1, on_lost=ended, preload=PRELOAD)
            if result is not None:
                # None if no object ended the worker: something outside did, and the caller reports the loss
                return result if left_out else None
            where = mark.read_bytes()
            at = int.from_bytes(where, "little") if where else -1
            if at < 0 or at in left_out:
                return None
            left_out[at] = ends[-1].found
    finally:
        mark.unlink(missing_ok=True)
    return None


def _ready(plan: Plan, parts: str, mark: str, left_out: dict[int, str]) -> Callable[[SourceShard], ShardResult | None]:
    """Make a worker ready that notes at which object it is."""
    from auditor.shards.apart import audit_apart  # noqa: PLC0415 - only on failure
    from auditor.shards.audit import setup  # noqa: PLC0415

    owner = setup(plan, parts)

    def work(item: SourceShard) -> ShardResult:
        lost: dict[int, Exception] = {at: WorkerLost("", why) for at, why in left_out.items()}
        with Path(mark).open("r+b", buffering=0) as stream:
            return audit_apart(owner, item, {}, lost=lost, mark=stream)  # type: ignore[arg-type]

    return work
