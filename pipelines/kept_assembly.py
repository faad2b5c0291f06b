"""Rows of an earlier report and rows that were audited, put together to the parts of a new report.

Both come as picks: a table, the places in it, and the live key that each row is for. Only what the place of a key in
the dump decides (source, revisions, offset) is written anew. Work is done for columns, for blocks of shards and one
table after another, so that memory is bounded.
"""

from __future__ import annotations

import contextlib
import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import auditor
from auditor import tables
from auditor.keypath import plain_path
from pipelines.columns import constant, write_parquet
from pipelines.kept_match import Groups, Owners
from pipelines.kept_rows import concat, encoded, expand, plain
from pipelines.old_report import OldReport
from pipelines.plan import cut_shards, open_live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from pipelines.audit import ShardResult
    from pipelines.config import AuditOptions
    from pipelines.kept_rows import PartTable
    from pipelines.plan import Plan, SourceShard

__all__ = ["PLACED", "Assembly", "Audited", "Earlier", "Kept", "Left", "Pick"]

Numbers = np.ndarray[Any, Any]

_BLOCK_ROWS: Final = 1 << 15
_WRITERS: Final = 2
_LIVE: Final = ("create_revision", "mod_revision", "key_version", "offset", "length")
PLACED: Final = ("cluster", "source", *_LIVE)
"""Columns that the place of a key in a dump decides."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left to audit: a plan of its own, and for each of its sources which live rows of the whole they are."""

    plan: Plan
    rows: list[Numbers]


class Pick(NamedTuple):
    """Rows of a table by their places in it, and the position of the live key that each of them is for."""

    table: pa.Table
    places: Numbers
    at: Numbers

    def narrowed(self) -> Pick:
        """Return the same with no more of the table than is needed."""
        first, last = int(self.places.min()), int(self.places.max())
        return Pick(self.table.slice(first, last + 1 - first), self.places - first, self.at)

    def columns(self, *names: str) -> pa.Table:
        """Return some columns of the rows, as plain text."""
        return plain(self.table.select(list(names)).take(pa.array(self.places)))


