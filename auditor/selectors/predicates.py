"""The parts of a CEL predicate over the columns of the index, with the possible results of each for a row.

For each row a part may be true, false or an error; the index may leave several of these possible. ``&&`` and ``||``
combine the possible results as in CEL, where ``error && false`` is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.selectors.filters import Term, label_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from auditor.selectors.filters import Statistics


@dataclass(slots=True)
class Known:
    """The possible results of each row: true, false, error; at least one of them."""

    true: NDArray[np.bool_]
    false: NDArray[np.bool_]
    error: NDArray[np.bool_]

    @property
    def is_one(self) -> NDArray[np.bool_]:
        """Rows that have only one possible result."""
        results: NDArray[np.bool_] = np.add(np.add(self.true, self.false, dtype=np.int8), self.error) == 1
        return results


def _decided(true: NDArray[np.bool_], false: NDArray[np.bool_], unknown: NDArray[np.bool_] | None = None) -> Known:
    """Return the rows that are true, false and unknown; the others are errors."""
    error = ~(true | false)
    if unknown is None:
        return Known(true, false, error)
    return Known(true | unknown, false | unknown, error | unknown)


class Predicate(Protocol):
    """A part of a predicate, over columns."""

    def columns(self) -> set[str]:
        """Return the columns that it reads."""

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return which of T, F and E (error) a row of a row group can be."""

    def is_decided(self) -> bool:
        """Whether every row is decided by the index whatever its values are."""


_ALL: Final = frozenset("TFE")


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part about which the index knows nothing."""

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return set()

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        every = np.ones(table.num_rows, dtype=np.bool_)
        return Known(every, every, every)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        del statistics
        return _ALL

    def is_decided(self) -> bool:
        """Whether every row is decided."""
        return False


@dataclass(frozen=True, slots=True)
class ConstantPredicate:
    """A predicate that is the same for every row."""

    value: bool

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return set()

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        every = np.full(table.num_rows, self.value)
        return _decided(every, ~every)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        del statistics
        return frozenset("T" if self.value else "F")

    def is_decided(self) -> bool:
        """Return whether every row is decided by the index."""
        return True


@dataclass(frozen=True, slots=True)
class Not:
    """``!part``."""

    part: Predicate

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return self.part.columns()

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        is_known = self.part.known(table)
        return Known(is_known.false, is_known.true, is_known.error)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        return frozenset({"T": "F", "F": "T"}.get(outcome, outcome) for outcome in self.part.possible(statistics))

    def is_decided(self) -> bool:
        """Return whether every row is decided by the index."""
        return self.part.is_decided()


@dataclass(frozen=True, slots=True)
class Both:
    """``left && right``; with `either` ``left || right``, which is the same with true and false exchanged."""

    left: Predicate
    right: Predicate
    either: bool = False

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return self.left.columns() | self.right.columns()

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        left, right = self.left.known(table), self.right.known(table)
        if self.either:
            error = (left.error & (right.false | right.error)) | (right.error & (left.false | left.error))
            return Known(left.true | right.true, left.false & right.false, error)
        error = (left.error & (right.true | right.error)) | (right.error & (left.true | left.error))
        return Known(left.true & right.true, left.false | right.false, error)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        decisive, neutral = ("T", "F") if self.either else ("F", "T")
        out = set()
        for left in self.left.possible(statistics):
            for right in self.right.possible(statistics):
                pair = {left, right}
                if decisive in pair:
                    out.add(decisive)
                else:
                    out.add("E" if "E" in pair else neutral)
        return frozenset(out)

    def is_decided(self) -> bool:
        """Return whether every row is decided by the index."""
        return self.left.is_decided() and self.right.is_decided()


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """A column that holds the value of a path.

    Attributes:
        text: Column with the text of selectors, which distinguishes a value of another type from none; empty if absent.
        is_unclear: Whether there may be a value that the columns cannot distinguish from none.
    """

    column: str
    kind: str
    text: str = ""
    is_unclear: bool = False

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {self.column, self.text} if self.text else {self.column}

    def absent(self, table: pa.Table) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the rows without a value in the column, and those among them that may have one."""
        if table[self.column].null_count == 0:  # then the text may not even have been read
            none = np.zeros(table.num_rows, dtype=np.bool_)
            return none, none
        missing = _flags(pc.is_null(table[self.column]))
        if not self.text:
            return missing, np.zeros(len(missing), dtype=np.bool_)
        if self.is_unclear:
            return missing, missing
        other = ~Term(self.text, "==", "", absent="").mask(table)
        return missing, missing & other


