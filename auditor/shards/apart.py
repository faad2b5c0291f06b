"""Audits a shard again after an exception: each object that failed gets a row with the reason, the others are judged.

An exception may leave some rows of an object behind, so all rows of the shard are made again. An object that failed on
the fast path is first tried alone on the exact path. If the tables of a shard cannot be made, the objects that cause
this are found by bisection.
"""

from __future__ import annotations

import gc
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from auditor.base.errors import ProofRefuted, without_frames
from auditor.plan.dumps import cut_value, mapped_value
from auditor.shards.judge import RowHead
from auditor.shards.table_rows import forget_parts
from auditor.sources.files.work_folder import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.plan.run_plan import SourceShard
    from auditor.shards.result import ShardResult
    from auditor.shards.shard_keys import ShardKeys


_PASSES: Final = 4
_TRIES: Final = 300
"""Number of parts of a shard that are tried to find the objects that cannot be put into tables."""


class ShardOwner(Protocol):
    """What the auditor of a shard is asked when the shard is audited again.

    Attributes:
        parts: Folder of the part files.
    """

    parts: Path

    def source(self, number: int) -> tuple[Any, Any]:
        """Return the mapped (live table, values) of a source."""

    def begin(self) -> None:
        """Let the observer forget the shard, which is audited again."""

    def shard_keys(self, item: SourceShard, table: Any, live: Any) -> ShardKeys:
        """Return the object that judges the keys of a shard."""

    def uses_fast_paths(self, keys: ShardKeys) -> bool:
        """Whether objects may take a fast path."""

    def forget_counts(self) -> None:
        """Discard the counts since the last finished shard."""


def audit_apart(
    owner: ShardOwner,
    item: SourceShard,
    failed: dict[int, Exception],
    *,
    lost: dict[int, Exception] | None = None,
    mark: Any = None,
) -> ShardResult:
    """Audit a shard in which something failed.

    Args:
        owner: The auditor of the shard.
        item: The shard.
        failed: The objects that failed, by position; empty if the tables of the shard could not be made.
        lost: Objects that must not be tried, by position.
        mark: An open file for the position of the current object, which the parent reads if this process dies.
    """
    apart = _Apart(owner, item)
    apart.broken.update(lost or {})
    apart.mark = mark
    return apart.run(failed)


class _Apart:
    def __init__(self, owner: ShardOwner, item: SourceShard) -> None:
        self.owner = owner
        self.item = item
        table, self.values = owner.source(item.source)
        self.table = table
        self.rows = table.slice(item.shard.start, item.shard.stop - item.shard.start)
        columns = (self.rows[name].to_pylist() for name in ("key", "mod_revision", "offset", "length", "encoding"))
        self.heads = list(zip(*columns, strict=True))
        self.broken: dict[int, Exception] = {}
        self.slow: set[int] = set()
        self.mark: Any = None

    def run(self, failed: dict[int, Exception]) -> ShardResult:
        """Audit the shard until all failing objects are known."""
        every = range(len(self.heads))
        for _ in range(_PASSES):
            for position, error in failed.items():
                again = error if position in self.slow else self._error_of([position], slow=True)
                if again is None:
                    self.slow.add(position)
                else:
                    self.broken[position] = again
            self._forget()
            writer, failed = self._filled(every)
            if failed:
                continue
            try:
                return writer.finish()
            except Exception as error:
                if isinstance(error, OSError):
                    raise
                self.broken |= self._culprits(error)
        self._forget()
        self.broken = dict.fromkeys(every, RuntimeError("no table could be made of the shard that it is in"))
        return self._filled(every)[0].finish()

    def _filled(self, positions: Iterable[int], *, slow: bool = False) -> tuple[ShardKeys, dict[int, Exception]]:
        """Return a shard with the rows of some objects, and the objects that failed."""
        owner, item = self.owner, self.item
        owner.begin()
        writer = owner.shard_keys(item, self.table, self.rows)
        add = writer.add if owner.uses_fast_paths(writer) and not slow else writer.add_slowly
        failed: dict[int, Exception] = {}
        for position in positions:
            key, revision, offset, length, encoding = self.heads[position]
            if position in self.broken:
                writer.broken(self._row_of_broken(position), self.broken[position])
                continue
            if self.mark is not None:
                self.mark.seek(0)
                self.mark.write(position.to_bytes(8, "little"))
            try:
                data = cut_value(self.values, offset, length, encoding)
                (writer.add_slowly if position in self.slow else add)(position, key, revision, data)
            except ProofRefuted:
                raise
            except Exception as error:  # noqa: BLE001 - it is judged alone, or gets a row that says so
                failed[position] = without_frames(error)
        return writer, failed

    def _row_of_broken(self, at: int) -> RowHead:
        """Return the row of an object that is not audited, even if its value does not fit the memory."""
        key, revision, *place = self.heads[at]
        try:
            return RowHead(at, key, revision, cut_value(self.values, *place))
        except MemoryError:
            row = RowHead(at, key, revision, b"")
            row.stored = cast("bytes", mapped_value(self.values, *place))  # for its size and digest
            if key is None:  # its names are looked for in it
                row.data = row.stored
            return row

    def _error_of(self, positions: Iterable[int], *, slow: bool = False) -> Exception | None:
        """Return why some objects cannot be audited, or None if they can, tables included."""
        with self._elsewhere():
            writer, failed = self._filled(positions, slow=slow)
            if failed:
                return next(iter(failed.values()))
            try:
                writer.finish()
            except Exception as error:
                if isinstance(error, OSError):
                    raise
                return without_frames(error)
        return None

    def _culprits(self, error: Exception) -> dict[int, Exception]:
        """Return the objects that cannot be put into tables, with the reason."""
        errors: dict[int, Exception] = {}
        pending: list[tuple[range, Exception]] = [(range(len(self.heads)), error)]
        tries = 0
        while pending:
            span, why = pending.pop()
            if len(span) <= 1 or tries >= _TRIES:
                errors |= dict.fromkeys(span, why)
                continue
            middle = len(span) // 2
            for half in (span[:middle], span[middle:]):
                tries += 1
                if (reason := self._error_of(half)) is not None:
                    pending.append((half, reason))
        return errors

    def _forget(self) -> None:
        owner = self.owner
        gc.collect()  # what failed for want of memory may have left cycles behind
        if owner.parts.name:
            forget_parts(owner.parts, self.item.shard.number)
        owner.forget_counts()

    @contextmanager
    def _elsewhere(self) -> Iterator[None]:
        """Discard what is written."""
        owner, parts = self.owner, self.owner.parts
        with private_folder(parts.parent if parts.name else Path(tempfile.gettempdir()), "apart-") as folder:
            owner.parts = folder
            for name in ("objects", "findings"):
                (folder / name).mkdir()
            try:
                yield
            finally:
                owner.parts = parts
