"""What a worker does where rows of an earlier report are kept: an audit that notes for which live row each row is.

Light on purpose: workers that are forked load it, and nothing that compares reports.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from auditor.plan.plan import open_live
from auditor.shards.audit import ShardAuditor, _ShardWriter, lost_shard, setup

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.plan.plan import Plan, SourceShard
    from auditor.shards.result import ShardResult

__all__ = ["lost_remaining", "setup_remaining"]


class _Writer(_ShardWriter):
    """Notes the live row of every row that is written; what a definition has objects by is the whole live table."""

    owner: _Auditor

    def __init__(self, owner: _Auditor, source: str, number: int, live: Any, *, is_export: bool) -> None:
        super().__init__(owner, source, number, live, is_export=is_export)

    def has_objects(self, row: Any) -> bool:
        self.table = self.owner.all_keys()
        return super().has_objects(row)

    def finish(self) -> ShardResult:
        result = super().finish()
        _write_positions(self.owner.parts, result.number, self.objects.positions(), self.found.positions())
        return result


def _write_positions(parts: Path, number: int, objects: Any, findings: Any) -> None:
    folder = parts / "positions"
    folder.mkdir(exist_ok=True)
    with (folder / f"part-{number:05d}.npz").open("wb") as stream:
        np.savez(stream, objects=np.array(objects, dtype=np.int64), findings=np.array(findings, dtype=np.int64))


class _Auditor(ShardAuditor):
    """Audits what is left of a plan.

    Args:
        plan: The plan of what is left.
        parts: Folder of the part files.
        whole: The plan that it is left of.
    """

    def __init__(self, plan: Plan, parts: str, whole: Plan) -> None:
        super().__init__(plan, parts)
        self.whole = whole
        self._source = 0

    def __call__(self, item: SourceShard) -> ShardResult:
        self._source = item.source
        return super().__call__(item)

    def writer(self, source: str, number: int, live: Any, *, is_export: bool) -> _Writer:
        return _Writer(self, source, number, live, is_export=is_export)

    def all_keys(self) -> Any:
        """Return the whole live table of the source that is being audited."""
        return open_live(self.whole.sources[self._source])


def setup_remaining(plan: Plan, parts: str, whole: Plan) -> Callable[[SourceShard], ShardResult]:
    """Make a worker ready; as `_Auditor`."""
    setup(plan, parts)
    return _Auditor(plan, parts, whole)


def lost_remaining(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a lost shard, which are one for each of its keys."""
    result = lost_shard(item, error, plan=plan, parts=parts)
    _write_positions(Path(parts), item.shard.number, range(item.shard.stop - item.shard.start), [])
    return result
