"""One warm worker of an audit: the same measurement as that of the oracle's own benchmark.

A worker is made as an audit makes it, and given the same shards again and again: decode, every check, rows, Parquet
files. Its first pass builds the programs and does not count. Start-up and the parent's work are left out.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from auditor.plan.cut import cut_shards
from auditor.plan.options import AuditOptions
from auditor.plan.plan import make_plan
from auditor.shards.audit import setup

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["WarmWorker"]


class WarmWorker:
    """A worker that has seen all objects of a dump once.

    Args:
        dump: The dump.
        crds: File or folder with definitions.
        skip: What to leave out: updates, rules.
    """

    def __init__(self, dump: Path, crds: Path, skip: tuple[str, ...] = ("updates",)) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="auditor-bench-"))
        spool, parts = self._folder / "spool", self._folder / "parts"
        for made in (spool, parts / "objects", parts / "findings"):
            made.mkdir(parents=True)
        plan = make_plan(AuditOptions(dumps=(str(dump),), crds=(str(crds),), skip=skip), spool)
        was_enabled = gc.isenabled()
        self._audit = setup(plan, str(parts))  # it switches the collector off, as it does in a worker
        self._was_enabled = was_enabled
        self._shards = cut_shards(plan)
        self.objects = sum(item.shard.stop - item.shard.start for item in self._shards)
        self.invalid = 0
        self.rate()

    def rate(self) -> float:
        """Return objects a second of one pass."""
        gc.collect()
        start = time.perf_counter()
        results = [self._audit(item) for item in self._shards]
        seconds = time.perf_counter() - start
        self.invalid = sum(
            count for result in results for (_, status), count in result.statuses.items() if status == "invalid"
        )
        return self.objects / seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._was_enabled:
            gc.enable()
