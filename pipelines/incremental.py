"""An audit that keeps rows of an earlier report: what is unchanged never reaches a worker.

The plan is matched with the report (`kept_match`). What is left makes a plan of its own, with live tables of the rows
to audit, which workers audit as always, into a folder beside the report. Meanwhile this process puts the shards of the
whole plan together from rows of both (`kept_assembly`), so that the parts are those of a full run.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from auditor.errors import EngineError
from auditor.model import Shard
from auditor.sources import kernels
from pipelines.kept_assembly import Assembly, Audited, Earlier, Left, blocks
from pipelines.kept_match import Match, match, whole_reason
from pipelines.kept_rows import joined, plain
from pipelines.plan import SourceShard, cut_shards, open_live
from pipelines.report import merge
from pipelines.report_state import report_state
from pipelines.value_digests import export_digests
from pipelines.workers import left_later, lost_left_later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.kept_rows import Kept, Pick
    from pipelines.plan import Plan
    from pipelines.shard_result import ShardResult

__all__ = ["DifferentVerdicts", "Earlier", "audit_since"]

Numbers = np.ndarray[Any, Any]

_INLINE_BYTES: Final = 4 << 20
"""Bytes of values that are audited in this process: others would have to make the same programs."""
_FEW_SHARDS: Final = 32 << 20
"""Bytes of values up to which what is audited is cut into few shards: each has files in every table."""
_SHARDS: Final = 8
"""How few, about: each that is done lets parts of the report be written beside the audit of the next ones."""
_WORTH_ANOTHER: Final = 8 << 20
"""Bytes of values for each worker: all of them make the same programs, beside a process that writes parts."""
_NAMED: Final = 5


class DifferentVerdicts(EngineError):
    """Objects that did not change, audited again, do not agree with the rows that are kept for them."""


# ---- the run


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
        # Which needs nothing of the report, that is being read still.
        hashes = export_digests(plan, apart=earlier.is_apart)
        found = match(plan, old, state, earlier.groups(), hashes)
        del hashes
        earlier.groups().forget_values()
    sample = _draw_sample(found, options.verify_sample)
    known = np.array([found.kept[source][position] for source, position in sample], dtype=np.int64)
    for source, position in sample:
        found.kept[source][position] = -1
    left = _left(plan, found.kept, spool)
    changed = spool / "changed"
    for name in ("objects", "findings"):
        (changed / name).mkdir(parents=True)
    kept = None if whole else earlier.kept()
    audited = Audited(left, changed)
    pa.default_memory_pool().release_unused()  # what comparing took
    with Assembly(plan, kept, audited, found.kept, parts) as assembly:
        results = run(
            partial(left_later, left.plan, str(changed), plan),
            audited.shards,
            left.plan.options,
            partial(lost_left_later, plan=left.plan, parts=str(changed)),
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
    """Return (source, position) of some of the kept keys; at least one where a share was asked for."""
    if not share:
        return []
    places = [
        (source, int(position)) for source, kept in enumerate(found.kept) for position in np.flatnonzero(kept >= 0)
    ]
    if not places:
        return []
    return sorted(random.SystemRandom().sample(places, max(1, round(share * len(places)))))


def _left(plan: Plan, kept: list[Numbers], spool: Path) -> Left:
    """Return the plan of the rows that are not kept."""
    sources, rows, sizes = [], [], []
    for number, (source, groups) in enumerate(zip(plan.sources, kept, strict=True)):
        positions = np.flatnonzero(groups < 0)
        table = kernels.taken(open_live(source), positions)
        path = spool / f"left-{number}.arrow"
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
    left = replace(plan, sources=tuple(sources), options=options)
    return Left(left, rows, _cut(plan, rows, sizes, least, few=size <= _FEW_SHARDS))


def _cut(plan: Plan, rows: list[Numbers], sizes: list[Numbers], least: int, *, few: bool) -> list[SourceShard]:
    """Cut what is left where blocks of the report end, so that each can be written as soon as its own are audited.

    Args:
        plan: Of the run.
        rows: Of each source the live rows that are left.
        sizes: The bytes of each.
        least: Bytes that a shard should have at least.
        few: Of few bytes; then a shard may be that of several blocks.
    """
    shards: list[SourceShard] = []
    begins = [0] * len(rows)
    whole = list(blocks(plan))
    is_one = least >= sum(int(one.sum()) for one in sizes)
    for place, block in enumerate(whole):
        number = block[0].source
        is_near_end = few and not is_one and place >= len(whole) - 2  # one block is written when all are audited
        for item in block[-1:] if few else block:
            first, end = begins[number], int(np.searchsorted(rows[number], item.shard.stop))
            size = int(sizes[number][first:end].sum())
            is_last = item.shard.stop == plan.sources[number].rows or (not few and item is block[-1])
            if end > first and (is_last or is_near_end or size >= least):
                shards.append(SourceShard(number, Shard(len(shards), first, end), size))
                begins[number] = end
    return shards


# ---- the sample


def _verify(plan: Plan, kept: Kept, audited: Audited, known: Numbers, sample: list[tuple[int, int]]) -> None:
    """Hold the rows of the sample, which was audited, against those that would be kept.

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
        named = kernels.taken(rows.table.select(["key", "namespace", "name"]), rows.places).to_pylist()
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


def _differing(kept: list[Pick], audited: list[Pick]) -> set[int]:
    """Return the positions at which two sets of rows differ, but for what the place in a dump decides."""
    given = [joined(picks) if picks else None for picks in (kept, audited)]
    tables = [None if pick is None else plain(kernels.taken(pick.table, pick.places)) for pick in given]
    names: list[str] = next((table.column_names for table in tables if table is not None), [])
    if all(pick is not None for pick in given):
        one, other = (
            kernels.taken(table.select(names), np.argsort(pick.at, kind="stable"))
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
