"""Reads rows of an earlier report by live key from its parts, when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from auditor.base import arrow
from auditor.base.arrow import concat
from auditor.base.paths import plain_path
from auditor.base.statuses import Status
from auditor.report.reader import REPEATED, SCHEMAS
from pipelines.reuse.groups import codes, is_one_of, numbered, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.plan.plan import Plan
    from auditor.report.reader import OldReport
    from auditor.shards.result import ShardResult
    from pipelines.reuse.groups import Groups

__all__ = ["Kept", "Pick", "encoded", "expand", "joined"]

Numbers = np.ndarray[Any, Any]

_FOUND = ("group", "kind", "check", "field", "type")
_READ = frozenset(status for status in Status if status.is_read)
_JUDGED = frozenset(status for status in Status if status.is_listed)


def encoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the types of a schema; dictionaries have the values that occur, in order of appearance."""
    columns = []
    for field in schema:
        column = table[field.name].combine_chunks()
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(field.type):
            column = arrow.cast(column, field.type)
        elif pa.types.is_dictionary(column.type):
            if len(column.dictionary) == 1 and column.null_count < len(column) and not column.offset:
                columns.append(column)  # unchanged: most columns have only one text
                continue
            appearing = arrow.dictionary_encoded(column.indices)
            values = arrow.take(column.dictionary, appearing.dictionary)
            column = pa.DictionaryArray.from_arrays(appearing.indices, values)
        elif pa.types.is_dictionary(field.type):
            column = arrow.cast(arrow.dictionary_encoded(column), field.type)
        columns.append(column)
    return pa.table(columns, schema=schema)


