"""Objects of an audit that are being deleted, and namespaces that are missing or deleted although objects are in them.

The rows of the report tell both, with the few values that matter, while the dump is open: those of the objects that are
being deleted, and of the namespaces that hold objects.
"""

from __future__ import annotations

import datetime
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base import arrow
from auditor.base.statuses import Status
from auditor.causes.parts import part_files
from auditor.causes.row_causes import IN_NAMESPACES
from auditor.causes.titles import kind_name
from auditor.store.coded import Coded, combined
from auditor.store.dump_namespaces import DumpNamespaces, DumpValues

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.plan.run_plan import Plan


_LONG: Final = 7
"""Days after which an object has been deleting for long."""
_DAY: Final = 86400
_OF_NAMESPACE: Final = ("group", "kind", "namespace", "status")
_OF_DELETING: Final = ("source", "offset", "group", "plural", "status")
_OTHERS: Final = (Status.BUILTIN, Status.DEFINITION)
"""Statuses of objects that are no custom resources."""


def note_lifecycle(plan: Plan, manifest: dict[str, Any], parts: Path, *, deleting: int) -> None:
    """Note in a manifest, in `namespaces` and `deleting`, what `_namespaces` and `_deleting` return.

    Args:
        plan: The plan of the run, of one cluster.
        manifest: The manifest of its report.
        parts: Folder of the report, with objects/ complete.
        deleting: How many rows of it say that their object is being deleted.
    """
    values = DumpValues(plan)
    manifest["namespaces"] = _namespaces(plan, values, parts)
    manifest["deleting"] = _deleting(plan, values, parts) if deleting else None


def _namespaces(plan: Plan, values: DumpValues, parts: Path) -> list[dict[str, Any]] | None:
    """Return the namespaces that are missing or being deleted although objects are in them, by name.

    Each is a dict of `cluster`, `name`, `is` (missing or deleted), `since` (of a deletion) and `objects` (their number
    by kind). Returns None if the dumps do not show which namespaces there are (`DumpNamespaces`).
    """
    namespaces = DumpNamespaces(plan, values)
    if not namespaces.are_known:
        return None
    out = []
    for name, kinds in sorted(_objects_by_namespace(parts).items()):
        fault = namespaces.fault(name)
        if fault is not None:
            entry = {"cluster": plan.options.cluster or None, "name": name, "objects": dict(sorted(kinds.items()))}
            out.append({**entry, "is": fault.what, "since": fault.since})
    return out


def _objects_by_namespace(parts: Path) -> dict[str, Counter[str]]:
    """Return the number of the objects of each kind in each namespace."""
    counts: dict[str, Counter[str]] = {}
    for path in part_files(parts / "objects"):
        table = arrow.read_parquet(path, _OF_NAMESPACE)
        columns = {name: Coded(table[name]) for name in _OF_NAMESPACE}
        wanted = columns["status"].numbers(IN_NAMESPACES) < len(IN_NAMESPACES)
        wanted &= columns["namespace"].codes < len(columns["namespace"].texts) - 1
        rows = np.flatnonzero(wanted)
        if not len(rows):
            continue
        codes = [(columns[name].codes[rows], len(columns[name].texts)) for name in _OF_NAMESPACE[:-1]]
        _, first, sizes = np.unique(combined(codes), return_index=True, return_counts=True)
        for row, size in zip(rows[first].tolist(), sizes.tolist(), strict=True):
            group, kind, namespace = (columns[name].text(row) for name in _OF_NAMESPACE[:-1])
            counts.setdefault(namespace, Counter())[kind_name(group, kind)] += size
    return counts


def _deleting(plan: Plan, values: DumpValues, parts: Path) -> dict[str, Any] | None:
    """Return what is known of the custom resources that are being deleted; None if there are none.

    A dict of `objects` (how many there are), `long` (how many of them were so for more than `days` days when the dump
    was made; None if nothing says when that was), `unread` (how many do not say since when), and `finalizers` (of those
    in `long`: their number by finalizer).
    """
    objects = unread = long = 0
    is_known = True
    finalizers: Counter[str] = Counter()
    numbers = {source.name: number for number, source in enumerate(plan.sources)}
    for path in part_files(parts / "objects"):
        column = arrow.read_parquet(path, ("deleting",))["deleting"]
        if not any(chunk.true_count for chunk in column.chunks):
            continue
        rows = np.flatnonzero(arrow.equal(column, True))
        rows_ = arrow.plain(arrow.take(arrow.read_parquet(path, _OF_DELETING), rows)).to_pylist()
        custom = (row for row in rows_ if row["status"] not in _OTHERS)
        for row in {(row["source"], row["offset"]): row for row in custom}.values():  # once for all its versions
            objects += 1
            number = numbers[row["source"]]
            made = plan.sources[number].modified
            is_known &= made is not None
            [rows_at] = np.flatnonzero(values.tables[number]["offset"].to_numpy() == row["offset"])[:1].tolist()
            since, waits_for = values.deletion(number, rows_at, (row["group"] or "", row["plural"] or ""))
            if (marked := _seconds(since)) is None:
                unread += 1
            elif made is not None and made - marked > _LONG * _DAY:
                long += 1
                finalizers.update(waits_for)
    if not objects:
        return None
    counts = dict(sorted(finalizers.items(), key=lambda one: (-one[1], one[0])))
    return {
        "objects": objects,
        "long": long if is_known else None,
        "days": _LONG,
        "unread": unread,
        "finalizers": counts,
    }


def _seconds(time: str | None) -> float | None:
    try:
        return datetime.datetime.fromisoformat(time or "").timestamp()
    except ValueError:
        return None
