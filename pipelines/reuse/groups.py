"""The live keys of an earlier report, without their rows: values for matching, and for counting.

The report is read part by part, and only the columns that are needed. A row becomes numbers in NumPy arrays: about
seventy bytes for each live key. Rows are read again when they are written (`rows`).
"""

from __future__ import annotations

import contextlib
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from auditor.base import arrow
from auditor.base.errors import DamagedDump
from auditor.base.statuses import Impact, Status
from auditor.base.visible import visible
from auditor.shards.result import NO_TIME, RULES_GIVEN_UP
from pipelines.reuse.digests import DIGEST

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.report.reader import OldReport

__all__ = ["Groups", "ObjectClass", "Part", "codes", "is_one_of", "numbered", "numbers"]

Numbers = np.ndarray[Any, Any]

_OURS: Final = ("not audited: ", "the auditor failed on this value", NO_TIME, RULES_GIVEN_UP)
"""Reasons of rows that are about a run and not about the object."""
_FIRST_OF_KIND: Final = (Impact.CRASHES_SERVER, Impact.BREAKS_LIST, Impact.BLOCKS_DELETE)
_STATUSES: Final = frozenset(map(str, Status))
_IMPACTS: Final = frozenset(map(str, Impact)) | {""}
_IDENTITY: Final = ("source", "key", "group", "kind", "namespace", "name")
"""Columns that findings/ and objects/ have in common."""
_CLASS: Final = ("group", "plural", "kind", "status", "impact", "impacts", "stored_version", "audited_version")
_MATCHED: Final = (
    *("source", "key", "mod_revision", "namespace", "name", "reason", "findings", "offset", "value_hash"),
    *_CLASS,
)


class ObjectClass(NamedTuple):
    """Grouping key: rows of objects/ with equal values add to the same counters."""

    group: str
    plural: str
    kind: str
    status: str
    impact: str
    impacts: str
    stored_version: str | None
    audited_version: str


@dataclass(slots=True)
class Part:
    """The groups of one part of a report.

    Attributes:
        number: The number in the names of its files.
        first: The first row of each group in objects/.
        count: Number of rows of each group in objects/.
        offset: Offset of the value of each group.
        classes: The class of each row of objects/.
        owner: The group of each row of findings/; -1: unknown.
    """

    number: int
    first: Numbers
    count: Numbers
    offset: Numbers
    classes: Numbers
    owner: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int32))


