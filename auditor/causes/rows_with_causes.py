"""Rows of findings/ and objects/ with their causes, part by part and row group by row group."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.arrow import plain, take
from auditor.causes.accepting import Acceptance
from auditor.causes.counting import Counting
from auditor.causes.field_patterns import Definitions
from auditor.causes.owners import ReportOwners
from auditor.causes.parts import overrides_of, part_files, read_part
from auditor.causes.row_causes import (
    CONCERNED,
    FINDING_COLUMNS,
    OBJECT_COLUMNS,
    CauseNumbers,
    FindingRows,
    ObjectImpacts,
    concerned,
    namespaces_of,
    reason_of,
)
from auditor.causes.severity import SEVERITIES, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from auditor.causes.filters import Filters
    from auditor.causes.topics import Cause


_BATCH: Final = 512
_EXAMPLES: Final = 3
_MORE: Final = ("source", "mod_revision", "stored_version", "deleting", "bad_value", "message", "last_write")
_OF_OBJECT: Final = ("source", "mod_revision", "stored_version", "deleting", "uid", "size", "findings")


class CauseIds:
    """The ids of causes by their number; the digest of each is made once."""

    def __init__(self, causes: CauseNumbers, known: Sequence[Cause]) -> None:
        self.causes = causes
        self._ids = {cause.digest: cause.id for cause in known}
        self._found: list[tuple[str, str]] = []

    def of(self, number: int) -> tuple[str, str]:
        """Return the id and the digest of a cause."""
        while len(self._found) <= number:
            digest = self.causes.keys[len(self._found)].digest()
            self._found.append((self._ids.get(digest, digest[:8]), digest))
        return self._found[number]

    def mask(self, wanted: Sequence[str], numbers: Any) -> Any:
        """Return for each number whether its cause has one of the wanted digests."""
        known = np.array([self.of(number)[1] in wanted for number in range(len(self.causes.keys))], dtype=bool)
        return known[numbers] if len(known) else np.zeros(len(numbers), dtype=bool)


def finding_rows(
    report: Path, manifest: dict[str, Any], known: Sequence[Cause], filters: Filters, *, distinct: bool
) -> Iterator[dict[str, Any]]:
    """Yield findings, as `FindingsModel.findings`."""
    causes = CauseNumbers(Definitions(report, manifest), namespaces_of(manifest))
    ids, counting = CauseIds(causes, known), Counting(overrides_of(manifest))
    accepted, every = Acceptance.of_manifest(manifest), ReportOwners(report, manifest)
    for path in part_files(report / "findings"):
        table = read_part(path, FINDING_COLUMNS, "change")
        if not table.num_rows:
            continue
        rows = FindingRows.of(table, causes)
        ranks = counting.finding_ranks(rows)
        settled = None if accepted is None else accepted.findings(rows, causes, ranks)
        mask = np.ones(len(rows), dtype=bool)
        if filters.causes:
            mask &= ids.mask(filters.causes, rows.cause)
        if filters.severities:
            mask &= np.isin(ranks, [rank(severity) for severity in filters.severities])
        requests: dict[int, list[str]] = {}
        if distinct:
            first = np.zeros(len(rows), dtype=bool)
            first[np.unique(rows.distinct, return_index=True)[1]] = True
            wanted = set(rows.distinct[mask].tolist())
            for number, request in zip(rows.distinct.tolist(), rows.columns["request"].codes.tolist(), strict=True):
                name = rows.columns["request"].texts[request]
                if number in wanted and name is not None and name not in requests.setdefault(number, []):
                    requests[number].append(name)
            mask &= first
        row_numbers = np.flatnonzero(mask)
        if not len(row_numbers):
            continue
        names = [*table.column_names, *_MORE]
        owners = every.of_part(path.name, rows.columns)
        for begin in range(0, len(row_numbers), _BATCH):
            some = row_numbers[begin : begin + _BATCH]
            if begin == 0:
                whole = read_part(path, tuple(names))
            for row, content in zip(some.tolist(), plain(take(whole, some)).to_pylist(), strict=True):
                content["cause"] = ids.of(int(rows.cause[row]))[0]
                content["severity"] = SEVERITIES[int(ranks[row])]
                content["accepted"] = settled is not None and bool(settled[row])
                content.setdefault("change", None)
                content["owner"] = owners.of(row)
                if distinct:
                    content["requests"] = requests[int(rows.distinct[row])]
                if filters.takes_row(content):
                    yield content


def object_rows(
    report: Path, manifest: dict[str, Any], known: Sequence[Cause], filters: Filters
) -> Iterator[dict[str, Any]]:
    """Yield objects with impacts, as `FindingsModel.objects`."""
    causes = CauseNumbers(Definitions(report, manifest), namespaces_of(manifest))
    ids, counting = CauseIds(causes, known), Counting(overrides_of(manifest))
    accepted, every = Acceptance.of_manifest(manifest), ReportOwners(report, manifest)
    for path in part_files(report / "objects"):
        mask = concerned(read_part(path, CONCERNED), causes)
        if not mask.any():
            continue
        table = take(read_part(path, (*OBJECT_COLUMNS, *_OF_OBJECT), "change"), np.flatnonzero(mask))
        rows = ObjectImpacts.of(table, causes)
        ranks = counting.impact_ranks(rows)
        settled = None if accepted is None else accepted.impacts(rows, causes, ranks)
        owners = every.of_part(path.name, rows.columns)
        chosen = np.arange(len(rows.row))
        if filters.causes:
            chosen = np.flatnonzero(ids.mask(filters.causes, rows.cause))
        for begin in range(0, len(chosen), _BATCH):
            some = chosen[begin : begin + _BATCH]
            for row, content in zip(some.tolist(), plain(take(table, rows.row[some])).to_pylist(), strict=True):
                content["cause"] = ids.of(int(rows.cause[row]))[0]
                content["owner"] = owners.of(int(rows.row[row]))
                content["cause_impact"] = rows.impact[row]
                content["reason"] = reason_of(rows.impact[row], content["reason"] or "") or None
                content["severity"] = SEVERITIES[int(ranks[row])]
                content["accepted"] = settled is not None and bool(settled[row])
                content.setdefault("change", None)
                if filters.takes_row(content):
                    yield content


def counted_rows(tables: Iterable[Iterable[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return counts of rows of `finding_rows` and `object_rows` by the id of their cause."""
    counts: dict[str, dict[str, Any]] = defaultdict(
        lambda: {"objects": 0, "findings": 0, "new_objects": 0, "namespaces": set(), "examples": [], "last": None}
    )
    for rows in tables:
        for row in rows:
            count = counts[row["cause"]]
            if "request" in row:
                count["findings"] += 1
            whose = (row["cluster"], row["key"], row["kind"], row["namespace"], row["name"], row["audited_version"])
            if whose == count["last"]:
                continue
            count["last"] = whose
            count["objects"] += 1
            count["new_objects"] += row["change"] in ("new", "worse")
            count["namespaces"].add((row["cluster"], row["namespace"]))
            if len(count["examples"]) < _EXAMPLES:
                name = row["key"] or f"{row['namespace'] or ''}/{row['name'] or ''}"
                text = row["message"] if "request" in row else row["reason"]
                count["examples"].append((name, text or "", row["cluster"] or ""))
    return counts


