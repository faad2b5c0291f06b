"""Cuts the rows of a plan into shards that are about equal work."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.records import Shard
from auditor.crds.definitions_file import RULES
from auditor.plan.dumps import CRD_PATH, open_live, position_not_before
from auditor.plan.run_plan import SourceShard

if TYPE_CHECKING:
    import pyarrow as pa

    from auditor.plan.run_plan import Plan


_EVEN: Final = 12
"""Numbers of workers that usually divide this number of shards evenly."""
_SMALLEST: Final = 8
"""How many times smaller than the limit a shard may be; below that, starting workers costs more than they save."""
_KIND, _DEFINED, _RULES = 12, 3, 8
"""Cost of a definition, as a multiple of its length, in bytes of objects of equal work: reading it and judging its
first object, proving that a server decodes it if it has no objects, and compiling its rules.
"""
_LEAST_COST, _LEAST_SHARE = 64 << 20, 0.25
"""The cut considers definitions if they cost at least so much (about a second of work) and this share of all the work.
"""


def cut_shards(plan: Plan) -> list[SourceShard]:
    """Cut every source into ranges of about equal bytes, in key order, whatever the number of workers.

    There are enough of them to share out evenly, and none is much above `shard_bytes`: the number is one that 2, 3, 4,
    6 and 12 workers divide. A row counts as the bytes of its value and a constant, so that many small objects also
    count as work. If there are many kinds and few objects, the first row of each kind also counts the cost of its
    definition. A small cluster of a fleet is one shard: one worker audits all of it.
    """
    options = plan.options
    row = options.shard_bytes / options.shard_rows
    tables = [open_live(source) for source in plan.sources]
    lengths = [table["length"].to_numpy() for table in tables]
    costs = [length + row for length in lengths]
    total = float(sum(cost.sum() for cost in costs))
    count = max(1, _shard_count(total, options.shard_bytes))
    if options.in_fleet and total <= options.shard_bytes:
        count = 1
    kinds = [_kind_costs(plan, table) for table in tables]
    if (more := float(sum(costs_of_kind.sum() for costs_of_kind in kinds))) > max(_LEAST_COST, _LEAST_SHARE * total):
        costs = [cost + cost_of_kind for cost, cost_of_kind in zip(costs, kinds, strict=True)]
        total += more
        count = max(count, min(_EVEN, _shard_count(total, options.shard_bytes)))
    weights = list(map(np.cumsum, costs))
    out: list[SourceShard] = []
    for number, (length, weight) in enumerate(zip(lengths, weights, strict=True)):
        if not len(weight):
            continue
        defined = _defined(plan, tables[number])
        parts = max(1, round(count * float(weight[-1]) / total))
        stops = np.searchsorted(weight, weight[-1] * np.arange(1, parts) / parts, side="left") + 1
        bounds = sorted({0, *stops.tolist(), len(weight)})  # one large object can fill several shares
        for start, stop in pairwise(bounds):
            sizes = length[start:stop]
            shard = Shard(len(out), start, stop)
            out.append(SourceShard(number, shard, int(sizes.sum()), int(sizes.max()), start in defined))
    return out


def _shard_count(total: float, limit: int) -> int:
    """Return the number of shards to cut work into, so that none should exceed a limit."""
    least = math.ceil(total / limit)
    if least > _EVEN:
        return math.ceil(least / _EVEN) * _EVEN
    return min(_EVEN, math.ceil(total * _SMALLEST / limit))


def _kind_costs(plan: Plan, table: pa.Table) -> np.ndarray[Any, Any]:
    """Return the cost of definitions at each row of a dump.

    It is 0 in an export, which is not sorted by kind, and in a fleet, where each cluster has one worker.
    """
    costs = np.zeros(table.num_rows)
    keys = table["key"]
    if not table.num_rows or keys.null_count or plan.options.in_fleet:
        return costs
    prefix = plan.options.etcd_prefix.rstrip("/")
    for entry, text in plan.definitions_file.texts(plan.entries):
        rules = _RULES if RULES in text and "rules" not in plan.options.skip else 0
        position = _first(keys, f"{prefix}/{entry.group}/{entry.plural}/".encode("utf-8", "surrogateescape"))
        if position is not None:
            costs[position] += (_KIND + rules) * entry.length
            continue
        position = _first(keys, f"{prefix}{CRD_PATH}{entry.name}".encode("utf-8", "surrogateescape"))
        if position is not None:
            costs[position] += _DEFINED * entry.length
    return costs


def _defined(plan: Plan, table: pa.Table) -> range:
    """Return the rows of a dump that are definitions; none in an export, which is not sorted by kind."""
    keys = table["key"]
    if keys.null_count:
        return range(0)
    above = f"{plan.options.etcd_prefix.rstrip('/')}{CRD_PATH}".encode("utf-8", "surrogateescape")
    return range(position_not_before(keys, above), position_not_before(keys, above[:-1] + b"0"))


def _first(keys: pa.ChunkedArray, start: bytes) -> int | None:
    """Return the first of sorted keys with this prefix, or None."""
    position = position_not_before(keys, start)
    return position if position < len(keys) and keys[position].as_py().startswith(start) else None
