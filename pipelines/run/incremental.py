"""An audit that reuses rows of an earlier report: unchanged objects never reach a worker.

The plan is matched with the report (`pipelines.reuse.match`). The remaining rows become a separate plan, which workers
audit as usual, into a folder beside the report. At the same time this process assembles the shards of the whole plan
from rows of both (`pipelines.reuse.assembly`), so that the parts are those of a full run.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from auditor.base import arrow as kernels
from auditor.base.arrow import plain
from auditor.base.errors import EngineError
from auditor.base.records import Shard
from auditor.plan.cut import cut_shards
from auditor.plan.dumps import open_live
from auditor.plan.plan import SourceShard
from auditor.plan.state import report_state
from auditor.report.manifest import merge
from pipelines.reuse.assembly import Assembly, Audited, Earlier, Remaining, blocks
from pipelines.reuse.digests import export_digests
from pipelines.reuse.match import Match, match, whole_reason
from pipelines.reuse.rows import joined
from pipelines.workers import lost_remaining_later, remaining_later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from auditor.plan.plan import Plan
    from auditor.shards.result import ShardResult
    from pipelines.reuse.rows import Kept, Pick

__all__ = ["DifferentVerdicts", "Earlier", "audit_since"]

Numbers = np.ndarray[Any, Any]

_INLINE_BYTES: Final = 4 << 20
"""Up to this many bytes of values are audited in this process: workers would have to build the same programs again."""
_FEW_SHARDS: Final = 32 << 20
"""Up to this many bytes of values are divided into few shards: each shard has files in every table."""
_SHARDS: Final = 8
"""The number of these few shards; after each, parts of the report can be written while the next are audited."""
_WORTH_ANOTHER: Final = 8 << 20
"""Bytes of values for each worker: all of them build the same programs, and one process writes parts."""
_NAMED: Final = 5


class DifferentVerdicts(EngineError):
    """Unchanged objects, audited again, do not agree with their reused rows."""


# ---- the run


def audit_since(
    plan: Plan, spool: Path, parts: Path, run: Callable[..., list[Any]], earlier: Earlier | None = None
) -> tuple[ShardResult, dict[str, Any]]:
    """Audit the objects that changed since an earlier report, and reuse the rows of the others.

    Args:
        plan: The plan of the run.
        spool: Folder for temporary files of the run.
        parts: Folder of the part files of the new report.
        run: Runs shards, as `pipelines.run.audit.run_shards`.
        earlier: The report, if it is being read already.

    Returns:
        (counts of all shards, the section `since` of the manifest)

    Raises:
        PlanError: The report cannot be used.
        DifferentVerdicts: An object of the sample does not agree with its rows.
    """
    options = plan.options
    earlier = earlier or Earlier(options)
    old = earlier.report
    old.name_folders(plan)
    state = report_state(plan)
    whole = whole_reason(old, state)
    live_rows = sum(source.rows for source in plan.sources)
    if whole:
        found = Match([np.full(source.rows, -1) for source in plan.sources], Counter({whole: live_rows}))
    else:
        # This does not need the report, which is still being read.
        hashes = export_digests(plan, apart=earlier.is_apart)
        found = match(plan, old, state, earlier.groups(), hashes)
        del hashes
        earlier.groups().forget_values()
    sample = _draw_sample(found, options.verify_sample)
    known = np.array([found.kept[source][position] for source, position in sample], dtype=np.int64)
    for source, position in sample:
        found.kept[source][position] = -1
    remaining = _remaining(plan, found.kept, spool)
    changed = spool / "changed"
    for name in ("objects", "findings"):
        (changed / name).mkdir(parents=True)
    kept = None if whole else earlier.kept()
    audited = Audited(remaining, changed)
    pa.default_memory_pool().release_unused()  # time of the comparison
    with Assembly(plan, kept, audited, found.kept, parts) as assembly:
        results = run(
            partial(remaining_later, remaining.plan, str(changed), plan),
            audited.shards,
            remaining.plan.options,
            partial(lost_remaining_later, plan=remaining.plan, parts=str(changed)),
            spool,
            assembly.audited_one,
        )
        assembly.finish()
    total = merge(results)
    total.bytes = sum(item.bytes for item in cut_shards(plan))
    if kept is not None:
        kept.count(plan, found.kept, total)
        _verify(plan, kept, audited, known, sample)
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
    """Return (source, position) of a random share of the unchanged keys; at least one if the share is not 0."""
    if not share:
        return []
    places = [
        (source, int(position)) for source, kept in enumerate(found.kept) for position in np.flatnonzero(kept >= 0)
    ]
    if not places:
        return []
    return sorted(random.SystemRandom().sample(places, max(1, round(share * len(places)))))


def _remaining(plan: Plan, kept: list[Numbers], spool: Path) -> Remaining:
    """Return the plan of the rows that are not reused."""
    sources, rows, sizes = [], [], []
    for number, (source, groups) in enumerate(zip(plan.sources, kept, strict=True)):
        positions = np.flatnonzero(groups < 0)
        table = kernels.take(open_live(source), positions)
        path = spool / f"remaining-{number}.arrow"
        with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        sizes.append(table["length"].to_numpy())
        sources.append(replace(source, live=str(path), rows=len(positions)))
        rows.append(positions)
    size = sum(int(one.sum()) for one in sizes)
    options = plan.options
    if size <= _INLINE_BYTES:
        options = replace(options, jobs=1, engine="inline")
    if options.engine == "processes":
        options = replace(options, jobs=max(1, min(options.jobs, size // _WORTH_ANOTHER)))
    least = options.shard_bytes // 2
    if size <= _FEW_SHARDS:
        least = size if options.engine == "inline" else 3 * size // (4 * max(_SHARDS, 2 * options.jobs))
    remaining = replace(plan, sources=tuple(sources), options=options)
    return Remaining(remaining, rows, _cut(plan, rows, sizes, least, few=size <= _FEW_SHARDS))


def _cut(plan: Plan, rows: list[Numbers], sizes: list[Numbers], least: int, *, few: bool) -> list[SourceShard]:
    """Divide the remaining rows at the ends of blocks of the report, so that each block is written as soon as possible.

    Args:
        plan: The plan of the run.
        rows: For each source the remaining live rows.
        sizes: The bytes of each.
        least: Bytes that a shard should have at least.
        few: Whether there are few bytes; then a shard may cover several blocks.
    """
    shards: list[SourceShard] = []
    begins = [0] * len(rows)
    whole = list(blocks(plan))
    is_one = least >= sum(int(one.sum()) for one in sizes)
    for place, block in enumerate(whole):
        number = block[0].source
        is_near_end = few and not is_one and place >= len(whole) - 2  # one block is written after all are audited
        for item in block[-1:] if few else block:
            first, end = begins[number], int(np.searchsorted(rows[number], item.shard.stop))
            size = int(sizes[number][first:end].sum())
            is_last = item.shard.stop == plan.sources[number].rows or (not few and item is block[-1])
            if end > first and (is_last or is_near_end or size >= least):
                shards.append(SourceShard(number, Shard(len(shards), first, end), size, size))
                begins[number] = end
    return shards


# ---- the sample


def _verify(plan: Plan, kept: Kept, audited: Audited, known: Numbers, sample: list[tuple[int, int]]) -> None:
    """Compare the rows of the sample, which was audited, with those that would be reused.

    Raises:
        DifferentVerdicts: They differ.
    """
    different: list[str] = []
    for source, one in enumerate(plan.sources):
        mine = np.array([of == source for of, _ in sample], dtype=bool)
        positions = np.array([position for of, position in sample if of == source], dtype=np.int64)
        if not len(positions):
            continue
        bad: set[int] = set()
        groups, shards = known[mine], audited.between(source, 0, one.rows)
        for name in ("objects", "findings", *{**kept.partitions, **audited.partitions(shards)}):
            bad |= _differing(kept.rows(name, positions, groups), audited.rows(name, shards, positions))
        rows = joined(kept.rows("objects", positions, groups))
        named = kernels.take(rows.table.select(["key", "namespace", "name"]), rows.places).to_pylist()
        for position, row in zip(rows.at.tolist(), named, strict=True):
            if position in bad:
                different.append(row["key"] or "/".join(filter(None, (row["namespace"], row["name"]))))
    if different:
        named = ", ".join(list(dict.fromkeys(different))[:_NAMED])
        more = len(set(different)) - _NAMED
        raise DifferentVerdicts(
            str(plan.options.since),
            f"{len(set(different))} unchanged objects have other results when audited again: "
            + named
            + (f" and {more} more" if more > 0 else ""),
            "the results in the report",
            "do not use this report: audit without --since",
        )


def _differing(kept: list[Pick], audited: list[Pick]) -> set[int]:
    """Return the positions at which two sets of rows differ, ignoring columns that depend on the place in the dump."""
    given = [joined(picks) if picks else None for picks in (kept, audited)]
    tables = [None if pick is None else plain(kernels.take(pick.table, pick.places)) for pick in given]
    names: list[str] = next((table.column_names for table in tables if table is not None), [])
    if all(pick is not None for pick in given):
        one, other = (
            kernels.take(table.select(names), np.argsort(pick.at, kind="stable"))
            for pick, table in zip(given, tables, strict=True)
            if pick is not None and table is not None
        )
        if one.equals(other):
            return set()
    both: list[dict[int, list[dict[str, Any]]]] = []
    for pick, table in zip(given, tables, strict=True):
        found: dict[int, list[dict[str, Any]]] = {}
        if pick is not None and table is not None:
            for position, row in zip(pick.at.tolist(), table.to_pylist(), strict=True):
                found.setdefault(position, []).append(row)
        both.append(found)
    return {position for position in both[0].keys() | both[1].keys() if both[0].get(position) != both[1].get(position)}
