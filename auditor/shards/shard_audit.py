"""Stages 2 and 3: audits a Shard into part files and counts.

Runs in a worker, independent of other workers. If an object makes the auditor fail, its row is unreadable and names it;
all others are judged.
"""

from __future__ import annotations

import gc
from itertools import repeat
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from auditor.base.errors import ChangedDump, ProofRefuted, WorkerLost, without_frames
from auditor.golang.regex.compiled import MATCH_TIME
from auditor.plan.dumps import CHANGED, cut_values, is_at_rest, open_live
from auditor.plan.limits import bound_worker, pattern_seconds, rule_seconds
from auditor.program.prepared import PREPARED, Prepared
from auditor.releases import running_as
from auditor.shards.conversions import convert_ahead
from auditor.shards.judge import ObjectJudge
from auditor.shards.result import ShardResult, shown_error
from auditor.shards.row_writer import PartFiles, RowWriter
from auditor.shards.shard_keys import ShardKeys
from auditor.shards.table_rows import forget_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from auditor.base.records import JsonObject
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.crds.usable import UsableDefinitions
    from auditor.plan.run_plan import Plan, SourceShard
    from auditor.shards.judge import Observer


class ShardAuditor(ObjectJudge):
    """Audits shards, one after another; builds programs on first use and reuses them.

    Args:
        plan, parts, observer, documents, prepared, usable: As `ObjectJudge` takes them.
        sink: Receives the rows of a shard; if None, they are written to part files.
    """

    def __init__(
        self,
        plan: Plan,
        parts: str,
        *,
        sink: PartFiles | None = None,
        observer: Observer | None = None,
        documents: Callable[[DefinitionEntry], JsonObject] | None = None,
        prepared: Prepared | None = None,
        usable: UsableDefinitions | None = None,
    ) -> None:
        super().__init__(plan, parts, observer=observer, documents=documents, prepared=prepared, usable=usable)
        self.sink = sink or PartFiles()

    def __call__(self, item: SourceShard) -> ShardResult:
        """Audit one shard as the release of the plan: write its part files, return its counts."""
        with running_as(self.release):
            return self._audit(item)

    def _audit(self, item: SourceShard) -> ShardResult:
        try:
            convert_ahead(self, item)
            table, values = self.source(item.source)
        except ChangedDump as error:
            return self.lost(item, str(error))
        shard = item.shard
        source = self.plan.sources[item.source]
        rows = table.slice(shard.start, shard.stop - shard.start)
        judge = self.shard_keys(item, table, rows)
        add = judge.add if self.uses_fast_paths(judge) else judge.add_slowly
        keys, revisions = (_listed(rows[name]) for name in ("key", "mod_revision"))
        self.rule_time.begin(rule_seconds(item.bytes))
        MATCH_TIME.begin(pattern_seconds(item.bytes))
        until = self.plan.options.until
        failed: dict[int, Exception] = {}
        for position, key, revision, data in zip(
            range(len(rows)), keys, revisions, cut_values(rows, values), strict=True
        ):
            if until and time() > until:
                judge.out_of_time(position, key, revision)
                continue
            try:
                add(position, key, revision, data)
            except ProofRefuted:
                raise
            except Exception as error:  # noqa: BLE001 - the audit goes on; its row names the object
                failed[position] = without_frames(error)
        self.since_collect += len(rows)
        if self.since_collect > 100_000:
            self.since_collect = 0
            gc.collect()
        if not is_at_rest(source):
            self.forget_counts()
            return self.lost(item, f"{source.name}: {CHANGED}")
        if not failed:
            try:
                return judge.finish()
            except Exception as error:
                if isinstance(error, OSError):  # no space or no permission to write: not the fault of an object
                    raise
        from auditor.shards.apart import audit_apart  # noqa: PLC0415 - only on failure

        del judge, add  # and with them what they still hold of the values that failed
        return audit_apart(self, item, failed)

    def forget_counts(self) -> None:
        """Discard the counts since the last finished shard."""
        self.unsealer.counts.clear()
        for key, program in self.programs.items():
            self.counted[key] = (program.proven, program.total - min(program.total, program.warm_up))
            program.fallbacks.take()

    def lost(self, item: SourceShard, why: str) -> ShardResult:
        """Write the rows of a shard that cannot be audited: every key is unreadable, with the reason."""
        self.begin()
        rows = open_live(self.plan.sources[item.source]).slice(item.shard.start, item.shard.stop - item.shard.start)
        judge = self.shard_keys(item, rows, rows)
        reason = f"not audited: {why}"
        columns = (rows[name].to_pylist() for name in ("key", "mod_revision"))
        for position, (key, revision) in enumerate(zip(*columns, strict=True)):
            judge.not_audited(position, key, revision, reason)
        judge.rows.result.note_lost(f"shard {item.shard.number}: {reason}")
        return judge.finish()

    def begin(self) -> None:
        """Let the observer forget the shard, which is audited again."""
        if self.observer is not None:
            self.observer.begin()

    def shard_keys(self, item: SourceShard, table: Any, live: Any) -> ShardKeys:
        """Return the object that judges the keys of a shard.

        Args:
            item: The shard.
            table: The live table of its dump.
            live: The rows of the shard in it.
        """
        source = self.plan.sources[item.source]
        rows = RowWriter(self, self.sink, source.name, item.shard.number, live, is_export=source.is_export)
        rows.result.bytes = item.bytes
        return ShardKeys(self, rows, table, (item.source, item.shard.start))

    def uses_fast_paths(self, keys: ShardKeys) -> bool:
        """Whether objects may take a fast path: the run needs only the columns of a row."""
        return (
            self.plan.options.scope.is_everything
            and self.changes is None
            and self.unsealer.config is None
            and keys.at != "served"
            and self.observer is None
        )


def _listed(column: pa.ChunkedArray) -> Iterable[Any]:
    """Return the values of a column; in exports there are no keys and no revisions."""
    return repeat(None, len(column)) if column.null_count == len(column) else column.to_pylist()


def setup(
    plan: Plan, parts: str, usable: UsableDefinitions | None = None, count: Callable[..., None] | None = None
) -> Callable[[SourceShard], ShardResult]:
    """Set up a worker: no garbage collection (JSON trees have no cycles), files are opened on demand.

    Args:
        plan, parts, usable: As `ObjectJudge` takes them.
        count: As `PartFiles` takes it.
    """
    gc.disable()
    bound_worker(plan.options.memory, plan.options.jobs)
    prepared = PREPARED if plan.options.in_fleet else None
    return ShardAuditor(plan, parts, sink=PartFiles(count), prepared=prepared, usable=usable)


def lost_shard(
    item: SourceShard, error: Exception, *, plan: Plan, parts: str, count: Callable[..., None] | None = None
) -> ShardResult:
    """Write the rows of a shard whose worker died twice: every key is unreadable, with the reason."""
    forget_parts(Path(parts), item.shard.number)  # of the dead worker
    why = f"worker lost ({error})" if isinstance(error, WorkerLost) else shown_error(error)
    return ShardAuditor(plan, parts, sink=PartFiles(count)).lost(item, why)
