"""An audit that keeps rows of an earlier report: what is unchanged never reaches a worker.

The plan is matched with the report (`kept_match`). What is left makes a plan of its own, with live tables of the rows
to audit, which workers audit as always, into a folder beside the report. Then the shards of the whole plan are put
together from rows of both, so that the parts are those of a full run. Only what a key's place in the dump decides
(source, revisions, offset) is written anew. Work is done for columns and for blocks of shards: memory is bounded.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import auditor
from auditor import tables
from auditor.errors import EngineError
from auditor.keypath import plain_path
from pipelines.audit import ShardAuditor, _ShardWriter, lost_shard, setup
from pipelines.columns import constant, write_parquet
from pipelines.kept_match import Groups, Match, Owners, match, whole_reason
from pipelines.kept_rows import concat, encoded, expand, plain
from pipelines.old_report import OldReport
from pipelines.plan import cut_shards, open_live
from pipelines.report import merge
from pipelines.report_state import report_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.audit import ShardResult
    from pipelines.config import AuditOptions
    from pipelines.kept_rows import PartTable
    from pipelines.plan import Plan, SourceShard

__all__ = ["DifferentVerdicts", "Earlier", "audit_since"]

Numbers = np.ndarray[Any, Any]

_BLOCK_ROWS: Final = 1 << 15
_WRITERS: Final = 2
_INLINE_BYTES: Final = 4 << 20
"""Bytes of values that are audited in this process: others would have to make the same programs."""
_FEW_SHARDS: Final = 32 << 20
"""Bytes of values up to which what is audited is cut into few shards: each has files in every table."""
_LIVE: Final = ("create_revision", "mod_revision", "key_version", "offset", "length")
_PLACED: Final = ("cluster", "source", *_LIVE)
_NAMED: Final = 5


class DifferentVerdicts(EngineError):
    """Objects that did not change, audited again, do not agree with the rows that are kept for them."""


# ---- workers: an audit that notes for which live row each of its rows is


class _Writer(_ShardWriter):
    """Notes the live row of every row that is written; what a definition has objects by is the whole live table."""

    owner: _Auditor

    def __init__(self, owner: _Auditor, source: str, number: int, live: Any, *, is_export: bool) -> None:
        super().__init__(owner, source, number, live, is_export=is_export)
        self.finding_rows: list[int] = []

    def finding_row(self, row: Any, *words: Any, **options: Any) -> None:
        self.finding_rows.append(row.at)
        super().finding_row(row, *words, **options)

    def has_objects(self, row: Any) -> bool:
        self.table = self.owner.all_keys()
        return super().has_objects(row)

    def finish(self) -> ShardResult:
        result = super().finish()
        _write_positions(self.owner.parts, result.number, self.objects.positions(), self.finding_rows)
        return result


def _write_positions(parts: Path, number: int, objects: Any, findings: Any) -> None:
    folder = parts / "positions"
    folder.mkdir(exist_ok=True)
    with (folder / f"part-{number:05d}.npz").open("wb") as stream:
        np.savez(stream, objects=np.array(objects, dtype=np.int64), findings=np.array(findings, dtype=np.int64))


class _Auditor(ShardAuditor):
    """Audits what is left of a plan.

    Args:
        plan: Of what is left.
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


def _setup(plan: Plan, parts: str, whole: Plan) -> Callable[[SourceShard], ShardResult]:
    setup(plan, parts)
    return _Auditor(plan, parts, whole)