NOTHING: Final = Pick(pa.table({}), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Grouped:
    """Rows of a table of the earlier report by group.

    Args:
        table: The table.
        of: The group of each of its rows; -1: of none.
        groups: Number of groups.
    """

    def __init__(self, table: PartTable, of: Numbers, groups: int) -> None:
        self.table = table
        self._order = np.argsort(of, kind="stable")
        self._count = np.bincount(of[of >= 0], minlength=groups)
        self._first = np.cumsum(self._count) - self._count + int((of < 0).sum())

    def pick(self, positions: Numbers, groups: Numbers) -> Pick:
        """Return the rows of some groups, which are those of some live keys."""
        count = self._count[groups]
        rows = self._order[expand(self._first[groups], count)]
        table, places = self.table.gather(rows)
        return Pick(table, places, np.repeat(positions, count))


class Earlier:
    """The earlier report of a run; it is read in a thread while the plan of the run is made.

    Args:
        options: Of the run.

    Raises:
        PlanError: There is no such report.
    """

    def __init__(self, options: AuditOptions) -> None:
        gc.disable()  # nothing that a plan or a table is made of goes in circles
        with contextlib.suppress(NotImplementedError):  # tables come and go: this pool keeps pages for the next
            pa.set_memory_pool(pa.jemalloc_memory_pool())
        self.report = OldReport(options.since, options.cluster)
        pool = ThreadPoolExecutor(1)
        self._matched = pool.submit(self._read_objects)
        self._kept = pool.submit(self._read_rest)
        pool.shutdown(wait=False)

    def _read_objects(self) -> tuple[PartTable, Groups, PartTable, Owners]:
        objects = self.report.objects()
        groups = Groups(objects)
        findings = self.report.table("findings", tables.FINDINGS)
        return objects, groups, findings, Owners(groups, findings)

    def _read_rest(self) -> dict[str, Grouped]:
        objects, groups, findings, owners = self._matched.result()
        many = len(groups)
        found = {
            "objects": Grouped(objects, groups.of_row, many),
            "findings": Grouped(findings, owners.of_finding, many),
        }
        for folder, table in self.report.partitions().items():
            at = table.columns("source", "offset")
            found[folder] = Grouped(table, groups.at(at["source"], at["offset"]), many)
        return found

    def objects(self) -> tuple[Groups, Owners]:
        """Return what is matched with a plan.

        Raises:
            PlanError: The report is not whole.
        """
        _, groups, _, owners = self._matched.result()
        return groups, owners

    def rows(self) -> dict[str, Grouped]:
        """Return all rows, by table or partition of the index."""
        return self._kept.result()


class Kept:
    """The rows of the earlier report, as they stand in the new one."""

    def __init__(self, plan: Plan, earlier: Earlier) -> None:
        self.plan = plan
        self._not_evaluated = earlier.report.not_evaluated
        self._rows = earlier.rows()

    @property
    def partitions(self) -> dict[str, pa.Schema]:
        """Folders of the index, and the columns of each."""
        tables_of = {name: one.table.schema for name, one in self._rows.items()}
        return {name: schema for name, schema in tables_of.items() if name not in ("objects", "findings")}

    def rows(self, name: str, positions: Numbers, groups: Numbers) -> Pick:
        """Return the rows of a table for some live keys."""
        grouped = self._rows.get(name)
        return NOTHING if grouped is None else grouped.pick(positions, groups)

    def count(self, name: str, rows: Pick, total: ShardResult, *, is_export: bool) -> None:
        """Add rows of a table that are kept to the counts of those that were audited."""
        if name == "findings":
            findings = rows.columns("request", "group", "kind", "check", "field", "type")
            created = findings.filter(pc.equal(findings["request"], "create"))
            for row in _counted(created, "group", "kind", "check", "field", "type"):
                kind = (row["group"] or "", row["kind"] or "customresourcedefinitions")
                total.findings[(kind, row["check"], plain_path(row["field"]), row["type"])] += row["count"]
        elif name == "objects":
            self._count_objects(rows, total, is_export=is_export)

    def _count_objects(self, kept: Pick, total: ShardResult, *, is_export: bool) -> None:
        names = ("group", "plural", "kind", "status", "impact", "impacts", "stored_version", "audited_version")
        objects = kept.columns(*names)
        total.rows += objects.num_rows
        joined = objects.append_column("all", pc.binary_join(objects["impacts"], ","))
        for row in _counted(joined, "group", "plural", "kind", "status", "impact", "all"):
            kind = (row["group"] or "", row["kind"] or row["plural"] or "")
            total.statuses[(kind, row["status"])] += row["count"]
            for impact in {*filter(None, row["all"].split(",")), row["impact"]} - {None}:
                total.impacts[(kind, impact)] += row["count"]
        self._count_versions(objects, kept.at, total, is_export=is_export)

    def _count_versions(self, objects: pa.Table, at: Numbers, total: ShardResult, *, is_export: bool) -> None:
        names = {(entry.group, entry.plural): entry.name for entry in self.plan.entries}
        if not is_export:
            first = np.ones(len(at), dtype=bool)
            first[1:] = at[1:] != at[:-1]
            judged = pc.is_in(objects["status"], pa.array(["valid", "invalid", "unreadable", "needs-conversion"]))
            once = objects.filter(pc.and_(judged, pa.array(first)))
            for row in _counted(once, "group", "plural", "stored_version"):
                name = names.get((row["group"] or "", row["plural"] or ""))
                if name is not None and row["stored_version"] is not None:
                    total.stored[(name, row["stored_version"])] += row["count"]
        if self._not_evaluated:
            read = objects.filter(pc.is_in(objects["status"], pa.array(["valid", "invalid"])))
            for row in _counted(read, "group", "plural", "audited_version"):
                key = (names.get((row["group"] or "", row["plural"] or ""), ""), row["audited_version"] or "")
                if key in self._not_evaluated:
                    total.unevaluated[key] += row["count"]


def _counted(table: pa.Table, *names: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        table.select(list(names)).group_by(list(names)).aggregate([([], "count_all")]).to_pylist()
    )
    return [{**row, "count": row["count_all"]} for row in rows]


class Audited:
    """The rows of what was audited, by the live key in the whole plan that each is for."""

    def __init__(self, left: Left, folder: Path) -> None:
        self._rows: dict[tuple[str, int], tuple[pa.Table, Numbers]] = {}
        self.partitions: dict[str, pa.Schema] = {}
        index = folder / "index"
        found: dict[tuple[str, int], list[tuple[pa.Table, Numbers]]] = {}
        for item in cut_shards(left.plan):
            name = f"part-{item.shard.number:05d}.parquet"
            rows = left.rows[item.source][item.shard.start : item.shard.stop]
            noted = np.load(folder / "positions" / name.replace(".parquet", ".npz"))
            for table, schema in (("objects", tables.OBJECTS), ("findings", tables.FINDINGS)):
                if (folder / table / name).exists():
                    read = _read(folder / table / name).cast(schema)
                    found.setdefault((table, item.source), []).append((read, rows[noted[table]]))
            live = open_live(left.plan.sources[item.source])
            offsets = live["offset"].slice(item.shard.start, len(rows)).to_numpy()
            order = np.argsort(offsets, kind="stable")
            for path in sorted(index.rglob(name)):
                read = _read(path)
                partition = str(path.parent.relative_to(index))
                schema = self.partitions.setdefault(partition, read.schema.remove_metadata())
                at = rows[order[np.searchsorted(offsets, read["offset"].to_numpy(), sorter=order)]]
                found.setdefault((partition, item.source), []).append((read.cast(schema), at))
        for key, some in found.items():
            whole = concat([table for table, _ in some], some[0][0].schema)
            self._rows[key] = whole, np.concatenate([at for _, at in some])

    def rows(self, name: str, source: int, wanted: Numbers | tuple[int, int]) -> Pick:
        """Return the rows of a table for some positions, or a range of them."""
        found = self._rows.get((name, source))
        if found is None:
            return NOTHING
        table, at = found
        chosen = (at >= wanted[0]) & (at < wanted[1]) if isinstance(wanted, tuple) else np.isin(at, wanted)
        places = np.flatnonzero(chosen)
        return Pick(table, places, at[places])


def _read(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read(use_threads=False)


def _in_order(picks: list[Pick], bounds: Numbers, *, by_name: bool) -> tuple[pa.Table, Numbers]:
    """Return the rows of all picks in the order of a report, and the position of each.

    Args:
        picks: Their rows of one key stay in order.
        bounds: Positions at which shards begin, and the end of the last.
        by_name: Rows of the index, which stand by shard, namespace and name.
    """
    some = [pick.narrowed() for pick in picks if len(pick.at)]
    at = np.concatenate([pick.at for pick in some])
    begins = np.cumsum([0, *(pick.table.num_rows for pick in some)])
    places = np.concatenate([pick.places + begin for pick, begin in zip(some, begins[:-1], strict=True)])
    table = concat([pick.table for pick in some], some[0].table.schema)
    if by_name:
        names = {name: pc.fill_null(table[name].take(pa.array(places)), "") for name in ("namespace", "name")}
        keys = pa.table({"shard": np.searchsorted(bounds, at, side="right"), **names, "at": at})
        order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names]).to_numpy()
    else:
        order = np.argsort(at, kind="stable")
    return table.take(pa.array(places[order])), at[order]


