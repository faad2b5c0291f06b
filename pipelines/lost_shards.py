"""Handles a shard whose workers ended twice (killed, out of memory): only objects that no worker can audit are lost.

A worker with all the memory of the run audits it again and records its current object. If that worker ends, the object
is tried alone: if its worker ends as well, the object is left out, and its row says so. Otherwise the objects together
needed too much memory, and the shard is divided into smaller ones. Nothing else runs meanwhile.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from auditor.base.errors import WorkerLost

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from auditor.plan.run_plan import Plan, SourceShard
    from auditor.shards.result import ShardResult


_MOST_ENDS: Final = 16
"""Largest number of smaller shards whose workers may end; with more, the machine is probably the reason."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A smaller shard that was audited, and the folder of its part files."""

    result: ShardResult
    folder: Path


def audit_smaller(
    item: SourceShard, *, plan: Plan, parts: str, preload: tuple[str, ...], count: Callable[..., None] | None = None
) -> ShardResult | None:
    """Audit a shard in smaller ones, without the objects at which workers end.

    Returns None if the first worker ends before it audits any object.

    Args:
        item: The shard.
        plan: The plan of the run.
        parts: Folder of the part files.
        preload: Modules that the fork server of workers imports.
        count: As for `auditor.shards.shard_audit.setup`.
    """
    return _Smaller(item, plan, Path(parts), preload, count).run()


