"""Combines reused rows of an earlier report and newly audited rows to the parts of a new report.

Both are picks: a table, positions in it, and the live key of each row. Only columns that depend on the position of a
key in the dump (source, revisions, offset) are replaced. Work is done by columns, by blocks of shards and by tables, so
that memory is bounded; a block is written as soon as its changed objects are audited, while workers audit the changed
objects of the next blocks.
"""

from __future__ import annotations

import contextlib
import filecmp
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

import auditor
from auditor.base import arrow, tables
from auditor.base.arrow import concat
from auditor.base.errors import DamagedDump
from auditor.plan.cut import cut_shards
from auditor.plan.dumps import open_live
from auditor.report.reader import REPEATED, SCHEMAS, OldReport, in_types
from auditor.shards.columns import constant, part_name, write_parquet
from pipelines.engines import run_in_background
from pipelines.reuse.groups import Groups, numbers
from pipelines.reuse.rows import Kept, Pick, encoded, joined
from pipelines.workers import PRELOAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path
    from types import TracebackType

    from auditor.plan.options import AuditOptions
    from auditor.plan.plan import Plan, SourceShard
    from auditor.shards.result import ShardResult

__all__ = ["PLACED", "Assembly", "Audited", "Earlier", "Remaining", "blocks"]

Numbers = np.ndarray[Any, Any]

