"""Which live keys an earlier report still holds for: by key, revision and hash of the value, and what it goes by.

Everything is done for columns, not for rows: of an unchanged object Python makes nothing but its value's hash. What is
not certain is audited again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import auditor
from auditor import tables
from pipelines.columns import key_texts
from pipelines.plan import cut_value, has_objects, open_live, open_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.sources import SourcePlan
    from pipelines.kept_rows import PartTable
    from pipelines.old_report import OldReport
    from pipelines.plan import Plan

__all__ = ["Groups", "Match", "Owners", "match", "whole_reason"]

Numbers = np.ndarray[Any, Any]

_JUDGED: Final = ("valid", "invalid", "unreadable", "needs-conversion")
_OURS: Final = ("not audited: worker lost", "the auditor failed on this value")
"""Reasons of rows that tell of a run and not of the object."""


class Groups:
    """Rows of an earlier report's objects/, taken together by live key: one, or one a version it was judged at.

    Attributes:
        first: Number of the first row of each.
        count: Its rows.
        key: As text; null for exports.
        revision: Modification revision; -1: none.
        value_hash: SHA-256 of the value, as text.
        is_usable: Whether its rows may be kept at all.
        reason: Where not, an index into `REASONS`.
    """

    REASONS = ("definition changed", "not certain")

    def __init__(self, objects: PartTable) -> None:
        table = objects.columns(
            *("source", "key", "mod_revision", "group", "plural", "kind", "namespace", "name", "audited_version"),
            *("status", "reason", "impacts", "findings", "offset", "value_hash"),
        )
        self.table = table
        rows = table.num_rows
        self.sources, names = _codes(table["source"])
        self.source_names = names
        offset = _numbers(table["offset"])
        self.place = _places(self.sources, offset)
        new = np.ones(rows, dtype=bool)
        if rows > 1:
            key = table["key"].combine_chunks()
            other = _mask(pc.not_equal(key[1:], key[:-1]))
            new[1:] = (self.place[1:] != self.place[:-1]) | other
        self.first = np.flatnonzero(new)
        self.count = np.diff(np.append(self.first, rows))
        self.of_row = np.cumsum(new) - 1
        head = table if len(self.first) == rows else table.take(pa.array(self.first))
        self.key = head["key"].combine_chunks()
        self.revision = _numbers(head["mod_revision"])
        self.value_hash = head["value_hash"].combine_chunks()
        self.head = head
        self.is_usable = np.ones(len(self.first), dtype=bool)
        self.reason = np.zeros(len(self.first), dtype=np.int8)
        self._sorted = np.argsort(self.place[self.first], kind="stable")
        places = self.place[self.first][self._sorted]
        self._places = places
        twice = np.zeros(len(places), dtype=bool)
        if len(places) > 1:
            same = places[1:] == places[:-1]
            twice[1:] |= same
            twice[:-1] |= same
        self.refuse(self._sorted[twice], "not certain")

    def __len__(self) -> int:
        return len(self.first)

    def refuse(self, groups: Numbers, reason: str) -> None:
        """Let the rows of some groups not be kept."""
        fresh = groups[self.is_usable[groups]]
        self.is_usable[fresh] = False
        self.reason[fresh] = self.REASONS.index(reason)

    def at(self, source: pa.ChunkedArray, offset: pa.ChunkedArray) -> Numbers:
        """Return the group of each row of another table by source and offset; -1: none."""
        codes = np.full(len(source), -1, dtype=np.int64)
        known = {name: code for code, name in enumerate(self.source_names)}
        own, names = _codes(source)
        translated = np.array([known.get(name, -1) for name in names] or [-1], dtype=np.int64)
        codes = np.where(own >= 0, translated[own], -1)
        wanted = _places(codes, _numbers(offset))
        at = np.minimum(np.searchsorted(self._places, wanted), max(len(self._places) - 1, 0))
        if not len(self._places):
            return np.full(len(wanted), -1, dtype=np.int64)
        return np.where(self._places[at] == wanted, self._sorted[at], -1)


def _places(sources: Numbers, offsets: Numbers) -> Numbers:
    """Return one number for source and offset together."""
    return (sources.astype(np.int64) << 44) | offsets


def _codes(column: pa.ChunkedArray) -> tuple[Numbers, list[str | None]]:
    """Return texts as numbers (null: -1), and what each stands for."""
    made = column.combine_chunks()
    if not pa.types.is_dictionary(made.type):
        made = made.dictionary_encode()
    return _numbers(made.indices), made.dictionary.to_pylist()


def _is_one_of(column: pa.ChunkedArray, *texts: str) -> Numbers:
    """Tell for each row of a dictionary column whether it holds one of some texts."""
    numbers, known = _codes(column)
    wanted = np.array([text in texts for text in known] + [False])
    found: Numbers = wanted[numbers]
    return found


def _mask(column: Any) -> Numbers:
    """Return claims, unknown as False."""
    found: Numbers = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return found


def _numbers(column: Any) -> Numbers:
    """Return whole numbers, null as -1."""
    found: Numbers = pc.fill_null(column.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return found


@dataclass(slots=True)
class Match:
    """What came of a comparison.

    Attributes:
        kept: For each source of the plan, by position of the live key, the group whose rows are kept; -1: audited.
        why: Why keys are audited, with their number.
        gone: Number of keys of the report that are no more; of exports also of those that changed.
    """

    kept: list[Numbers]
    why: Counter[str] = field(default_factory=Counter)
    gone: int = 0


def whole_reason(old: OldReport, state: dict[str, Any]) -> str:
    """Return why nothing of a report can be kept; empty where it can."""
    if old.not_read:
        return old.not_read
    tool = {
        "version": auditor.__version__,
        "table_version": tables.TABLE_VERSION,
        "release": auditor.KUBERNETES_RELEASE,
    }
    for name, value in tool.items():
        if old.tool.get(name) != value:
            what = {"version": "auditor", "table_version": "tables", "release": "Kubernetes"}[name]
            return f"{what} was {old.tool.get(name)} and is {value}"
    assert old.state is not None
    if old.state["options"] != state["options"]:
        return "options differ"
    return ""


def match(plan: Plan, old: OldReport, state: dict[str, Any], groups: Groups, findings: Owners) -> Match:
    """Find for each live key of a plan the rows that an earlier report has for it.

    Args:
        plan: Of this run.
        old: The report.
        state: The state of this run; `whole_reason` found nothing.
        groups: The report's objects; those that cannot be kept are refused in it.
        findings: Whose the report's findings are.
    """
    _refuse_changed(groups, plan, old, state)
    _refuse_uncertain(groups, plan, old, findings)
    kept, why = [], Counter[str]()
    seen = np.zeros(len(groups), dtype=bool)
    for source in plan.sources:
        table = open_live(source)
        if not table.num_rows:
            kept.append(np.empty(0, dtype=np.int64))
            continue
        find = _match_export if source.is_export else _match_keys
        found, again, reasons = find(source, table, groups)
        seen[again] = True
        refused = (found >= 0) & ~groups.is_usable[found] if len(groups) else found >= 0
        for number, many in enumerate(np.bincount(groups.reason[found[refused]], minlength=len(groups.REASONS))):
            reasons[groups.REASONS[number]] += int(many)
        found[refused] = -1
        why.update(reasons)
        kept.append(found)
    why["not certain"] += _audit_first_of_kind(groups, kept)
    return Match(kept, Counter({reason: many for reason, many in why.items() if many}), int((~seen).sum()))


# ---- what is not kept whatever its value


def _refuse_changed(groups: Groups, plan: Plan, old: OldReport, state: dict[str, Any]) -> None:
    """Refuse what goes by a definition that changed; what goes by none goes by which there are."""
    assert old.state is not None
    was, now = old.state["definitions"], state["definitions"]
    same_set = old.state["resources"] == state["resources"]
    by_plural = {(entry.group, entry.plural): entry.name for entry in plan.entries}
    by_kind = {(entry.group, entry.kind): entry.name for entry in plan.entries}
    live = _resources_with_keys(plan)
    head = groups.head
    codes = [_codes(head[name]) for name in ("group", "plural", "kind", "status")]
    mixed, names = np.zeros(len(groups), dtype=np.int64), [texts for _, texts in codes]
    for numbers, texts in codes:
        mixed = mixed * (len(texts) + 1) + numbers + 1
    distinct, at, of = np.unique(mixed, return_index=True, return_inverse=True)
    fits = np.zeros(len(distinct), dtype=bool)
    for number, row in enumerate(at.tolist()):
        group, plural, kind, status = (
            None if numbers[row] < 0 else texts[numbers[row]] for (numbers, _), texts in zip(codes, names, strict=True)
        )
        name = by_plural.get((group or "", plural or "")) or by_kind.get((group or "", kind or ""))
        if name is not None and status in (*_JUDGED, "unserved"):
            fits[number] = name in was and was[name] == now[name]
        else:
            fits[number] = same_set and status != "unserved"
    groups.refuse(np.flatnonzero(~fits[of]), "definition changed")
    _refuse_definitions(groups, plan, was, now, live)


def _refuse_definitions(
    groups: Groups, plan: Plan, was: dict[str, str], now: dict[str, str], live: set[tuple[str, str]]
) -> None:
    """Refuse rows of definitions that got their first objects or lost the last: rules count where there are objects."""
    head = groups.head
    rows = np.flatnonzero(_is_one_of(head["status"], "definition"))
    entries = {entry.name: entry for entry in plan.entries}
    (group_codes, group_names), (plural_codes, plural_names) = _codes(head["group"]), _codes(head["plural"])
    pairs = np.unique(np.stack([group_codes, plural_codes]), axis=1).T.tolist()
    before = {("" if g < 0 else group_names[g], "" if p < 0 else plural_names[p]) for g, p in pairs}
    changed = []
    for row, name, key in zip(
        rows.tolist(), head["name"].take(pa.array(rows)).to_pylist(), groups.key.take(pa.array(rows)).to_pylist(),
        strict=True,
    ):  # fmt: skip
        entry = entries.get(name or "")
        has_changed = entry is None or was.get(entry.name) != now.get(entry.name)
        if entry is not None and key is not None:
            has_changed |= ((entry.group, entry.plural) in before) != ((entry.group, entry.plural) in live)
        if has_changed or not plan.options.scope.is_everything:
            changed.append(row)
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


def _refuse_uncertain(groups: Groups, plan: Plan, old: OldReport, findings: Owners) -> None:
    head = groups.head
    lost = np.zeros(len(groups), dtype=bool)
    for reason in _OURS:
        lost |= _mask(pc.starts_with(head["reason"], reason))
    groups.refuse(np.flatnonzero(lost), "not certain")
    _refuse_not_evaluated(groups, plan, old)
    _refuse_same_names(groups, findings)


def _refuse_not_evaluated(groups: Groups, plan: Plan, old: OldReport) -> None:
    """Refuse objects of which some had no rules evaluated: which ones, no table tells."""
    if not old.not_evaluated:
        return
    names = {(entry.group, entry.plural): entry.name for entry in plan.entries}
    counts = old_counts(groups, names)
    for (name, version), many in old.not_evaluated.items():
        rows = counts.get((name, version), np.empty(0, dtype=np.int64))
        if len(rows) != many:
            groups.refuse(np.unique(groups.of_row[rows]), "not certain")


def old_counts(groups: Groups, names: dict[tuple[str, str], str]) -> dict[tuple[str, str], Numbers]:
    """Return the numbers of the rows of read objects by (definition, version)."""
    table = groups.table
    found: dict[tuple[str, str], list[Numbers]] = {}
    read = _is_one_of(table["status"], "valid", "invalid")
    columns = [_codes(table[name]) for name in ("group", "plural", "audited_version")]
    mixed = np.zeros(table.num_rows, dtype=np.int64)
    for numbers, texts in columns:
        mixed = mixed * (len(texts) + 1) + numbers + 1
    for code in np.unique(mixed[read]).tolist():
        rows = np.flatnonzero(read & (mixed == code))
        group, plural, version = (texts[numbers[rows[0]]] for numbers, texts in columns)
        name = names.get((group or "", plural or ""))
        if name is not None and version is not None:
            found.setdefault((name, version), []).append(rows)
    return {key: np.concatenate(rows) for key, rows in found.items()}


def _refuse_same_names(groups: Groups, findings: Owners) -> None:
    """Refuse objects of exports whose findings cannot be told from those of another one of the same name."""
    groups.refuse(findings.confused, "not certain")


_IDENTITY: Final = ("source", "key", "group", "kind", "namespace", "name")
"""Columns that findings/ and objects/ have in common."""


class Owners:
    """Which object each finding of an earlier report is of.

    Attributes:
        of_finding: The group of each finding.
        confused: Groups with the same names, of which that cannot be told.
    """

    def __init__(self, groups: Groups, findings: PartTable) -> None:
        if not len(findings) or not len(groups):
            self.of_finding = np.full(len(findings), -1, dtype=np.int64)
            self.confused = np.empty(0, dtype=np.int64)
            return
        owners = _identities(findings.columns(*_IDENTITY)).dictionary_encode()
        names = _numbers(pc.index_in(_identities(groups.head), value_set=owners.dictionary))
        rows = np.flatnonzero(names >= 0)
        group = np.full(len(owners.dictionary), -1, dtype=np.int64)
        group[names[rows]] = rows
        of_name = _numbers(owners.indices)
        self.of_finding = group[of_name]
        shared = np.flatnonzero(np.bincount(names[rows], minlength=1) > 1)
        self.confused = self._share_out(groups, findings, shared, names, of_name)

    def _share_out(
        self, groups: Groups, findings: PartTable, shared: Numbers, names: Numbers, of_name: Numbers
    ) -> Numbers:
        """Give objects of the same names each their findings, which stand in the same order; return where it fails."""
        if not len(shared):
            return np.empty(0, dtype=np.int64)
        found = np.flatnonzero(np.isin(of_name, shared))
        some = findings.columns("request", "check").take(pa.array(found))
        is_create = _is_one_of(some["request"], "create") & ~_is_one_of(some["check"], "gate")
        lines: dict[int, list[tuple[int, bool]]] = {}
        for row, name, create in zip(found.tolist(), of_name[found].tolist(), is_create.tolist(), strict=True):
            lines.setdefault(name, []).append((row, create))
        members: dict[int, list[int]] = {}
        for one in np.flatnonzero(np.isin(names, shared)).tolist():
            members.setdefault(int(names[one]), []).append(one)
        counts = _numbers(groups.head["findings"])
        confused: list[int] = []
        for name, some_groups in members.items():
            wanted = [int(counts[one]) for one in some_groups]
            owners = _owners_in_order(some_groups, wanted, [create for _, create in lines[name]])
            if owners is None or (groups.count[some_groups] > 1).any():
                confused += some_groups
            else:
                self.of_finding[[row for row, _ in lines[name]]] = owners
        return np.array(confused, dtype=np.int64)


def _owners_in_order(groups: list[int], wanted: list[int], creates: list[bool]) -> list[int] | None:
    """Return the owner of each of some findings: first those of a create, as many as it has, then those of requests.

    Returns:
        None where that does not come out: what has no finding of a create may have some of a request.
    """
    if not all(wanted) and not all(creates):
        return None
    owners: list[int] = []
    for group, many in zip(groups, wanted, strict=True):
        start = len(owners)
        if not all(creates[start : start + many]) or start + many > len(creates):
            return None
        owners += [group] * many
        while len(owners) < len(creates) and not creates[len(owners)]:
            owners.append(group)
    return owners if len(owners) == len(creates) else None


def _identities(table: pa.Table) -> Any:
    """Return one text for each row by which findings are found for an object."""
    columns = [pc.fill_null(table[name].combine_chunks().cast(pa.string()), "\1") for name in _IDENTITY]
    return pc.binary_join_element_wise(*columns, "\0")


# ---- by key, revision and value


def _match_keys(source: SourcePlan, table: pa.Table, groups: Groups) -> tuple[Numbers, Numbers, Counter[str]]:
    """Return the group of each key that did not change, the groups that are there still, and why others are not."""
    why: Counter[str] = Counter()
    found = _numbers(pc.index_in(key_texts(table["key"].combine_chunks()), value_set=groups.key)).copy()
    revisions = _numbers(table["mod_revision"])
    is_new = found < 0
    again = found[~is_new]
    why["new"] = int(is_new.sum())
    other = ~is_new & (groups.revision[found] != revisions) if len(groups) else np.zeros(len(found), dtype=bool)
    found[other] = -1
    rows = np.flatnonzero(found >= 0)
    hashes, sealed = _hashes(source, table, rows)
    differs = _differs(hashes, groups, found[rows])
    why["changed"] = int(other.sum()) + int((differs & ~sealed).sum())
    why["encrypted"] = int(sealed.sum())
    found[rows[differs | sealed]] = -1
    return found, again, why


def _match_export(source: SourcePlan, table: pa.Table, groups: Groups) -> tuple[Numbers, Numbers, Counter[str]]:
    hashes, _ = _hashes(source, table, np.arange(table.num_rows))
    without_key = np.flatnonzero(groups.key.is_null().to_numpy(zero_copy_only=False))
    at = _numbers(pc.index_in(hashes, value_set=groups.value_hash.take(pa.array(without_key))))
    found = np.where(at >= 0, without_key[at] if len(without_key) else -1, -1)
    return found, found[found >= 0], Counter({"new or changed": int((found < 0).sum())})


def _differs(hashes: pa.Array, groups: Groups, of: Numbers) -> Numbers:
    return ~_mask(pc.equal(hashes, groups.value_hash.take(pa.array(of))))


def _hashes(source: SourcePlan, table: pa.Table, rows: Numbers) -> tuple[pa.Array, Numbers]:
    """Return the SHA-256 of some values as text, and which are encrypted."""
    values = open_values(source)
    starts, lengths = (_numbers(table[name])[rows] for name in ("offset", "length"))
    encodings = _numbers(table["encoding"])[rows]
    if encodings.any():
        spans = zip(starts.tolist(), lengths.tolist(), encodings.tolist(), strict=True)
        cut = [cut_value(values, *span) for span in spans]
        return (
            pa.array([sha256(value).hexdigest() for value in cut], pa.string()),
            np.array([value[:4] == b"k8s:" for value in cut], dtype=bool),
        )
    with memoryview(values) as view:
        ends = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
        hashes = pa.array([sha256(view[start:end]).hexdigest() for start, end in ends], pa.string())
    return hashes, _begin_with(values, starts, lengths, b"k8s:")


def _begin_with(values: Any, starts: Numbers, lengths: Numbers, prefix: bytes) -> Numbers:
    text = np.frombuffer(values, dtype=np.uint8)
    found = lengths >= len(prefix)
    for place, byte in enumerate(prefix):
        rows = np.flatnonzero(found)
        found[rows] = text[starts[rows] + place] == byte
    return found


def _audit_first_of_kind(groups: Groups, kept: Sequence[Numbers]) -> int:
    """Let the first broken and the first stuck object of each kind be audited: the summary tells more than its row."""
    impacts = groups.head["impacts"].combine_chunks()
    whose, listed = pc.list_parent_indices(impacts), pc.list_flatten(impacts)
    many = 0
    for impact in ("crashes-server", "breaks-list", "blocks-delete"):
        rows = np.unique(whose.filter(pc.equal(listed, impact)).to_numpy(zero_copy_only=False))
        if not len(rows):
            continue
        has = np.zeros(len(groups), dtype=bool)
        has[rows] = True
        kinds = groups.head.select(["group", "plural", "kind"])
        seen: set[tuple[str | None, ...]] = set()
        for found in kept:
            for position in np.flatnonzero((found >= 0) & has[found]).tolist():
                row = int(found[position])
                kind = tuple(kinds[name][row].as_py() for name in kinds.column_names)
                if kind not in seen:
                    seen.add(kind)
                    found[position] = -1
                    many += 1
    return many