class Groups:
    """Rows of an earlier report's objects/, grouped by live key: one, or one for each version at which it was audited.

    Args:
        report: The report.

    Attributes:
        parts: Its parts.
        starts: The number of the first group of each part, and the number of groups.
        key: As text; null for exports. None if no group has a key.
        revision: Modification revision; -1 if there is none.
        digest: SHA-256 of the value, 32 bytes a group.
        kind: The class of its first row.
        classes: The classes by number.
        definitions: (group, name, key) of rows of definitions.
        firsts: Groups about which the summary may have more than their rows, by impact.
        is_usable: Whether rows may be reused at all.
        reason: If a group must not be reused, an index into `REASONS`.
    """

    REASONS = ("definition changed", "not certain")

    def __init__(self, report: OldReport) -> None:
        self.parts: list[Part] = []
        self.classes: list[ObjectClass] = []
        self.definitions: list[tuple[int, str | None, str | None]] = []
        self._class_numbers: dict[tuple[str | None, ...], int] = {}
        self._keys: list[Any] = []
        self._firsts: dict[str, list[Numbers]] = {impact: [] for impact in _FIRST_OF_KIND}
        self._twice: list[Numbers] = []
        self._uncertain: list[Numbers] = []
        revisions, kinds, digests = array("q"), array("i"), bytearray()
        starts = [0]
        for number in report.parts:
            table = report.read("objects", number, _MATCHED)
            if table is None:  # `OldReport.check` has counted the rows
                continue
            part = self._part(report, number, table, starts[-1])
            self._note_firsts(table["impacts"].combine_chunks(), part, starts[-1])
            if part.first.size < table.num_rows:
                table = arrow.take(table, part.first)
            self._note(table, starts[-1])
            self._own(report, part, table, starts[-1])
            revisions.frombytes(numbers(table["mod_revision"]).tobytes())
            kinds.frombytes(part.classes[part.first].astype(np.int32).tobytes())
            digests += _digests(table["value_hash"])
            self.parts.append(part)
            starts.append(starts[-1] + table.num_rows)
        self.starts = np.array(starts, dtype=np.int64)
        has_keys = any(keys.null_count < len(keys) for keys in self._keys)
        self.key = pa.concat_arrays(self._keys) if has_keys else None
        self.revision = np.frombuffer(revisions, dtype=np.int64)
        self.kind = np.frombuffer(kinds, dtype=np.int32)
        self.digest = np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST)
        self.is_usable = np.ones(len(self), dtype=bool)
        self.reason = np.zeros(len(self), dtype=np.int8)
        self.firsts = {impact: _joined(some) for impact, some in self._firsts.items()}
        self.refuse(_joined(self._twice), "not certain")
        del self._keys, self._class_numbers, self._firsts, self._twice

    def __len__(self) -> int:
        return int(self.starts[-1])

    def refuse(self, groups: Numbers, reason: str) -> None:
        """Mark groups whose rows must not be reused."""
        fresh = groups[self.is_usable[groups]]
        self.is_usable[fresh] = False
        self.reason[fresh] = self.REASONS.index(reason)

    def refuse_uncertain(self) -> None:
        """Refuse rows about a run, and objects whose findings cannot be assigned to one object."""
        self.refuse(_joined(self._uncertain), "not certain")

    def forget_values(self) -> None:
        """Free the data for matching; rows are found without it."""
        self.key = None
        self.revision = np.empty(0, dtype=np.int64)
        self.digest = np.empty((0, DIGEST), dtype=np.uint8)

    def part_of(self, groups: Numbers) -> Numbers:
        """Return the index in `parts` of the part of each group."""
        found: Numbers = np.searchsorted(self.starts, groups, side="right") - 1
        return found

    def _part(self, report: OldReport, number: int, table: pa.Table, start: int) -> Part:
        rows = table.num_rows
        offset, key = numbers(table["offset"]), table["key"].combine_chunks()
        new = np.ones(rows, dtype=bool)
        if rows > 1:
            new[1:] = offset[1:] != offset[:-1]
            if key.null_count < rows:
                new[1:] |= arrow.unlike_next(key)
        first = np.flatnonzero(new).astype(np.int32)
        offset = offset[first]
        ordered = np.argsort(offset, kind="stable")
        same = np.flatnonzero(np.diff(offset[ordered]) == 0)
        if len(same):
            self._twice.append(start + np.unique(ordered[np.concatenate([same, same + 1])]))
        classes = self._classes(table.select(list(_CLASS)), report.path("objects", number))
        return Part(number, first, np.diff(first, append=rows).astype(np.int32), offset, classes)

    def _classes(self, table: pa.Table, path: Path) -> Numbers:
        joined = arrow.joined_texts(table["impacts"].combine_chunks(), ",")
        columns = [codes(joined if name == "impacts" else table[name]) for name in _CLASS]
        of, distinct = numbered(columns, self._class_numbers)
        stored = _CLASS.index("stored_version")
        new = [
            ObjectClass(*(text if place == stored else text or "" for place, text in enumerate(texts)))  # type: ignore[arg-type]
            for texts in distinct
        ]
        for one in new:
            if one.status not in _STATUSES or not {one.impact, *one.impacts.split(",")} <= _IMPACTS:
                found = f"has a row of the status {visible(one.status)!r} with the impacts {visible(one.impacts)!r}"
                raise DamagedDump(str(path), found, "those that an audit writes", "audit anew")
        self.classes += new
        return of

    def _note(self, heads: pa.Table, start: int) -> None:
        """Record further facts about few groups; `heads` are the first rows of each."""
        self._keys.append(heads["key"].combine_chunks())
        rows = np.flatnonzero(is_one_of(heads["status"], Status.DEFINITION))
        if len(rows):
            some = arrow.take(heads.select(["name", "key"]), rows).to_pylist()
            names = ((row["name"], row["key"]) for row in some)
            self.definitions += [(start + int(row), *both) for row, both in zip(rows, names, strict=True)]
        reasons = heads["reason"].combine_chunks()
        if reasons.null_count < len(reasons):
            for reason in _OURS:
                self._uncertain.append(start + np.flatnonzero(arrow.starts_with(reasons, reason)))

    def _note_firsts(self, impacts: pa.Array, part: Part, start: int) -> None:
        """Record groups about which the summary may have more; an object may break lists at only one version."""
        listed, whose = arrow.flattened(impacts)
        for impact in _FIRST_OF_KIND if len(listed) else ():
            found = numbers(whose)[arrow.equal(listed, impact)]
            if len(found):
                self._firsts[impact].append(start + np.unique(np.searchsorted(part.first, found, side="right") - 1))

    def _own(self, report: OldReport, part: Part, heads: pa.Table, start: int) -> None:
        """Find the objects of the findings of a part: they are in the same part."""
        findings = report.read("findings", part.number, _IDENTITY)
        if findings is None or not findings.num_rows:
            return
        owners = arrow.dictionary_encoded(_identities(findings))
        names = numbers(arrow.index_in(_identities(heads), owners.dictionary))
        rows = np.flatnonzero(names >= 0)
        group = np.full(len(owners.dictionary), -1, dtype=np.int32)
        group[names[rows]] = rows
        of_name = numbers(owners.indices)
        part.owner = group[of_name]
        shared = np.flatnonzero(np.bincount(names[rows], minlength=1) > 1)
        if len(shared):
            some = report.read("findings", part.number, ("request", "check"))
            assert some is not None
            self._uncertain.append(start + _share_out(part, heads, some, shared, names, of_name))


