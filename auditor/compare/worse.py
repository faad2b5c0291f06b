"""The change of each object since an earlier report: new, worse, better or the same, by the worst thing about it.

Objects that break LIST have no findings, so they are compared by what their rows say. A row that was not judged cannot
be compared: its change is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.base.arrow import in_one_piece
from auditor.base.statuses import Impact, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Numbers = np.ndarray[Any, Any]

_INVALID, _DATA_LOSS, _BLOCKED, _UNSERVED, _UNREADABLE, _BREAKS, _CRASHES, _UNKNOWN = (1 << bit for bit in range(8))
LEVELS: Final = ("unreadable", "blocked", "data-loss")
"""Levels of --fail-on that rows of objects/ reach, worst first."""
_STATUSES: Final = {
    Status.VALID: 0, Status.BUILTIN: 0, Status.DEFINITION: 0, Status.OTHER: 0, Status.INVALID: _INVALID,
    Status.ORPHANED: _UNSERVED, Status.UNSERVED: _UNSERVED, Status.UNREADABLE: _UNREADABLE,
    Status.NEEDS_CONVERSION: _UNREADABLE,
}  # fmt: skip
_IMPACTS: Final = {
    Impact.CRASHES_SERVER: _CRASHES,
    Impact.BREAKS_LIST: _BREAKS,
    Impact.BREAKS_WATCH: _BREAKS,
    **{impact: _BLOCKED for impact in Impact if impact.blocks},
    Impact.LOSES_DATA: _DATA_LOSS,
    Impact.IS_DELETED: _DATA_LOSS,
}


class Objects:
    """Rows of objects/ of a report, and how bad each object is.

    Args:
        rows: The rows.
        whose: A text for each that is the same for all rows of an object.
        names: Return what the objects of some rows are called, null where that is not known: one for each way to call
            them, and all but the first name contain the column `name`.
    """

    def __init__(self, rows: pa.Table, whose: Any, names: Sequence[Callable[[pa.Table], Any]]) -> None:
        self.rows = rows
        self.names = names
        codes = pc.dictionary_encode(in_one_piece(whose))
        self.object = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        bits = np.zeros(len(codes.dictionary), dtype=np.int64)
        np.bitwise_or.at(bits, self.object, _bits(rows))
        self.bits = bits[self.object]


def _bits(rows: pa.Table) -> Numbers:
    known = pa.array(list(_STATUSES))
    codes = np.asarray(pc.fill_null(pc.index_in(in_one_piece(rows["status"]), value_set=known), len(known)))
    out: Numbers = np.array([*_STATUSES.values(), _UNKNOWN], dtype=np.int64)[codes]
    impacts = pc.fill_null(pc.binary_join(in_one_piece(rows["impacts"]), ","), "")
    sets = in_one_piece(pc.dictionary_encode(impacts))
    bits = [sum({_IMPACTS.get(name, 0) for name in text.split(",")}) for text in sets.dictionary.to_pylist()]
    out |= np.array([*bits, 0], dtype=np.int64)[sets.indices.to_numpy(zero_copy_only=False)]
    return out


class WorseObjects:
    """How objects changed from an old report to a new one.

    Attributes:
        change: For each row of the new report: new, worse, better, same; None if nothing is known.
        is_fresh: The same, whether it is new or worse.
        counts: Number of objects that reach a level of `LEVELS` which they did not reach, each once by its worst.
        relieved: Number of objects that reached a level and do not reach it any more, each once by its worst.
        reached: The levels that these objects reach, and those that no report has read before.

    Args:
        old: The old report.
        new: The new one.
        unknown: For each row of the new report, whether the old one has nothing of its cluster.
        unread: The same, whether the old one lacks part of its cluster.
        older: The same, whether its dump is older than what the old one has.
    """

    def __init__(self, old: Objects, new: Objects, *, unknown: Numbers, unread: Numbers, older: Numbers) -> None:
        self.new = new
        was = _bits_before(old, new)
        self.change = _changes(was, new.bits)
        is_first = unknown | (unread & (was < 0)) | ((was >= 0) & (was & _UNKNOWN > 0))
        self.change[is_first | older] = None
        self.is_fresh = (self.change == "new") | (self.change == "worse")
        self._level = _levels(was, new.bits, self.is_fresh)
        of_first = _levels(np.full(len(was), -1), new.bits, is_first & ~older)
        self.reached = {*self._level.tolist(), *of_first.tolist()} - {""}
        self._relief = _levels(new.bits, np.maximum(was, 0), self.change == "better")
        first = np.zeros(len(new.bits), dtype=bool)
        first[np.unique(new.object, return_index=True)[1]] = True
        self._first = first
        self.counts = {level: int((first & (self._level == level)).sum()) for level in LEVELS}
        self.relieved = {level: int((first & (self._relief == level)).sum()) for level in LEVELS}

    def worse(self) -> pa.Table:
        """Return a row for each object that is newly so bad, worst first, with its level in `level`."""
        return pa.concat_tables([self._rows(self._level == level, level) for level in LEVELS])

    def better(self) -> pa.Table:
        """Return a row for each object that was so bad and is not any more, with its level of before."""
        return pa.concat_tables([self._rows(self._relief == level, level) for level in LEVELS])

    def _rows(self, mask: Numbers, level: str) -> pa.Table:
        rows = self.new.rows.filter(pa.array(mask & self._first))
        changes = pa.array(self.change[mask & self._first].tolist(), pa.string())
        rows = rows.append_column("change", changes)
        return rows.append_column("level", pa.array([level] * rows.num_rows, pa.string()))


def _bits_before(old: Objects, new: Objects) -> Numbers:
    """Return for each row of the new report how bad its object was, by the first way in which it is found; else -1."""
    was = np.full(len(new.bits), -1)
    for way, (before, now) in enumerate(zip(old.names, new.names, strict=True)):
        asked = np.flatnonzero(was < 0)
        if not len(asked) or not len(old.bits):
            break
        wanted = new.rows if len(asked) == len(was) else new.rows.take(pa.array(asked))
        among = np.arange(len(old.bits))
        if way:  # few are left, and what they are called contains the name
            called = pc.is_in(in_one_piece(old.rows["name"]), value_set=in_one_piece(wanted["name"]), skip_nulls=True)
            among = np.flatnonzero(called)
        known = old.rows if len(among) == len(old.bits) else old.rows.take(pa.array(among))
        names = in_one_piece(now(wanted))
        rows = np.asarray(pc.fill_null(pc.index_in(names, value_set=in_one_piece(before(known)), skip_nulls=True), -1))
        rows = np.where(np.asarray(pc.is_null(names)), -1, rows)
        was[asked[rows >= 0]] = old.bits[among[rows[rows >= 0]]]
    return was


def _changes(was: Numbers, now: Numbers) -> Numbers:
    """Return the change of each object, given how bad it was (-1: not there) and is."""
    before = np.where(was & _UNKNOWN, 0, np.maximum(was, 0))
    worse = (_top(now) > _top(before)) | ((_top(now) == _top(before)) & ((now & ~before) > 0))
    out = np.where(worse, "worse", np.where(now == before, "same", "better")).astype(object)
    out[now & _UNKNOWN > 0] = None
    out[was < 0] = "new"
    return out


def _top(bits: Numbers) -> Numbers:
    """Return the highest bit of each number, as a number that grows with it; -1 for 0."""
    return np.where(bits > 0, np.log2(np.maximum(bits, 1)).astype(np.int64), -1)


def _levels(was: Numbers, now: Numbers, concerned: Numbers) -> Numbers:
    """Return the worst level that each object reaches now and did not before; empty if there is none."""
    before = np.where(was < 0, 0, was & ~_UNKNOWN)
    fresh = np.where(concerned, now & ~before & ~_UNKNOWN, 0)
    out = np.full(len(fresh), "", dtype=object)
    unreadable = _UNREADABLE | _BREAKS | _CRASHES  # as in `exit_code`: what breaks lists cannot be read by LIST
    bits_of = (("data-loss", _DATA_LOSS), ("blocked", _BLOCKED), ("unreadable", unreadable))
    for level, bits in bits_of:
        out[fresh & bits > 0] = level
    return out