class Assembly:
    """Writes the parts of the report from what is kept and what was audited."""

    def __init__(self, plan: Plan, kept: Kept | None, audited: Audited, parts: Path) -> None:
        self.plan = plan
        self.kept = kept
        self.audited = audited
        self.parts = parts
        self._writing: list[Future[None]] = []
        meta = {"tool": auditor.__version__, "release": auditor.KUBERNETES_RELEASE, "crds": plan.crds_sha256}
        self.schemas = {"objects": tables.OBJECTS, "findings": tables.FINDINGS}
        self.partitions = {**({} if kept is None else kept.partitions), **audited.partitions}
        self.schemas.update({folder: _as_written(schema) for folder, schema in self.partitions.items()})
        self.schemas = {name: tables.with_metadata(one, **meta) for name, one in self.schemas.items()}

    def write(self, kept: list[Numbers], total: ShardResult) -> None:
        """Write all parts; add what is kept to the counts."""
        shards = cut_shards(self.plan)
        total.bytes = sum(item.bytes for item in shards)
        with ThreadPoolExecutor(max(_WRITERS, min(self.plan.options.jobs, 2 * _WRITERS))) as pool:
            for block in _blocks(shards):
                self._write_block(block, kept[block[0].source], total, pool)
            self._finish_writing()

    def _write_block(
        self, block: list[SourceShard], kept: Numbers, total: ShardResult, pool: ThreadPoolExecutor
    ) -> None:
        source, start, stop = block[0].source, block[0].shard.start, block[-1].shard.stop
        positions = start + np.flatnonzero(kept[start:stop] >= 0)
        bounds = np.array([item.shard.start for item in block] + [stop])
        live = open_live(self.plan.sources[source]).slice(start, stop - start)
        for name, schema in self.schemas.items():  # one after another: no more than the rows of two are there together
            picks = [self.audited.rows(name, source, (start, stop))]
            if self.kept is not None and len(positions):
                own = self.kept.rows(name, positions, kept[positions])
                self.kept.count(name, own, total, is_export=self.plan.sources[source].is_export)
                picks.insert(0, own)
            if not any(len(pick.at) for pick in picks):
                table, at = concat([], schema), np.empty(0, dtype=np.int64)
            else:
                table, at = _in_order(picks, bounds, by_name=name in self.partitions)
                table = self._placed(table, source, live, at - start)
            ends = np.searchsorted(np.searchsorted(bounds, at, side="right"), np.arange(1, len(block) + 2))
            folder = self.parts / "index" / name if name in self.partitions else self.parts / name
            self._finish_writing()  # the rows of one table are put together while those of the last are written
            for item, first, end in zip(block, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                if end > first or name == "objects":
                    path = folder / f"part-{item.shard.number:05d}.parquet"
                    self._writing.append(pool.submit(_write, table.slice(first, end - first), schema, path))

    def _finish_writing(self) -> None:
        for one in self._writing:
            one.result()
        self._writing = []

    def _placed(self, table: pa.Table, source: int, live: pa.Table, at: Numbers) -> pa.Table:
        """Return rows with what the place of a key in this dump decides."""
        texts = {"cluster": self.plan.options.cluster or None, "source": self.plan.sources[source].name}
        places = live.select([name for name in _LIVE if name in table.column_names]).take(pa.array(at))
        for number, name in enumerate(table.column_names):
            if name in texts:
                table = table.set_column(number, name, constant(texts[name], len(at)))
            elif name in places.column_names:
                table = table.set_column(number, name, places[name])
        return table


def _as_written(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a partition of the index as an audit writes it: files rename parts of its types."""
    names = {pa.bool_(): "boolean", pa.int64(): "integer"}
    paths = [name.removeprefix("field:") for name in schema.names if name.startswith("field:")]
    return tables.index_schema([(path, names.get(schema.field(f"value:{path}").type, "string")) for path in paths])


def _write(table: pa.Table, schema: pa.Schema, path: Path) -> None:
    write_parquet(encoded(table, schema), path)


def _blocks(shards: list[SourceShard]) -> Iterator[list[SourceShard]]:
    """Yield shards of one source, so many that their rows are worth the work and fit into memory."""
    block: list[SourceShard] = []
    for item in shards:
        if block and (item.source != block[0].source or item.shard.stop - block[0].shard.start > _BLOCK_ROWS):
            yield block
            block = []
        block.append(item)
    if block:
        yield block
