"""Counts rows of findings/ and objects/ into causes: objects, namespaces, verdicts, owners, examples.

A count of objects counts an object once for a cause, whatever number of findings and requests it has there. Memory
grows with causes, their namespaces and owners; never with objects.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from auditor.base.longtext import cut
from auditor.causes.row_causes import FindingRows, ObjectImpacts, follows_of, is_new, reason_of
from auditor.causes.severity import SEVERITIES, rank, severity_of, worst_of
from auditor.store.coded import Coded, combined, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from auditor.causes.keys import CauseKey
    from auditor.causes.owners import Controlled, ReportOwners
    from auditor.causes.row_causes import CauseNumbers
    from auditor.causes.severity import SeverityRule


Numbers = np.ndarray[Any, Any]

VERDICTS: Final = ("blocks-every-update", "tolerated-while-unchanged", "tolerated-globally")
"""Verdicts on findings, worst first; others count as not known."""
_EXAMPLES: Final = 3
_OWNERS: Final = 1000
_MESSAGE: Final = 300
_VERDICT_COLUMNS: Final = ("rejected", "tolerated_while_unchanged", "tolerated_globally", "verdict_unknown")


@dataclass(slots=True)
class CauseCount:
    """What was counted of one cause in one cluster."""

    severity: str = SEVERITIES[-1]
    objects: int = 0
    findings: int = 0
    distinct_findings: int = 0
    new_objects: int = 0
    new_findings: int = 0
    fixed_objects: int = 0
    fixed_findings: int = 0
    accepted_objects: int = 0
    accepted_findings: int = 0
    guard_path: str | None = None
    namespaces: set[str] = field(default_factory=set)
    verdicts: Counter[str] = field(default_factory=Counter)
    owners: Counter[str | Controlled] = field(default_factory=Counter)
    examples: list[tuple[int, str, str]] = field(default_factory=list)

    def note_example(self, order: int, name: str, message: str) -> None:
        """Keep an example if it is one of the first three; lower orders are before higher ones."""
        self._keep_examples([(order, name, cut(message, _MESSAGE))])

    def _keep_examples(self, later: list[tuple[int, str, str]]) -> None:
        self.examples += later
        self.examples.sort(key=lambda one: one[0])  # stable: of equal ones the first are kept
        del self.examples[_EXAMPLES:]

    def note_owner(self, name: str | Controlled | None, objects: int, most: int) -> None:
        """Count objects of an owner, unless there are too many other owners or the name is empty."""
        if name and (name in self.owners or len(self.owners) < most):
            self.owners[name] += objects

    def add(self, later: CauseCount, most_owners: int, named: Callable[[str | Controlled], str]) -> None:
        """Add what was counted in a later part of the same report; `named` returns the name of an owner."""
        self.severity = worst_of((self.severity, later.severity))
        for sums in _SUMS:
            setattr(self, sums, getattr(self, sums) + getattr(later, sums))
        self.guard_path = self.guard_path or later.guard_path
        self.namespaces |= later.namespaces
        self.verdicts.update(later.verdicts)
        for name, objects in later.owners.items():
            self.note_owner(named(name), objects, most_owners)
        self._keep_examples(later.examples)


_SUMS: Final = tuple(field.name for field in fields(CauseCount) if field.type == "int")


class PartCounts(NamedTuple):
    """What was counted of one part of a report.

    Attributes:
        keys: The causes.
        counts: By cluster and position of the cause in `keys`.
        topics: Objects with a finding that is not accepted, by cluster and position in `keys` of a cause of the topic.
    """

    keys: list[CauseKey]
    counts: dict[tuple[str, int], CauseCount]
    topics: dict[tuple[str, int], int]


class Counting:
    """Counts the parts of a report one after another.

    Args:
        overrides: Rules that replace severities.
        most_owners: Different owners of a cause that are counted; later ones are left out.

    Attributes:
        counts: By cluster and number of the cause.
        topics: Objects with a finding that is not accepted, by cluster and number of the topic.
    """

    def __init__(self, overrides: tuple[SeverityRule, ...] = (), most_owners: int = _OWNERS) -> None:
        self.overrides = overrides
        self.most_owners = most_owners
        self.counts: dict[tuple[str, int], CauseCount] = {}
        self.topics: Counter[tuple[str, int]] = Counter()
        self._overridden: dict[tuple[str | None, ...], int] = {}

    def of(self, cluster: str, cause: int) -> CauseCount:
        """Return the count of a cause in a cluster."""
        count = self.counts.get((cluster, cause))
        if count is None:
            count = self.counts[(cluster, cause)] = CauseCount()
        return count

    def add_part(self, part: PartCounts, causes: CauseNumbers, owners: ReportOwners) -> None:
        """Add what was counted of the next part.

        Args:
            part: Its counts.
            causes: Numbers the causes of the whole report.
            owners: The owners of its objects.
        """
        numbers = [causes.number(key) for key in part.keys]
        for (cluster, group), count in part.counts.items():
            self.of(cluster, numbers[group]).add(count, self.most_owners, partial(owners.named, cluster))
        for (cluster, group), objects in part.topics.items():
            self.topics[cluster, causes.topics[numbers[group]]] += objects

    def counted(self, causes: CauseNumbers) -> PartCounts:
        """Return what was counted; `causes` may have numbered causes of other parts as well."""
        numbers = {number: position for position, number in enumerate(sorted({number for _, number in self.counts}))}
        first: dict[int, int] = {}
        for number, position in numbers.items():
            first.setdefault(causes.topics[number], position)
        return PartCounts(
            [causes.keys[number] for number in numbers],
            {(cluster, numbers[number]): count for (cluster, number), count in self.counts.items()},
            {(cluster, first[topic]): objects for (cluster, topic), objects in self.topics.items()},
        )

    def severities(self, columns: dict[str, Coded], base: NDArray[np.int64], rows: Any = None) -> NDArray[np.int64]:
        """Return the rank of the severity of each row, overrides considered.

        Args:
            columns: Columns of the table.
            base: The rank of each row without overrides.
            rows: Positions of the rows in the columns; None for all.
        """
        if not self.overrides or not len(base):
            return base
        names = ("cluster", "group", "kind", "namespace")
        codes = [(columns[name].codes if rows is None else columns[name].codes[rows], len(columns[name].texts))
                 for name in names]  # fmt: skip
        first, group = groups_of(combined(codes))
        rows_at = first if rows is None else rows[first]
        ranks = np.array([self._override(tuple(columns[name].of(row) for name in names)) for row in rows_at.tolist()])
        return np.where(ranks[group] < 0, base, ranks[group])

    def _override(self, place: tuple[str | None, ...]) -> int:
        if place not in self._overridden:
            cluster, group, kind, namespace = (text or "" for text in place)
            matching = [
                rule.severity
                for rule in self.overrides
                if rule.matches(group=group, kind=kind, namespace=namespace, cluster=cluster)
            ]
            self._overridden[place] = rank(matching[-1]) if matching else -1
        return self._overridden[place]

    def finding_ranks(self, rows: FindingRows) -> NDArray[np.int64]:
        """Return the rank of the severity of each finding."""
        verdict, check = rows.columns["verdict"], rows.columns["check"]
        first, group = groups_of(combined([(verdict.codes, len(verdict.texts)), (check.codes, len(check.texts))]))
        base = [rank(severity_of(verdict=verdict.of(row), check=check.text(row))) for row in first.tolist()]
        return self.severities(rows.columns, np.array(base, dtype=np.int64)[group] if base else rows.cause)

    def impact_ranks(self, rows: ObjectImpacts) -> NDArray[np.int64]:
        """Return the rank of the severity of each impact."""
        base = np.array([rank(severity_of(impact=impact)) for impact in rows.impact], dtype=np.int64)
        return self.severities(rows.columns, base, rows.row)

    def add_findings(
        self,
        rows: FindingRows,
        change: Coded | None = None,
        accepted: NDArray[np.bool_] | None = None,
        owner: Callable[[NDArray[np.int64]], list[str | Controlled | None]] | None = None,
        message: Callable[[int], str] | None = None,
    ) -> None:
        """Count the findings of a part.

        Args:
            rows: The findings.
            change: Their column `change`.
            accepted: For each whether it is accepted.
            owner: Returns the owners of the objects of some rows.
            message: Returns the message of a row.
        """
        if not len(rows):
            return
        clusters = rows.columns["cluster"]
        group_first, group = groups_of(combined([(clusters.codes, len(clusters.texts)), (rows.cause, 1 << 31)]))
        pair_first, pair = groups_of(combined([(group, len(group_first)), (rows.object, int(rows.object[-1]) + 1)]))
        pair_group = group[pair_first]
        ranks = self.finding_ranks(rows)
        fresh = np.zeros(len(rows), dtype=bool) if change is None else is_new(change)
        settled = np.zeros(len(rows), dtype=bool) if accepted is None else accepted
        verdict = rows.columns["verdict"].numbers(VERDICTS)
        worst = np.full(len(pair_first), len(VERDICTS))
        np.minimum.at(worst, pair, verdict)
        pair_new = np.zeros(len(pair_first), dtype=bool)
        np.logical_or.at(pair_new, pair, fresh)
        pair_open = np.zeros(len(pair_first), dtype=bool)
        np.logical_or.at(pair_open, pair, ~settled)
        own = _with_places(rows, pair, len(pair_first))
        distinct = combined([(rows.distinct[own], len(rows)), (group[own], len(group_first))])
        distinct_first = own[groups_of(distinct)[0]]
        worst_rank = np.full(len(group_first), len(SEVERITIES))
        np.minimum.at(worst_rank, group, np.where(settled, len(SEVERITIES) - 1, ranks))
        size = len(group_first)
        sums = {
            "findings": np.bincount(group, minlength=size),
            "new_findings": np.bincount(group[fresh], minlength=size),
            "accepted_findings": np.bincount(group[settled], minlength=size),
            "distinct_findings": np.bincount(group[distinct_first], minlength=size),
            "objects": np.bincount(pair_group, minlength=size),
            "new_objects": np.bincount(pair_group[pair_new], minlength=size),
            "accepted_objects": np.bincount(pair_group[~pair_open], minlength=size),
        }
        by_verdict = [np.bincount(pair_group[worst == verdict], minlength=size) for verdict in range(len(VERDICTS) + 1)]
        for position, row in enumerate(group_first.tolist()):
            count = self.of(clusters.text(row), int(rows.cause[row]))
            for name, sums_of in sums.items():
                setattr(count, name, getattr(count, name) + int(sums_of[position]))
            for name, numbers in zip(_VERDICT_COLUMNS, by_verdict, strict=True):
                count.verdicts[name] += int(numbers[position])
            count.severity = SEVERITIES[min(rank(count.severity), int(worst_rank[position]))]
        current = np.flatnonzero(~settled)
        places = [(clusters.codes[current], len(clusters.texts)), (rows.topic[current], 1 << 31)]
        places.append((rows.object[current], int(rows.object[-1]) + 1))
        for row in current[groups_of(combined(places))[0]].tolist():
            self.topics[clusters.text(row), int(rows.topic[row])] += 1
        self._places(rows, group, group_first, pair_first, owner)
        order = np.where(pair_new, 0, len(VERDICTS) + 1) + worst
        self._examples(rows, group_first, _own_first(rows, pair, pair_first), pair_group, order, message)

    def _places(
        self,
        rows: FindingRows,
        group: Numbers,
        group_first: Numbers,
        pair_first: Numbers,
        owner: Callable[[NDArray[np.int64]], list[str | Controlled | None]] | None,
    ) -> None:
        """Note namespaces, owners and guarding paths."""
        clusters, namespace, guard = (rows.columns[name] for name in ("cluster", "namespace", "guard_path"))
        places = combined([(group, len(group_first)), (namespace.codes, len(namespace.texts))])
        for row in groups_of(places)[0].tolist():
            self.of(clusters.text(row), int(rows.cause[row])).namespaces.add(namespace.text(row))
        for row in groups_of(combined([(group, len(group_first)), (guard.codes, len(guard.texts))]))[0].tolist():
            count = self.of(clusters.text(row), int(rows.cause[row]))
            count.guard_path = count.guard_path or guard.of(row)
        if owner is None:
            return
        names = owner(pair_first)
        by_row = (
            names[position] for position in np.argsort(pair_first).tolist()
        )  # an order that numbers of causes don't decide
        known = {name: number for number, name in enumerate(dict.fromkeys(by_row))}
        codes = np.array([known[name] for name in names], dtype=np.int64)
        texts = list(known)
        pairs = combined([(group[pair_first], len(group_first)), (codes, len(texts))])
        _, first, sizes = np.unique(pairs, return_index=True, return_counts=True)
        for position, size in zip(first.tolist(), sizes.tolist(), strict=True):
            row, name = int(pair_first[position]), texts[codes[position]]
            count = self.of(clusters.text(row), int(rows.cause[row]))
            count.note_owner(name, size, self.most_owners)

    def _examples(
        self,
        rows: FindingRows,
        group_first: Numbers,
        pair_first: Numbers,
        pair_group: Numbers,
        order: Numbers,
        message: Callable[[int], str] | None,
    ) -> None:
        """Note the first objects of each cause: new ones first, then those with the worst verdict.

        `pair_first` is for each object of a cause the row whose message is noted.
        """
        clusters = rows.columns["cluster"]
        ordered = np.lexsort((np.arange(len(pair_first)), order, pair_group))
        begins = np.searchsorted(pair_group[ordered], np.arange(len(group_first)))
        for position, begin in enumerate(begins.tolist()):
            for place in ordered[begin : begin + _EXAMPLES].tolist():
                if pair_group[place] != position:
                    break
                row = int(pair_first[place])
                count = self.of(clusters.text(row), int(rows.cause[row]))
                rank_of = int(order[place])
                if len(count.examples) < _EXAMPLES or rank_of < count.examples[-1][0]:
                    text = "" if message is None else message(row)
                    count.note_example(rank_of, object_name(rows.columns, row), text)

    def add_fixed(self, rows: FindingRows) -> None:
        """Count the findings of a part of fixed/."""
        if not len(rows):
            return
        clusters = rows.columns["cluster"]
        first, group = groups_of(combined([(clusters.codes, len(clusters.texts)), (rows.cause, 1 << 31)]))
        pairs = groups_of(combined([(group, len(first)), (rows.object, int(rows.object[-1]) + 1)]))[0]
        findings = np.bincount(group, minlength=len(first))
        objects = np.bincount(group[pairs], minlength=len(first))
        ranks = self.finding_ranks(rows)
        for position, row in enumerate(first.tolist()):
            is_known = (clusters.text(row), int(rows.cause[row])) in self.counts
            count = self.of(clusters.text(row), int(rows.cause[row]))
            count.fixed_findings += int(findings[position])
            count.fixed_objects += int(objects[position])
            if not is_known:
                count.severity = SEVERITIES[int(ranks[group == position].min())]
                count.note_example(0, object_name(rows.columns, row), "")

    def add_impacts(
        self,
        rows: ObjectImpacts,
        change: Coded | None = None,
        accepted: NDArray[np.bool_] | None = None,
        pruned: Callable[[int], list[str]] | None = None,
        owner: Callable[[NDArray[np.int64]], list[str | Controlled | None]] | None = None,
    ) -> None:
        """Count the objects of a part of objects/ that have an impact.

        Args:
            rows: Their impacts.
            change: Column `change` of the part.
            accepted: For each impact whether it is accepted.
            pruned: Returns the dropped paths of a row.
            owner: Returns the owners of the objects of some rows.
        """
        fresh = None if change is None else is_new(change)
        ranks = self.impact_ranks(rows)
        names: list[str | Controlled | None] = [None] * len(rows.row) if owner is None else owner(rows.row)
        for position, (row, cause) in enumerate(zip(rows.row.tolist(), rows.cause.tolist(), strict=True)):
            count = self.of(rows.columns["cluster"].text(row), cause)
            count.objects += 1
            is_fresh = fresh is not None and bool(fresh[row])
            is_settled = accepted is not None and bool(accepted[position])
            count.new_objects += is_fresh
            count.accepted_objects += is_settled
            if not is_settled:
                count.severity = SEVERITIES[min(rank(count.severity), int(ranks[position]))]
            count.namespaces.add(rows.columns["namespace"].text(row))
            count.note_owner(names[position], 1, self.most_owners)
            order = 0 if is_fresh else 1
            if len(count.examples) < _EXAMPLES or order < count.examples[-1][0]:
                text = reason_of(rows.impact[position], rows.columns["reason"].text(row))
                if rows.impact[position] == "loses-data" and pruned is not None:
                    text = dropped_text(pruned(row))
                count.note_example(order, object_name(rows.columns, row), text)


def dropped_text(pruned: Iterable[str]) -> str:
    """Return what the next write of an object drops; what it drops of metadata is not among the paths."""
    return f"the next write drops {', '.join(pruned) or 'parts of metadata'}"


def object_name(columns: dict[str, Coded], row: int) -> str:
    """Return the key of an object; NAMESPACE/NAME if it has none."""
    key = columns["key"].of(row)
    return key if key is not None else f"{columns['namespace'].text(row)}/{columns['name'].text(row)}"


def _with_places(rows: FindingRows, pair: Numbers, pairs: int) -> Numbers:
    """Return the rows that are problems of their own: not those that follow from others of their cause and object."""
    follows = follows_of(rows.columns)
    has_own = np.zeros(pairs, dtype=bool)
    has_own[pair[~follows]] = True
    return np.flatnonzero(~(follows & has_own[pair]))


def _own_first(rows: FindingRows, pair: Numbers, pair_first: Numbers) -> Numbers:
    """Return for each pair of a cause and an object its first row that follows from no other; without one its first."""
    own = np.flatnonzero(~follows_of(rows.columns))
    first_rows = np.full(len(pair_first), len(rows))
    np.minimum.at(first_rows, pair[own], own)
    return np.where(first_rows < len(rows), first_rows, pair_first)