def expand(first: Numbers, count: Numbers) -> Numbers:
    """Return first[0], first[0] + 1 ... (count[0] numbers), then those of first[1], and so on."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    found: Numbers = np.arange(total, dtype=np.int64) - np.repeat(ends - count, count) + np.repeat(first, count)
    return found


class Pick(NamedTuple):
    """Rows of a table by their positions in it, and the position of the live key of each."""

    table: pa.Table
    places: Numbers
    at: Numbers

    def narrowed(self) -> Pick:
        """Return the same pick with a smaller table."""
        first, last = int(self.places.min()), int(self.places.max())
        return Pick(self.table.slice(first, last + 1 - first), self.places - first, self.at)


def joined(picks: Sequence[Pick]) -> Pick:
    """Return the rows of several picks with the same columns as those of one table; there must be at least one."""
    some = [pick.narrowed() for pick in picks]
    begins = np.cumsum([0, *(pick.table.num_rows for pick in some)])
    places = [pick.places + begin for pick, begin in zip(some, begins[:-1], strict=True)]
    table = concat([pick.table for pick in some], some[0].table.schema)
    return Pick(table, np.concatenate(places), np.concatenate([pick.at for pick in some]))


class _Loaded(NamedTuple):
    """One loaded part of a table: its rows by group of that part."""

    table: pa.Table
    order: Numbers
    first: Numbers
    many: Numbers


class Kept:
    """The rows of an earlier report.

    Args:
        report: The report.
        groups: Its groups.
        placed: Columns that are not read.
    """

    def __init__(self, report: OldReport, groups: Groups, placed: Sequence[str]) -> None:
        self.report = report
        self.groups = groups
        self.partitions = report.partitions()
        self._placed = set(placed)
        self._loaded: dict[str, dict[int, _Loaded | None]] = {}
        self._ahead: dict[tuple[str, int], _Loaded | None] = {}
        self._found_numbers: dict[tuple[str | None, ...], int] = {}
        self._found: list[int] = []

    def rows(self, name: str, positions: Numbers, groups: Numbers) -> list[Pick]:
        """Return the rows of a table for some live keys, part by part; the last part stays loaded for the next call.

        Args:
            name: The name of the table, or of a partition of the index.
            positions: The positions of the live keys.
            groups: The group of each key.
        """
        parts = self.groups.part_of(groups)
        before, now = self._loaded.get(name, {}), {}
        picks = []
        for number in np.unique(parts).tolist():
            now[number] = loaded = before[number] if number in before else self._take(name, number)
            if loaded is None:
                continue
            mine = np.flatnonzero(parts == number)
            local = groups[mine] - self.groups.starts[number]
            count = loaded.many[local]
            found = loaded.order[expand(loaded.first[local], count)]
            if len(found):
                picks.append(Pick(loaded.table, found, np.repeat(positions[mine], count)))
        self._loaded[name] = {number: now[number] for number in sorted(now)[-1:]}
        return picks

    def load_ahead(self, groups: Numbers) -> None:
        """Load the parts that `rows` will need for some live keys; called in another thread."""
        for number in np.unique(self.groups.part_of(groups)).tolist():
            for name in SCHEMAS:
                if (name, number) not in self._ahead:
                    self._ahead[name, number] = self._load(name, number)

    def forget(self) -> None:
        """Free the loaded parts."""
        self._loaded.clear()
        self._ahead.clear()

    def parts_of(self, groups: Numbers) -> list[int]:
        """Return the numbers of the parts of some groups."""
        return [self.groups.parts[place].number for place in np.unique(self.groups.part_of(groups)).tolist()]

    def note_findings(self, picks: list[Pick]) -> None:
        """Count the findings of a create that are reused."""
        for pick in picks:
            places = pick.places[is_one_of(pick.table["request"], "create")[pick.places]]
            columns = [codes(pick.table[name]) for name in _FOUND]
            of, fresh = numbered([(of_row[places], texts) for of_row, texts in columns], self._found_numbers)
            self._found += [0] * len(fresh)
            created = np.bincount(of)
            for one in np.flatnonzero(created).tolist():
                self._found[one] += int(created[one])

    def _take(self, name: str, number: int) -> _Loaded | None:
        """Return a part that was loaded in advance, and remove it from the cache, or load it."""
        key = (name, number)
        return self._ahead.pop(key) if key in self._ahead else self._load(name, number)

    def _load(self, name: str, number: int) -> _Loaded | None:
        part, many = self.groups.parts[number], int(np.diff(self.groups.starts[number : number + 2])[0])
        wanted = [one for one in SCHEMAS[name].names if one not in self._placed] if name in SCHEMAS else None
        table = self.report.read(name, part.number, wanted, REPEATED.get(name, ()))
        if table is None:
            return None
        if name == "objects":
            return _Loaded(table, np.arange(table.num_rows), part.first, part.count)
        if name == "findings":
            of = part.owner
        else:
            with arrow.whole_parquet(self.report.path(name, part.number)):  # the column may be missing
                offsets = numbers(table["offset"])
            order = np.argsort(part.offset, kind="stable")
            table = table.drop_columns([one for one in self._placed if one in table.column_names])
            at = np.minimum(np.searchsorted(part.offset, offsets, sorter=order), many - 1)
            of = np.where(part.offset[order[at]] == offsets, order[at], -1)
        count = np.bincount(of[of >= 0], minlength=many)
        first = np.cumsum(count) - count + int((of < 0).sum())
        return _Loaded(table, np.argsort(of, kind="stable"), first, count)

    def count(self, plan: Plan, kept: list[Numbers], total: ShardResult) -> None:
        """Add the reused rows to the counts of audited ones, after all rows have been read.

        Args:
            plan: The plan of the run.
            kept: For each source the group of each live key; -1 if it is audited.
            total: The counts to add to.
        """
        for (group, kind, check, field, type_), many in zip(self._found_numbers, self._found, strict=True):
            if many:
                whose = (group or "", kind or "customresourcedefinitions")
                total.findings[(whose, check or "", plain_path(field or ""), type_ or "")] += many
        groups = self.groups
        for source, own in zip(plan.sources, kept, strict=True):
            times = np.bincount(own[own >= 0], minlength=len(groups))
            rows, heads = np.zeros((2, len(groups.classes)), dtype=np.int64)
            for start, stop, part in zip(groups.starts[:-1], groups.starts[1:], groups.parts, strict=True):
                rows += _summed(part.classes, np.repeat(times[start:stop], part.count), len(rows))
                heads += _summed(part.classes[part.first], times[start:stop], len(heads))
            # An export does not show the version at which an object is stored.
            self._count_objects(plan, rows.tolist(), heads.tolist(), total, is_export=source.is_export)

    def _count_objects(
        self, plan: Plan, rows: list[int], heads: list[int], total: ShardResult, *, is_export: bool
    ) -> None:
        names = {(entry.group, entry.plural): entry.name for entry in plan.entries}
        not_evaluated = self.report.not_evaluated
        for one, many, keys in zip(self.groups.classes, rows, heads, strict=True):
            if not many:
                continue
            kind, name = (one.group, one.kind or one.plural), names.get((one.group, one.plural))
            total.rows += many
            total.statuses[(kind, one.status)] += many
            for impact in {*one.impacts.split(","), one.impact} - {""}:
                total.impacts[(kind, impact)] += many
            if not is_export and keys and one.status in _JUDGED and name is not None and one.stored_version is not None:
                total.stored[(name, one.stored_version)] += keys
            key = (name or "", one.audited_version)
            if key in not_evaluated and one.status in _READ:
                total.unevaluated[key] += many


def _summed(classes: Numbers, times: Numbers, many: int) -> Numbers:
    """Return the number of occurrences of each class."""
    return np.bincount(classes, weights=times, minlength=many).astype(np.int64)