def _joined(some: list[Numbers]) -> Numbers:
    return np.concatenate(some) if some else np.empty(0, dtype=np.int64)


def numbered(
    columns: list[tuple[Numbers, list[str | None]]], known: dict[tuple[str | None, ...], int]
) -> tuple[Numbers, list[tuple[str | None, ...]]]:
    """Return the number of each row's texts, and the texts that are new."""
    mixed, size = np.zeros(len(columns[0][0]), dtype=np.int64), 1
    for column, texts in columns:
        size *= len(texts) + 1
        if size > 1 << 60:
            mixed = np.unique(mixed, return_inverse=True)[1]
            size = (len(mixed) + 1) * (len(texts) + 1)
        mixed = mixed * (len(texts) + 1) + column + 1
    _, at, of = np.unique(mixed, return_index=True, return_inverse=True)
    fresh, own = [], np.empty(len(at), dtype=np.int32)
    for place, row in enumerate(at.tolist()):
        one = tuple(None if column[row] < 0 else texts[column[row]] for column, texts in columns)
        number = known.get(one)
        if number is None:
            number = known[one] = len(known)
            fresh.append(one)
        own[place] = number
    return own[of], fresh


def codes(column: Any) -> tuple[Numbers, list[str | None]]:
    """Return texts as numbers (null: -1), and the text of each number."""
    made = arrow.in_one_piece(column)
    if not pa.types.is_dictionary(made.type):
        made = arrow.dictionary_encoded(made)
    return numbers(made.indices), made.dictionary.to_pylist()


def is_one_of(column: pa.ChunkedArray, *texts: str) -> Numbers:
    """Return for each row of a dictionary column whether it has one of some texts."""
    own, known = codes(column)
    wanted = np.array([text in texts for text in known] + [False])
    found: Numbers = wanted[own]
    return found


def numbers(column: Any) -> Numbers:
    """Return integers, with null as -1."""
    found: Numbers = arrow.fill_null(arrow.cast(column, pa.int64()), -1).to_numpy(zero_copy_only=False)
    return found


def _digests(column: pa.ChunkedArray) -> bytes:
    """Return hexadecimal hashes as bytes; an invalid one becomes one that no value has."""
    if (numbers(arrow.byte_lengths(column)) == 2 * DIGEST).all():
        with contextlib.suppress(ValueError):
            found = bytes.fromhex("".join(column.to_pylist()))
            if len(found) == DIGEST * len(column):
                return found
    return b"".join(_digest(text) for text in column.to_pylist())


def _digest(text: str | None) -> bytes:
    try:
        found = bytes.fromhex(text or "")
    except ValueError:
        found = b""
    return found if len(found) == DIGEST else bytes(DIGEST)


# ---- the objects of findings


def _share_out(
    part: Part, heads: pa.Table, findings: pa.Table, shared: Numbers, names: Numbers, of_name: Numbers
) -> Numbers:
    """Assign findings to objects with the same names, which have the same order; return where that fails."""
    found = np.flatnonzero(np.isin(of_name, shared))
    some = arrow.take(findings.select(["request", "check"]), found)
    is_create = is_one_of(some["request"], "create") & ~is_one_of(some["check"], "gate")
    lines: dict[int, list[tuple[int, bool]]] = {}
    for row, name, create in zip(found.tolist(), of_name[found].tolist(), is_create.tolist(), strict=True):
        lines.setdefault(name, []).append((row, create))
    members: dict[int, list[int]] = {}
    for one in np.flatnonzero(np.isin(names, shared)).tolist():
        members.setdefault(int(names[one]), []).append(one)
    counts = numbers(heads["findings"])
    confused: list[int] = []
    for name, some_groups in members.items():
        wanted = [int(counts[one]) for one in some_groups]
        owners = owners_in_order(some_groups, wanted, [create for _, create in lines[name]])
        if owners is None or (part.count[some_groups] > 1).any():
            confused += some_groups
        else:
            part.owner[[row for row, _ in lines[name]]] = owners
    return np.array(confused, dtype=np.int64)


def owners_in_order(groups: list[int], wanted: list[int], creates: list[bool]) -> list[int] | None:
    """Return the owner of each finding: each object has findings of a create first, then those of requests.

    Returns:
        None if the numbers do not match: an object without findings of a create may have some of a request.
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
    """Return one text for each row, by which the findings of an object are found."""
    texts = (arrow.cast(table[name].combine_chunks(), pa.string()) for name in _IDENTITY)
    return arrow.joined_texts([arrow.fill_null(text, "\1") for text in texts], "\0")