def narrowed(cause: Cause, count: dict[str, Any]) -> Cause:
    """Return a cause with other counts and examples."""
    names, messages, clusters = zip(*count["examples"], strict=True)
    return replace(
        cause,
        **{name: count[name] for name in ("objects", "findings", "new_objects")},
        namespaces=len(count["namespaces"]),
        examples=names,
        messages=messages,
        example_clusters=clusters,
    )


Whose = tuple[str | None, ...]
"""What names an object in every part: the columns `WHOSE` of its rows."""
WHOSE: Final = ("cluster", "key", "group", "kind", "namespace", "name")


class CausesOfObjects:
    """The causes of each object of a report, part by part.

    Args:
        report: Its folder.
        manifest: Its manifest.
        known: Its causes, whose ids are used.
    """

    def __init__(self, report: Path, manifest: dict[str, Any], known: Sequence[Cause]) -> None:
        self._report = report
        self._causes = CauseNumbers(Definitions(report, manifest), namespaces_of(manifest))
        self._ids = CauseIds(self._causes, known)

    def of_part(self, name: str) -> dict[Whose, tuple[str, ...]]:
        """Return the ids of causes of the objects of a part that have any, those of impacts first, each once.

        Args:
            name: The name of the part, in objects/ and findings/.
        """
        path = self._report / "objects" / name
        mask = concerned(read_part(path, CONCERNED), self._causes)
        objects = take(read_part(path, OBJECT_COLUMNS), np.flatnonzero(mask)) if mask.any() else None
        path = self._report / "findings" / name
        findings = read_part(path, FINDING_COLUMNS) if path.is_file() else None
        found = causes_by_object(objects, findings, self._causes)
        return {whose: tuple(self._ids.of(number)[0] for number in own) for whose, own in found.items()}


def causes_by_object(objects: Any, findings: Any, causes: CauseNumbers) -> dict[Whose, tuple[int, ...]]:
    """Return the numbers of causes of the objects of a part that have any, those of impacts first, each once.

    Args:
        objects: The rows of objects/ that are `concerned`; None if none is.
        findings: The rows of findings/; None if there are none.
        causes: Numbers the causes.
    """
    found: dict[Whose, dict[int, None]] = defaultdict(dict)
    if objects is not None:
        impacts = ObjectImpacts.of(objects, causes)
        for row, cause in zip(impacts.row.tolist(), impacts.cause.tolist(), strict=True):
            found[tuple(impacts.columns[column].of(row) for column in WHOSE)][cause] = None
    if findings is not None and findings.num_rows:
        rows = FindingRows.of(findings, causes)
        pairs = np.stack([rows.object, rows.cause])
        for row in np.sort(np.unique(pairs, axis=1, return_index=True)[1]).tolist():
            whose = tuple(rows.columns[column].of(row) for column in WHOSE)
            found[whose][int(rows.cause[row])] = None
    return {whose: tuple(own) for whose, own in found.items()}
