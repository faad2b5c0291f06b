"""Worker of --since: audits the changed rows and records the live row of each output row.

It imports little, as each forked worker loads it, without the code that compares reports.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from auditor.plan.dumps import open_live
from auditor.shards.audit import ShardAuditor, lost_shard, setup
from auditor.shards.row_writer import PartFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.plan import Plan, SourceShard
    from auditor.shards.judge import ObjectJudge
    from auditor.shards.result import ShardResult
    from auditor.shards.row_writer import RowWriter

__all__ = ["lost_remaining", "setup_remaining"]


class _PositionedFiles(PartFiles):
    """A sink that also records the live row of each output row.

    Args:
        whole: The plan of the whole run, not only of the audited part.
    """

    def __init__(self, whole: Plan) -> None:
        self._whole = whole

    def has_objects(self, owner: ObjectJudge, keys: Any, entry: DefinitionEntry, source: int) -> bool:  # noqa: ARG002
        """Return whether a dump has objects of a definition, also among those that are not audited."""
        return super().has_objects(owner, open_live(self._whole.sources[source])["key"], entry, source)

    def write(self, rows: RowWriter, parts: Path) -> None:
        """Write the part files of a shard, and the positions."""
        super().write(rows, parts)
        _write_positions(parts, rows.result.number, rows.objects.positions(), rows.found.positions())


def _write_positions(parts: Path, number: int, objects: Any, findings: Any) -> None:
    folder = parts / "positions"
    folder.mkdir(exist_ok=True)
    with (folder / f"part-{number:05d}.npz").open("wb") as stream:
        np.savez(stream, objects=np.array(objects, dtype=np.int64), findings=np.array(findings, dtype=np.int64))


def setup_remaining(plan: Plan, parts: str, whole: Plan) -> Callable[[SourceShard], ShardResult]:
    """Set up a worker.

    Args:
        plan: The plan of the rows to audit.
        parts: Folder of the part files.
        whole: The plan of the whole run.
    """
    setup(plan, parts)
    return ShardAuditor(plan, parts, sink=_PositionedFiles(whole))


def lost_remaining(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a lost shard, which are one for each of its keys."""
    result = lost_shard(item, error, plan=plan, parts=parts)
    _write_positions(Path(parts), item.shard.number, range(item.shard.stop - item.shard.start), [])
    return result