class _Smaller:
    def __init__(
        self, item: SourceShard, plan: Plan, parts: Path, preload: tuple[str, ...], count: Callable[..., None] | None
    ) -> None:
        self.item = item
        self.count = count
        self.plan = replace(plan, options=replace(plan.options, jobs=1))
        self.parts = parts
        self.preload = preload
        self.folder = parts.parent / f"smaller-{item.shard.number:05d}"
        self.mark = self.folder / "object"
        self.pieces: dict[int, _Piece] = {}
        self.why = ""

    def run(self) -> ShardResult | None:
        """Audit all pieces; write their rows as those of the shard."""
        from auditor.shards.table_rows import forget_parts  # noqa: PLC0415 - only on failure

        self.folder.mkdir()
        try:
            if not self._audit_all():
                return None
            forget_parts(self.parts, self.item.shard.number)  # part files of the workers that ended
            return _joined(self.item, [self.pieces[position] for position in sorted(self.pieces)], self.parts)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _audit_all(self) -> bool:
        """Audit the shard, in smaller ones if workers end. Returns False if no object can be audited."""
        whole = (self.item.shard.start, self.item.shard.stop)
        pending, ends = [whole], 0
        while pending:
            start, stop = span = pending.pop()
            if ends > _MOST_ENDS:
                self._lose(span)
                continue
            answer = self._audit(span)
            if answer is None:
                continue
            ends += 1
            if not start <= answer < stop:  # it ended before the first object
                if span == whole:
                    return False
                self._lose(span)
            elif stop - start == 1:
                self._lose(span)
            elif self._audit((answer, answer + 1)) is not None:
                ends += 1
                self._lose((answer, answer + 1))
                pending += [(answer + 1, stop), (start, answer)]
            else:
                middle = (start + answer) // 2
                pending += [(answer + 1, stop), (middle, answer), (start, middle)]
            pending = [span for span in pending if span[0] < span[1]]
        return True

    def _audit(self, span: tuple[int, int]) -> int | None:
        """Audit a smaller shard. Returns None on success, else the object at which its workers ended, or -1."""
        from pipelines.engines import run_processes  # noqa: PLC0415 - only on failure

        piece, parts = self._piece(span)
        self.mark.write_bytes(b"")
        ends: list[WorkerLost] = []

        def ended(_: SourceShard, error: WorkerLost) -> None:
            ends.append(error)

        ready = partial(_ready, self.plan, str(parts), str(self.mark), self.count)
        (result,) = run_processes(ready, [piece], jobs=1, on_lost=ended, preload=self.preload)
        if result is not None:
            self.pieces[span[0]] = _Piece(result, parts)
            return None
        self.why = ends[-1].found
        shutil.rmtree(parts)
        where = self.mark.read_bytes()
        return span[0] + int.from_bytes(where, "little") if where else -1

    def _lose(self, span: tuple[int, int]) -> None:
        """Write rows for objects that no worker can audit."""
        from auditor.shards.apart import audit_apart  # noqa: PLC0415 - only on failure
        from auditor.shards.row_writer import PartFiles  # noqa: PLC0415
        from auditor.shards.shard_audit import ShardAuditor  # noqa: PLC0415

        piece, parts = self._piece(span)
        lost: dict[int, Exception] = {position: WorkerLost("", self.why) for position in range(span[1] - span[0])}
        result = audit_apart(ShardAuditor(self.plan, str(parts), sink=PartFiles(self.count)), piece, {}, lost=lost)
        self.pieces[span[0]] = _Piece(result, parts)

    def _piece(self, span: tuple[int, int]) -> tuple[SourceShard, Path]:
        """Return a smaller shard, and a new folder for its part files."""
        parts = self.folder / f"{span[0]}-{span[1]}"
        for name in ("objects", "findings"):
            (parts / name).mkdir(parents=True, exist_ok=True)
        shard = replace(self.item.shard, start=span[0], stop=span[1])
        whole = max(1, self.item.shard.stop - self.item.shard.start)
        return replace(self.item, shard=shard, bytes=self.item.bytes * (span[1] - span[0]) // whole), parts


def _joined(item: SourceShard, pieces: Sequence[_Piece], parts: Path) -> ShardResult:
    """Write the rows of smaller shards as those of one; return its counts."""
    from auditor.columns.dataset import write_part  # noqa: PLC0415
    from auditor.shards.table_rows import write_parquet  # noqa: PLC0415
    from auditor.store.manifest import merge  # noqa: PLC0415

    files: dict[Path, list[Path]] = defaultdict(list)
    for piece in pieces:
        for path in sorted(piece.folder.rglob("part-*.*")):
            files[path.relative_to(piece.folder)].append(path)
    for name, paths in files.items():
        if name.suffix != ".parquet":  # counts
            (parts / name).parent.mkdir(parents=True, exist_ok=True)
            (parts / name).write_bytes(b"".join(path.read_bytes() for path in paths))
            continue
        table = _concatenated([_read(path) for path in paths])
        if name.parts[0] == "tables":
            write_part(table.to_batches(), table.schema, parts / name)
        else:
            write_parquet(_by_name(table) if name.parts[0] == "index" else table, parts / name)
    total = merge([replace(piece.result, number=number) for number, piece in enumerate(pieces)])
    return replace(total, number=item.shard.number, bytes=item.bytes)


def _read(path: Path) -> pa.Table:
    """Return the rows of a file, read in this thread: little of --memory is left, and the stack of another counts."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only on failure

    with pq.ParquetFile(path) as file:
        return file.read(use_threads=False)


def _concatenated(tables: list[pa.Table]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - only on failure

    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _by_name(table: pa.Table) -> pa.Table:
    """Return rows of an index in the order of the index."""
    names = list(zip(table["namespace"].to_pylist(), table["name"].to_pylist(), strict=True))
    order = sorted(range(len(names)), key=lambda at: (names[at][0] or "", names[at][1] or ""))
    return table.take(order)


def _ready(
    plan: Plan, parts: str, mark: str, count: Callable[..., None] | None
) -> Callable[[SourceShard], ShardResult | None]:
    """Prepare a worker that records its current object."""
    from auditor.shards.apart import audit_apart  # noqa: PLC0415 - only on failure
    from auditor.shards.shard_audit import setup  # noqa: PLC0415

    owner = setup(plan, parts, count=count)

    def work(item: SourceShard) -> ShardResult:
        with Path(mark).open("r+b", buffering=0) as stream:
            return audit_apart(owner, item, {}, mark=stream)  # type: ignore[arg-type]

    return work