def _lost(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a lost shard, which are one for each of its keys."""
    result = lost_shard(item, error, plan=plan, parts=parts)
    _write_positions(Path(parts), item.shard.number, range(item.shard.stop - item.shard.start), [])
    return result


# ---- the run


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left to audit: a plan of its own, and for each of its sources which live rows of the whole they are."""

    plan: Plan
    rows: list[Numbers]


def audit_since(
    plan: Plan, spool: Path, parts: Path, run: Callable[..., list[Any]], earlier: Earlier | None = None
) -> tuple[ShardResult, dict[str, Any]]:
    """Audit what changed since an earlier report, keep the rows of the rest.

    Args:
        plan: Of the run.
        spool: Folder for files that do not outlive the run.
        parts: Folder of the part files of the new report.
        run: Runs shards, as `pipelines.run.run_shards`.
        earlier: The report, where somebody has begun to read it already.

    Returns:
        (counts of all shards, what the manifest says of the comparison)

    Raises:
        PlanError: The report cannot be used.
        DifferentVerdicts: An object of the sample does not agree with its rows.
    """
    options = plan.options
    earlier = earlier or Earlier(options)
    old = earlier.report
    state = report_state(plan)
    whole = whole_reason(old, state)
    live_rows = sum(source.rows for source in plan.sources)
    if whole:
        found = Match([np.full(source.rows, -1) for source in plan.sources], Counter({whole: live_rows}))
    else:
        found = match(plan, old, state, *earlier.objects())
    sample = _draw_sample(found, options.verify_sample)
    left = _left(plan, found.kept, sample, spool)
    changed = spool / "changed"
    for name in ("objects", "findings"):
        (changed / name).mkdir(parents=True)
    results = run(
        partial(_setup, left.plan, str(changed), plan),
        cut_shards(left.plan),
        left.plan.options,
        partial(_lost, plan=left.plan, parts=str(changed)),
    )
    total = merge(results)
    kept = None if whole else _Kept(plan, earlier)
    audited = _Audited(left, changed)
    if kept is not None and sample:
        _verify(plan, kept, audited, found.kept, sample)
    for source, position in sample:
        found.kept[source][position] = -1
    _Assembly(plan, kept, audited, parts).write(found.kept, total)
    reused = sum(int((one >= 0).sum()) for one in found.kept)
    section = {
        "report": options.since,
        "started": old.manifest["started"],
        "kept": reused,
        "audited": live_rows - reused,
        "why": dict(sorted({**found.why, **({"sample": len(sample)} if sample else {})}.items())),
        "gone": None if whole else found.gone,
        "sample": {"share": options.verify_sample, "objects": len(sample), "different": 0},
    }
    return total, section


def _draw_sample(found: Match, share: float) -> list[tuple[int, int]]:
    """Return (source, position) of some of the kept keys; at least one where a share was asked for."""
    if not share:
        return []
    places = [
        (source, int(position)) for source, kept in enumerate(found.kept) for position in np.flatnonzero(kept >= 0)
    ]
    if not places:
        return []
    return sorted(random.SystemRandom().sample(places, max(1, round(share * len(places)))))


def _left(plan: Plan, kept: list[Numbers], sample: list[tuple[int, int]], spool: Path) -> _Left:
    """Return the plan of the rows that are not kept, and of the sample."""
    sources, rows = [], []
    size = 0
    for number, (source, groups) in enumerate(zip(plan.sources, kept, strict=True)):
        wanted = groups < 0
        wanted[[position for of, position in sample if of == number]] = True
        positions = np.flatnonzero(wanted)
        table = open_live(source).take(pa.array(positions, pa.int64()))
        path = spool / f"left-{number}.arrow"
        with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        size += pc.sum(table["length"]).as_py() or 0
        sources.append(replace(source, live=str(path), rows=len(positions)))
        rows.append(positions)
    options = plan.options
    if size <= _INLINE_BYTES:
        options = replace(options, jobs=1, engine="inline")
    if size <= _FEW_SHARDS:
        least = 8 * size // (1 if options.jobs == 1 else 2 * options.jobs)
        options = replace(options, shard_bytes=max(options.shard_bytes, least), shard_rows=1 << 40)
    return _Left(replace(plan, sources=tuple(sources), options=options), rows)


class _Pick(NamedTuple):
    """Rows of a table by their places in it, and the position of the live key that each of them is for."""

    table: pa.Table
    places: Numbers
    at: Numbers

    def narrowed(self) -> _Pick:
        """Return the same with no more of the table than is needed."""
        first, last = int(self.places.min()), int(self.places.max())
        return _Pick(self.table.slice(first, last + 1 - first), self.places - first, self.at)

    def columns(self, *names: str) -> pa.Table:
        """Return some columns of the rows, as plain text."""
        return plain(self.table.select(list(names)).take(pa.array(self.places)))


_NOTHING: Final = _Pick(pa.table({}), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class _Grouped:
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

    def pick(self, positions: Numbers, groups: Numbers) -> _Pick:
        """Return the rows of some groups, which are those of some live keys."""
        count = self._count[groups]
        rows = self._order[expand(self._first[groups], count)]
        table, places = self.table.gather(rows)
        return _Pick(table, places, np.repeat(positions, count))


class Earlier:
    """The earlier report of a run; it is read in a thread while the plan of the run is made.

    Args:
        options: Of the run.

    Raises:
        PlanError: There is no such report.
    """

    def __init__(self, options: AuditOptions) -> None:
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

    def _read_rest(self) -> dict[str, _Grouped]:
        objects, groups, findings, owners = self._matched.result()
        many = len(groups)
        found = {
            "objects": _Grouped(objects, groups.of_row, many),
            "findings": _Grouped(findings, owners.of_finding, many),
        }
        for folder, table in self.report.partitions().items():
            at = table.columns("source", "offset")
            found[folder] = _Grouped(table, groups.at(at["source"], at["offset"]), many)
        return found

    def objects(self) -> tuple[Groups, Owners]:
        """Return what is matched with a plan.

        Raises:
            PlanError: The report is not whole.
        """
        _, groups, _, owners = self._matched.result()
        return groups, owners

    def rows(self) -> dict[str, _Grouped]:
        """Return all rows, by table or partition of the index."""
        return self._kept.result()


class _Kept:
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

    def rows(self, name: str, positions: Numbers, groups: Numbers) -> _Pick:
        """Return the rows of a table for some live keys."""
        grouped = self._rows.get(name)
        return _NOTHING if grouped is None else grouped.pick(positions, groups)

    def count(self, name: str, rows: _Pick, total: ShardResult, *, is_export: bool) -> None:
        """Add rows of a table that are kept to the counts of those that were audited."""
        if name == "findings":
            findings = rows.columns("request", "group", "kind", "check", "field", "type")
            created = findings.filter(pc.equal(findings["request"], "create"))
            for row in _counted(created, "group", "kind", "check", "field", "type"):
                kind = (row["group"] or "", row["kind"] or "customresourcedefinitions")
                total.findings[(kind, row["check"], plain_path(row["field"]), row["type"])] += row["count"]
        elif name == "objects":
            self._count_objects(rows, total, is_export=is_export)

    def _count_objects(self, kept: _Pick, total: ShardResult, *, is_export: bool) -> None:
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


class _Audited:
    """The rows of what was audited, by the live key in the whole plan that each is for."""

    def __init__(self, left: _Left, folder: Path) -> None:
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

    def rows(self, name: str, source: int, wanted: Numbers | tuple[int, int]) -> _Pick:
        """Return the rows of a table for some positions, or a range of them."""
        found = self._rows.get((name, source))
        if found is None:
            return _NOTHING
        table, at = found
        chosen = (at >= wanted[0]) & (at < wanted[1]) if isinstance(wanted, tuple) else np.isin(at, wanted)
        places = np.flatnonzero(chosen)
        return _Pick(table, places, at[places])


def _read(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read(use_threads=False)


# ---- putting together


def _in_order(picks: list[_Pick], bounds: Numbers, *, by_name: bool) -> tuple[pa.Table, Numbers]:
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


class _Assembly:
    """Writes the parts of the report from what is kept and what was audited."""

    def __init__(self, plan: Plan, kept: _Kept | None, audited: _Audited, parts: Path) -> None:
        self.plan = plan
        self.kept = kept
        self.audited = audited
        self.parts = parts
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

    def _write_block(
        self, block: list[SourceShard], kept: Numbers, total: ShardResult, pool: ThreadPoolExecutor
    ) -> None:
        source, start, stop = block[0].source, block[0].shard.start, block[-1].shard.stop
        positions = start + np.flatnonzero(kept[start:stop] >= 0)
        bounds = np.array([item.shard.start for item in block] + [stop])
        live = open_live(self.plan.sources[source]).slice(start, stop - start)
        for name, schema in self.schemas.items():  # one after another: the rows of two are never there together
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
            waiting = []
            for item, first, end in zip(block, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                if end > first or name == "objects":
                    path = folder / f"part-{item.shard.number:05d}.parquet"
                    waiting.append(pool.submit(_write, table.slice(first, end - first), schema, path))
            for one in waiting:
                one.result()

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


# ---- the sample


def _verify(plan: Plan, kept: _Kept, audited: _Audited, groups: list[Numbers], sample: list[tuple[int, int]]) -> None:
    """Hold the rows of the sample, which was audited, against those that are kept.

    Raises:
        DifferentVerdicts: They differ.
    """
    different: list[str] = []
    for source in range(len(plan.sources)):
        positions = np.array([position for of, position in sample if of == source], dtype=np.int64)
        if not len(positions):
            continue
        bad: set[int] = set()
        for name in ("objects", "findings", *{**kept.partitions, **audited.partitions}):
            bad |= _differing(
                kept.rows(name, positions, groups[source][positions]), audited.rows(name, source, positions)
            )
        rows = kept.rows("objects", positions, groups[source][positions])
        named = rows.columns("key", "namespace", "name").to_pylist()
        for position, row in zip(rows.at.tolist(), named, strict=True):
            if position in bad:
                different.append(row["key"] or "/".join(filter(None, (row["namespace"], row["name"]))))
    if different:
        named = ", ".join(list(dict.fromkeys(different))[:_NAMED])
        more = len(set(different)) - _NAMED
        raise DifferentVerdicts(
            str(plan.options.since),
            f"{len(set(different))} unchanged objects come out differently when audited again: "
            + named
            + (f" and {more} more" if more > 0 else ""),
            "the rows that the report holds for them",
            "the report is not to be trusted: audit without --since",
        )


def _differing(kept: _Pick, audited: _Pick) -> set[int]:
    """Return the positions at which two sets of rows differ, but for what the place in a dump decides."""
    both, given = [], (kept, audited)
    names = [name for name in (kept if len(kept.at) else audited).table.column_names if name not in _PLACED]
    if all(len(pick.at) for pick in given):
        one, other = (pick.columns(*names).take(pa.array(np.argsort(pick.at, kind="stable"))) for pick in given)
        if one.equals(other):
            return set()
    for pick in given:
        found: dict[int, list[dict[str, Any]]] = {}
        if len(pick.at):
            for position, row in zip(pick.at.tolist(), pick.columns(*names).to_pylist(), strict=True):
                found.setdefault(position, []).append(row)
        both.append(found)
    return {position for position in both[0].keys() | both[1].keys() if both[0].get(position) != both[1].get(position)}
