"""Finds the live keys whose rows in an earlier report are still valid: by key, revision and hash of the value.

All work is done on columns, not on rows: for an unchanged object, only the hash of its value becomes a Python object.
Keys that are uncertain are audited again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base import arrow
from auditor.base.statuses import Status
from auditor.plan.dumps import open_live
from auditor.plan.plan import has_objects
from auditor.shards.columns import key_texts
from pipelines.reuse.digests import digests_of
from pipelines.reuse.groups import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from auditor.plan.plan import Plan
    from auditor.report.reader import OldReport
    from auditor.sources import SourcePlan
    from pipelines.reuse.groups import Groups

__all__ = ["Match", "match", "whole_reason"]

Numbers = np.ndarray[Any, Any]

_JUDGED: Final = frozenset(status for status in Status if status.is_listed)


@dataclass(slots=True)
class Match:
    """The result of a comparison.

    Attributes:
        kept: For each source of the plan, by position of the live key, the group whose rows are reused; -1 to audit the
            key.
        why: Reasons for which keys are audited, with the number of keys.
        gone: Number of keys of the report that no longer exist; for exports, also of those that changed.
    """

    kept: list[Numbers]
    why: Counter[str] = field(default_factory=Counter)
    gone: int = 0


def whole_reason(old: OldReport, state: dict[str, Any]) -> str:
    """Return why nothing of a report can be reused; empty if it can."""
    if old.not_read:
        return old.not_read
    if other := old.other_tool():
        return other
    assert old.state is not None
    if old.state["options"] != state["options"]:
        return "options differ"
    return ""


def match(plan: Plan, old: OldReport, state: dict[str, Any], groups: Groups, hashes: list[Numbers | None]) -> Match:
    """Find for each live key of a plan its rows in an earlier report.

    Args:
        plan: The plan of this run.
        old: The report.
        state: The state of this run; `whole_reason` found nothing.
        groups: The report's objects; those that cannot be reused are refused in it.
        hashes: As `pipelines.reuse.digests.export_digests` returns.
    """
    _refuse_changed(groups, plan, old, state)
    groups.refuse_uncertain()
    _refuse_not_evaluated(groups, plan, old)
    kept, why = [], Counter[str]()
    seen = np.zeros(len(groups), dtype=bool)
    for source, digests in zip(plan.sources, hashes, strict=True):
        table = open_live(source)
        if not table.num_rows:
            kept.append(np.empty(0, dtype=np.int64))
            continue
        found, again, reasons = (
            _match_keys(source, table, groups) if digests is None else _match_export(digests, groups)
        )
        seen[again] = True
        refused = (found >= 0) & ~groups.is_usable[found] if len(groups) else found >= 0
        for number, many in enumerate(np.bincount(groups.reason[found[refused]], minlength=len(groups.REASONS))):
            reasons[groups.REASONS[number]] += int(many)
        found[refused] = -1
        why.update(reasons)
        kept.append(found)
    why["not certain"] += _audit_first_of_kind(groups, kept)
    return Match(kept, Counter({reason: many for reason, many in why.items() if many}), int((~seen).sum()))


# ---- not reused for any value


def _refuse_changed(groups: Groups, plan: Plan, old: OldReport, state: dict[str, Any]) -> None:
    """Refuse rows that depend on a changed definition; rows without a definition depend on the list of definitions."""
    assert old.state is not None
    was, now = old.state["definitions"], state["definitions"]
    same_set = old.state["resources"] == state["resources"]
    by_plural = {(entry.group, entry.plural): entry.name for entry in plan.entries}
    by_kind = {(entry.group, entry.kind): entry.name for entry in plan.entries}
    live, converted = _resources_with_keys(plan), _converted(plan)
    fits = np.zeros(len(groups.classes), dtype=bool)
    for number, one in enumerate(groups.classes):
        name = by_plural.get((one.group, one.plural)) or by_kind.get((one.group, one.kind))
        if name is not None and one.status in _JUDGED | {Status.UNSERVED}:
            fits[number] = name in was and was[name] == now[name] and name not in converted
        else:
            fits[number] = same_set and one.status != Status.UNSERVED
    groups.refuse(np.flatnonzero(~fits[groups.kind]), "definition changed")
    _refuse_definitions(groups, plan, was, now, live)
    if max(len(plan.sources), old.dumps) > 1:  # no row shows which of them has the objects
        groups.refuse(np.array([one for one, _, key in groups.definitions if key is not None], np.int64), "not certain")


def _converted(plan: Plan) -> set[str]:
    """Return the names of definitions whose objects a webhook converts: it, or its Service, may come and go."""
    found = set()
    for entry in plan.entries:
        spec = plan.definitions_file.document(entry).get("spec")
        conversion = spec.get("conversion") if type(spec) is dict else None
        if type(conversion) is dict and conversion.get("strategy") == "Webhook":
            found.add(entry.name)
    return found


def _refuse_definitions(
    groups: Groups, plan: Plan, was: dict[str, str], now: dict[str, str], live: set[tuple[str, str]]
) -> None:
    """Refuse rows of definitions that got their first objects or lost the last: counts of rules need objects."""
    entries = {entry.name: entry for entry in plan.entries}
    before = {(one.group, one.plural) for one in groups.classes}
    changed = []
    for group, name, key in groups.definitions:
        entry = entries.get(name or "")
        has_changed = entry is None or was.get(entry.name) != now.get(entry.name)
        if entry is not None and key is not None:
            has_changed |= ((entry.group, entry.plural) in before) != ((entry.group, entry.plural) in live)
        if has_changed or not plan.options.scope.is_everything:
            changed.append(group)
    groups.refuse(np.array(changed, dtype=np.int64), "definition changed")


def _resources_with_keys(plan: Plan) -> set[tuple[str, str]]:
    """Return (group, plural) of the definitions that have live keys."""
    found = set()
    for source in plan.sources:
        if source.is_export or not source.rows:
            continue
        keys = open_live(source)["key"]
        for entry in plan.entries:
            if has_objects(keys, entry, plan.options.etcd_prefix):
                found.add((entry.group, entry.plural))
    return found


def _refuse_not_evaluated(groups: Groups, plan: Plan, old: OldReport) -> None:
    """Refuse objects if rules of some were not evaluated: no table lists these objects."""
    if not old.not_evaluated:
        return
    names = {(entry.group, entry.plural): entry.name for entry in plan.entries}
    whose: list[tuple[str, str] | None] = []
    for one in groups.classes:
        name = names.get((one.group, one.plural))
        is_read = name is not None and one.status in (Status.VALID, Status.INVALID) and one.audited_version
        whose.append((name or "", one.audited_version) if is_read else None)
    for key, many in old.not_evaluated.items():
        wanted = np.array([one == key for one in whose], dtype=bool)
        found = []
        for start, part in zip(groups.starts.tolist(), groups.parts, strict=False):
            rows = np.flatnonzero(wanted[part.classes])
            found.append(start + np.searchsorted(part.first, rows, side="right") - 1)
        rows = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        if len(rows) != many or key in old.given_up:
            groups.refuse(np.unique(rows), "not certain")


# ---- by key, revision and value


def _match_keys(source: SourcePlan, table: pa.Table, groups: Groups) -> tuple[Numbers, Numbers, Counter[str]]:
    """Return the group of each unchanged key, the groups that still exist, and why others are not reused."""
    why: Counter[str] = Counter()
    found = np.full(table.num_rows, -1, dtype=np.int64)
    if groups.key is not None:
        found[:] = numbers(arrow.index_in(key_texts(table["key"].combine_chunks()), groups.key))
    is_new = found < 0
    again = found[~is_new]
    why["new"] = int(is_new.sum())
    other = np.zeros(len(found), dtype=bool)
    if len(groups):
        other = ~is_new & (groups.revision[found] != numbers(table["mod_revision"]))
    found[other] = -1
    rows = np.flatnonzero(found >= 0)
    digests, sealed = digests_of(source, table, rows)
    differs = (digests != groups.digest[found[rows]]).any(axis=1)
    why["changed"] = int(other.sum()) + int((differs & ~sealed).sum())
    why["encrypted"] = int(sealed.sum())
    found[rows[differs | sealed]] = -1
    return found, again, why


def _match_export(digests: Numbers, groups: Groups) -> tuple[Numbers, Numbers, Counter[str]]:
    """Do as `_match_keys` for an export, whose objects are identified only by value; the first of equal ones counts."""
    without_key = np.arange(len(groups))
    if groups.key is not None:
        without_key = np.flatnonzero(groups.key.is_null().to_numpy(zero_copy_only=False))
    found = np.full(len(digests), -1, dtype=np.int64)
    if len(without_key):
        heads = _heads(groups.digest)[without_key]
        order = np.argsort(heads, kind="stable")
        heads = heads[order]
        at = order[np.minimum(np.searchsorted(heads, _heads(digests)), len(heads) - 1)]
        known = without_key[at]
        same = (groups.digest[known] == digests).all(axis=1)
        found[same] = known[same]
    return found, found[found >= 0], Counter({"new or changed": int((found < 0).sum())})


def _heads(digests: Numbers) -> Numbers:
    """Return the first 8 bytes of each hash as a number; of two different hashes that share them, one is not found."""
    heads: Numbers = np.ascontiguousarray(digests[:, :8]).view(np.uint64).ravel()
    return heads


def _audit_first_of_kind(groups: Groups, kept: Sequence[Numbers]) -> int:
    """Audit the first broken and the first stuck object of each kind: the summary has more than their rows."""
    many = 0
    for rows in groups.firsts.values():
        if not len(rows):
            continue
        has = np.zeros(len(groups), dtype=bool)
        has[rows] = True
        seen: set[tuple[str, str, str]] = set()
        for found in kept:
            for position in np.flatnonzero((found >= 0) & has[found]).tolist():
                one = groups.classes[groups.kind[found[position]]]
                kind = (one.group, one.plural, one.kind)
                if kind not in seen:
                    seen.add(kind)
                    found[position] = -1
                    many += 1
    return many