_BLOCK_ROWS: Final = 9 << 10
_AHEAD: Final = 4
"""Number of blocks whose reused rows are loaded before anything is audited; some ten MB."""
_LIVE: Final = ("create_revision", "mod_revision", "key_version", "offset", "length")
PLACED: Final = ("cluster", "source", *_LIVE)
"""Columns that depend on the position of a key in a dump."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """The objects that remain to be audited.

    Attributes:
        plan: The plan of these objects.
        rows: For each of its sources, the positions of its live rows in the whole plan.
        shards: Its shards.
    """

    plan: Plan
    rows: list[Numbers]
    shards: list[SourceShard]


class Earlier:
    """The earlier report of a run, which is read while the plan of the run is made.

    Args:
        options: The options of the run.
        apart: Read it in another process, not in a thread of this one.

    Raises:
        PlanError: There is no such report.
    """

    def __init__(self, options: AuditOptions, *, apart: bool = False) -> None:
        self.report = OldReport(options.since, options.cluster)
        self.is_apart = apart
        self._groups: Groups | None = None
        self._reading = contextlib.ExitStack()
        read = partial(_read, self.report)
        if apart:
            self._result = self._reading.enter_context(run_in_background(read, PRELOAD))
        else:
            pool = ThreadPoolExecutor(1)
            self._result = pool.submit(read).result
            pool.shutdown(wait=False)

    def groups(self) -> Groups:
        """Return the groups of the report for matching with a plan.

        Raises:
            PlanError: The report is incomplete.
        """
        if self._groups is None:
            with self._reading:
                self._groups = self._result()
        return self._groups

    def kept(self) -> Kept:
        """Return the reader of its rows."""
        return Kept(self.report, self.groups(), PLACED)


def _read(report: OldReport) -> Groups:
    report.check()
    return Groups(report)


class Audited:
    """The newly audited rows, by the live key of each in the whole plan.

    Args:
        left: The objects that were audited.
        folder: The folder of the part files.
    """

    def __init__(self, left: Remaining, folder: Path) -> None:
        self.left = left
        self.folder = folder
        self.shards = left.shards
        self._live = [open_live(source) for source in left.plan.sources]
        self._schemas: dict[str, pa.Schema] = {}
        self._read: dict[str, dict[int, Pick]] = {}

    def between(self, source: int, start: int, stop: int) -> list[SourceShard]:
        """Return the shards that have rows for a range of positions of a source."""
        rows = self.left.rows[source]
        first, end = np.searchsorted(rows, (start, stop)).tolist()
        return [
            item for item in self.shards if item.source == source and item.shard.start < end and item.shard.stop > first
        ]

    def partitions(self, shards: Iterable[SourceShard]) -> dict[str, pa.Schema]:
        """Return the folders of the index in which shards have rows, and the columns of each."""
        index, found = self.folder / "index", {}
        for item in shards:
            for path in sorted(index.rglob(part_name(item.shard.number))):
                name = str(path.parent.relative_to(index))
                if name not in self._schemas:
                    with arrow.parquet_reader(path) as reader:
                        self._schemas[name] = reader.schema_arrow.remove_metadata()
                found[name] = self._schemas[name]
        return found

    def rows(self, name: str, shards: Iterable[SourceShard], wanted: Numbers | tuple[int, int]) -> list[Pick]:
        """Return the rows of a table for some positions, or a range of them."""
        picks = []
        for item in shards:
            table, _, at = self._whole(name, item)
            chosen = (at >= wanted[0]) & (at < wanted[1]) if isinstance(wanted, tuple) else np.isin(at, wanted)
            places = np.flatnonzero(chosen)
            if len(places):
                picks.append(Pick(table, places, at[places]))
        return picks

    def path(self, name: str, item: SourceShard) -> Path:
        """Return the file of a table, or of a partition of the index, that a shard has written, if any."""
        return self.folder / (name if name in SCHEMAS else f"index/{name}") / part_name(item.shard.number)

    def _whole(self, name: str, item: SourceShard) -> Pick:
        """Return all rows of a shard; those of the previous shard stay loaded."""
        number, read = item.shard.number, self._read.setdefault(name, {})
        found = read.get(number)
        if found is None:
            for known in [known for known in read if known < number - 1]:
                del read[known]
            found = read[number] = self._load(name, item)
        return found

    def _load(self, name: str, item: SourceShard) -> Pick:
        path = self.path(name, item)
        if not path.exists():
            return Pick(pa.table({}), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        table = arrow.read_parquet(path, dictionaries=REPEATED.get(name, ()))
        rows = self.left.rows[item.source][item.shard.start : item.shard.stop]
        if name in SCHEMAS:
            with np.load(self.folder / "positions" / f"part-{item.shard.number:05d}.npz") as noted:
                at = rows[noted[name]]
            table = in_types(table, REPEATED.get(name, ()), SCHEMAS[name])
        else:
            live = self._live[item.source]
            offsets = numbers(live["offset"].slice(item.shard.start, len(rows)))
            order = np.argsort(offsets, kind="stable")
            at = rows[order[np.searchsorted(offsets, numbers(table["offset"]), sorter=order)]]
            table = table.replace_schema_metadata(None)
        return Pick(table.drop_columns([one for one in PLACED if one in table.column_names]), np.arange(len(at)), at)


def _in_order(picks: list[Pick], bounds: Numbers, *, by_name: bool) -> tuple[pa.Table, Numbers]:
    """Return the rows of all picks in the order of a report, and the position of each.

    Args:
        picks: Rows of the same key keep their order.
        bounds: Positions at which shards begin, and the end of the last.
        by_name: Rows of the index, which are ordered by shard, namespace and name.
    """
    table, places, at = joined(picks)
    order = np.argsort(at, kind="stable")
    if by_name:
        names = arrow.take(table.select(["namespace", "name"]), places[order])
        keys = {"shard": arrow.column(np.searchsorted(bounds, at[order], side="right"))}
        for name in names.column_names:
            keys[name] = arrow.fill_null(arrow.cast(names[name].combine_chunks(), pa.string()), "")
        if not arrow.is_sorted(*keys.values()):
            order = order[arrow.sorted_rows({**keys, "at": arrow.column(at[order])})]
    return arrow.take(table, places[order]), at[order]


class Assembly:
    """Writes the parts of the report from reused and audited rows; open until all blocks are written.

    Args:
        plan: The plan of the run.
        kept: The rows of the earlier report; None if nothing is reused.
        audited: The rows that are audited.
        groups: For each source the group of each live key; -1: audited.
        parts: Folder of the part files.
    """

    def __init__(self, plan: Plan, kept: Kept | None, audited: Audited, groups: list[Numbers], parts: Path) -> None:
        self.plan = plan
        self.kept = kept
        self.audited = audited
        self.groups = groups
        self.parts = parts
        self.meta = {"tool": auditor.__version__, "release": plan.options.release.version, "crds": plan.crds_sha256}
        self._pool = ThreadPoolExecutor(1)  # more threads would wait for each other, and hold twice as many rows
        self._writing: list[Future[None]] = []
        self._live = [open_live(source) for source in plan.sources]
        self._waiting = [(block, self._needed(block)) for block in blocks(plan)]

    def __enter__(self) -> Self:
        self._begin()
        for block, _ in self._waiting[:_AHEAD]:
            self._pool.submit(self._load_ahead, block)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def audited_one(self, result: ShardResult) -> None:
        """Begin with blocks for which a shard was the last that they needed."""
        for _, needed in self._waiting:
            needed.discard(result.number)
        self._begin()

    def finish(self) -> None:
        """Write the remaining blocks; return when all are written."""
        for _, needed in self._waiting:
            needed.clear()
        self._begin()
        for one in self._writing:
            one.result()
        if self.kept is not None:
            self.kept.forget()
        pa.default_memory_pool().release_unused()

    def _load_ahead(self, block: list[SourceShard]) -> None:
        if self.kept is not None:
            self.kept.load_ahead(self._kept_groups(block))

    def _kept_groups(self, block: list[SourceShard]) -> Numbers:
        groups = self.groups[block[0].source][block[0].shard.start : block[-1].shard.stop]
        return groups[groups >= 0]

    def _needed(self, block: list[SourceShard]) -> set[int]:
        start, stop = block[0].shard.start, block[-1].shard.stop
        return {item.shard.number for item in self.audited.between(block[0].source, start, stop)}

    def _begin(self) -> None:
        ready = [block for block, needed in self._waiting if not needed]
        for block in ready:
            self._writing += [self._pool.submit(write, block) for write in (self._write_tables, self._write_index)]
        self._waiting = [one for one in self._waiting if one[1]]
        if ready and self._waiting:  # free memory between used blocks adds up
            self._pool.submit(pa.default_memory_pool().release_unused)

    def _write_tables(self, block: list[SourceShard]) -> None:
        for name in SCHEMAS:
            self._write(block, name)

    def _write_index(self, block: list[SourceShard]) -> None:
        shards = self.audited.between(block[0].source, block[0].shard.start, block[-1].shard.stop)
        parts = self._kept_parts(block)
        found = {}
        if self.kept is not None:
            path = self.kept.report.path
            of_kept = self.kept.partitions.items()
            found = {name: one for name, one in of_kept if any(path(name, number).exists() for number in parts)}
        found |= self.audited.partitions(shards)  # its columns are used if a definition has other ones now
        written: list[str] = []
        for name, schema in sorted(found.items()):
            like = next((other for other in written if self._are_alike(name, other, parts, shards)), None)
            if like is not None:
                self._copy(like, name, block)
            elif self._write(block, name, _as_written(schema)):
                written.append(name)

    def _kept_parts(self, block: list[SourceShard]) -> list[int]:
        """Return the numbers of the parts that have rows to reuse in a block."""
        return [] if self.kept is None else self.kept.parts_of(self._kept_groups(block))

    def _are_alike(self, name: str, other: str, parts: list[int], shards: list[SourceShard]) -> bool:
        """Return whether the rows of two partitions come from the same files: those of two versions are often equal."""
        (group, *_, kind), (other_group, *_, other_kind) = name.split("/"), other.split("/")
        if (group, kind) != (other_group, other_kind):
            return False
        pairs = [tuple(self.audited.path(one, item) for one in (name, other)) for item in shards]
        if self.kept is not None:
            pairs += [tuple(self.kept.report.path(one, number) for one in (name, other)) for number in parts]
        return all(
            filecmp.cmp(one, two, shallow=False) if one.exists() and two.exists() else one.exists() == two.exists()
            for one, two in pairs
        )

    def _copy(self, name: str, other: str, block: list[SourceShard]) -> None:
        for item in block:
            path = self.parts / "index" / name / part_name(item.shard.number)
            if path.exists():
                target = self.parts / "index" / other / path.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)

    def _write(self, block: list[SourceShard], name: str, schema: pa.Schema | None = None) -> bool:
        """Write the parts of one table or partition; return whether there are any."""
        source, start, stop = block[0].source, block[0].shard.start, block[-1].shard.stop
        by_name = schema is not None
        schema = tables.with_metadata(schema or SCHEMAS[name], **self.meta)
        bounds = np.array([item.shard.start for item in block] + [stop])
        picks = self.audited.rows(name, self.audited.between(source, start, stop), (start, stop))
        positions = start + np.flatnonzero(self.groups[source][start:stop] >= 0)
        if self.kept is not None and len(positions):
            own = self.kept.rows(name, positions, self.groups[source][positions])
            if name == "findings":
                self.kept.note_findings(own)
            picks = [*own, *picks]
        if picks:
            table, at = _in_order(picks, bounds, by_name=by_name)
            self._check_columns(table, schema, name)
            own = picks = []  # the tables that they were taken from are often large
            live = self._live[source].slice(start, stop - start)
            table = self._placed(table, schema, source, live, at - start)
        elif name == "objects":
            table, at = concat([], schema), np.empty(0, dtype=np.int64)
        else:
            return False
        ends = np.searchsorted(np.searchsorted(bounds, at, side="right"), np.arange(1, len(block) + 2))
        folder = self.parts / "index" / name if by_name else self.parts / name
        for item, first, end in zip(block, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if end > first or name == "objects":
                write_parquet(encoded(table.slice(first, end - first), schema), folder / part_name(item.shard.number))
        return True

    def _check_columns(self, table: pa.Table, schema: pa.Schema, name: str) -> None:
        """Refuse rows of an earlier report that lack a column: no audit wrote its files.

        Raises:
            DamagedDump: A column is missing.
        """
        missing = [one for one in schema.names if one not in {*table.schema.names, *_LIVE, "cluster", "source"}]
        if missing and self.kept is not None:
            found = f"is damaged: a file of it has no column {missing[0]}"
            raise DamagedDump(str(self.kept.report.folder / "index" / name), found, "files as an audit writes them")

    def _placed(self, table: pa.Table, schema: pa.Schema, source: int, live: pa.Table, at: Numbers) -> pa.Table:
        """Return rows with the columns that depend on the position of a key in this dump."""
        texts = {"cluster": self.plan.options.cluster or None, "source": self.plan.sources[source].name}
        places = arrow.take(live.select([name for name in _LIVE if name in schema.names]), at)
        columns = []
        for name in schema.names:
            if name in texts:
                columns.append(constant(texts[name], len(at)))
            else:
                columns.append((places if name in _LIVE else table)[name])
        return pa.table(columns, names=schema.names)


def _as_written(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a partition of the index as an audit writes it: Parquet renames parts of its types."""
    names = {pa.bool_(): "boolean", pa.int64(): "integer"}
    paths = [name.removeprefix("field:") for name in schema.names if name.startswith("field:")]
    return tables.index_schema([(path, names.get(schema.field(f"value:{path}").type, "string")) for path in paths])


def blocks(plan: Plan) -> Iterator[list[SourceShard]]:
    """Yield blocks of shards of one source, large enough to be efficient and small enough for memory."""
    block: list[SourceShard] = []
    for item in cut_shards(plan):
        if block and (item.source != block[0].source or item.shard.stop - block[0].shard.start > _BLOCK_ROWS):
            yield block
            block = []
        block.append(item)
    if block:
        yield block