@dataclass(frozen=True, slots=True)
class LabelValue:
    """The value of a label."""

    key: str
    kind: str = "string"


Value = ColumnValue | LabelValue


def _flags(values: Any) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A test on one value: a comparison with a constant, ``in``, a test on text, or the value itself."""

    value: Value
    operator: str
    constant: Any = None

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {"labels"} if isinstance(self.value, LabelValue) else self.value.columns()

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        if isinstance(self.value, LabelValue):
            return self._of_label(table, self.value)
        missing, unknown = self.value.absent(table)
        term = Term(self.value.column, self.operator, self.constant)
        true = term.mask(table) & ~missing
        return _decided(true, ~true & ~missing, unknown)

    def _of_label(self, table: pa.Table, label: LabelValue) -> Known:
        trues, falses = [], []
        for chunk in table["labels"].chunks:
            rows, values = label_values(chunk, label.key)
            encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
            answers = Term("", self.operator, self.constant).of_array(encoded)
            true, false = np.zeros(len(chunk), dtype=np.bool_), np.zeros(len(chunk), dtype=np.bool_)
            true[rows[answers]] = True
            false[rows[~answers]] = True
            trues.append(true)
            falses.append(false)
        none = np.zeros(0, dtype=np.bool_)
        return _decided(np.concatenate([none, *trues]), np.concatenate([none, *falses]))

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        if isinstance(self.value, LabelValue):
            return frozenset("TFE")
        full = statistics.has_nulls(self.value.column) is False
        outcomes = _ALL - {"E"} if full else _ALL
        if full or not self.value.text:  # otherwise a value that the column lacks may be of another type, or null
            return (
                outcomes
                if Term(self.value.column, self.operator, self.constant).may_match(statistics)
                else outcomes - {"T"}
            )
        return outcomes

    def is_decided(self) -> bool:
        """Return whether every row is decided by the index."""
        return isinstance(self.value, LabelValue) or not (self.value.text and self.value.is_unclear)


@dataclass(frozen=True, slots=True)
class Different:
    """A comparison for equality with a constant of another type: false (or true) wherever there is a value."""

    value: Value
    result: bool

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {"labels"} if isinstance(self.value, LabelValue) else self.value.columns()

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        there = ValueTest(self.value, "present").known(table)  # true, an error, or unknown
        return there if self.result else Known(there.false, there.true, there.error)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        if (
            isinstance(self.value, ColumnValue)
            and self.value.text
            and statistics.has_nulls(self.value.column) is not False
        ):
            return _ALL  # a value that the column lacks may be of the constant's type
        return _ALL - {"F" if self.result else "T"}

    def is_decided(self) -> bool:
        """Return whether every row is decided by the index."""
        return ValueTest(self.value, "present").is_decided()


@dataclass(frozen=True, slots=True)
class Has:
    """``has(value)``, or a key among the labels, which is an error where there are no labels at all.

    Attributes:
        beside: Columns of fields with the same parent, which exists where one of them has a value; else ``has`` may
            be an error. None if the parent always exists.
    """

    value: Value
    beside: tuple[str, ...] | None = None

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {"labels"} if isinstance(self.value, LabelValue) else self.value.columns() | set(self.beside or ())

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        if isinstance(self.value, LabelValue):
            there = ValueTest(self.value, "present").known(table)
            return _decided(there.true, ~there.true & _has_labels(table))  # without labels there is no map: an error
        missing, unknown = self.value.absent(table)
        error = missing & (self.beside is not None)
        for column in self.beside or ():
            error = error & _flags(pc.is_null(table[column]))
        return Known(~missing | unknown, missing, error)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        del statistics
        return _ALL

    def is_decided(self) -> bool:
        """Return whether every row is decided by the index."""
        return isinstance(self.value, LabelValue)


def _has_labels(table: pa.Table) -> NDArray[np.bool_]:
    has_labels = [np.diff(np.asarray(chunk.offsets)) > 0 for chunk in table["labels"].chunks]
    return np.concatenate(has_labels) if has_labels else np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Flag:
    """A column that is true or false in every row: whether there is a deletionTimestamp, whether there are labels."""

    column: str

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {self.column}

    def known(self, table: pa.Table) -> Known:
        """Return what the index says of each row."""
        if self.column == "labels":
            true = _has_labels(table)
        else:
            true = np.asarray(pc.fill_null(table[self.column], False).to_numpy(), dtype=np.bool_)
        return _decided(true, ~true)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        """Return what a row of a row group can be."""
        del statistics
        return frozenset("TF")

    def is_decided(self) -> bool:
        """Return whether every row is decided by the index."""
        return True
