"""Conditions over columns of the index, as values: the compiled form of `=`, labels and pushed-down predicates.

A condition returns the columns it compares, whether a row group can hold a match at all (by the least and greatest
value of a column), and one truth value a row. Unknown (null) does not match a comparison; for an absent text see
`absent`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from auditor.selectors.grammar import LabelRequirement


class Statistics(Protocol):
    """The statistics of one row group."""

    def bounds(self, column: str) -> tuple[Any, Any] | None:
        """Return the least and greatest value without nulls, or None if they are not known."""

    def has_nulls(self, column: str) -> bool | None:
        """Return whether any value is null, or None if that is not known."""


class Filter(Protocol):
    """A condition on rows."""

    def columns(self) -> set[str]:
        """Return the columns that it reads."""

    def may_match(self, statistics: Statistics) -> bool:
        """Whether a row group can hold a row that fits."""

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Return one truth value a row."""


def mask_of(condition: Filter, table: pa.Table) -> NDArray[np.bool_]:
    """Return which rows of a table fit a condition."""
    return condition.mask(table)


@dataclass(frozen=True, slots=True)
class ConstantFilter:
    """Every row, or none."""

    value: bool

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return set()

    def may_match(self, statistics: Statistics) -> bool:
        """Whether a row group can hold a row that fits."""
        del statistics
        return self.value

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Return one truth value a row."""
        return np.full(table.num_rows, self.value)


@dataclass(frozen=True, slots=True)
class And:
    """All of the terms; without any: every row."""

    terms: tuple[Filter, ...]

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {name for term in self.terms for name in term.columns()}

    def may_match(self, statistics: Statistics) -> bool:
        """Whether a row group can hold a row that fits."""
        return all(term.may_match(statistics) for term in self.terms)

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Return one truth value a row."""
        out = np.ones(table.num_rows, dtype=np.bool_)
        for term in self.terms:
            out &= term.mask(table)
        return out


_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARROW: Final = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True, slots=True)
class Term:
    """A column compared with a constant.

    Attributes:
        operator: ``== != < <= > >=``, ``in`` (the value is a tuple), ``present``, or a name of `TESTS`.
        absent: The text that replaces a null; if None, a null matches no comparison, not even ``!=``.
    """

    column: str
    operator: str
    value: Any = None
    absent: Any = None

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {self.column}

    def may_match(self, statistics: Statistics) -> bool:
        """Whether a row group can hold a row that fits."""
        if self.operator not in ("==", "<", "<=", ">", ">=", "in"):
            return True
        values = self.value if self.operator == "in" else (self.value,)
        if self.absent is not None and any(_holds(self.operator, self.absent, value) for value in values):
            return True
        bounds = statistics.bounds(self.column)
        if bounds is None or any(type(value) is not type(bounds[0]) for value in values):
            return True
        least, greatest = bounds
        if self.operator in ("==", "in"):
            return any(_key(least) <= _key(value) <= _key(greatest) for value in values)
        if self.operator in ("<", "<="):
            return bool(_COMPARE[self.operator](_key(least), _key(self.value)))
        return bool(_COMPARE[self.operator](_key(greatest), _key(self.value)))

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Return one truth value a row."""
        column = table[self.column]
        masks = [self._chunk(chunk) for chunk in column.chunks]
        return np.concatenate(masks) if masks else np.zeros(0, dtype=np.bool_)

    def _chunk(self, chunk: Any) -> NDArray[np.bool_]:
        if not pa.types.is_dictionary(chunk.type):
            return self._values(chunk)
        # one comparison a distinct value, then one look-up a row; the last entry is that of null
        known = self._values(chunk.dictionary)
        absent = self.absent is not None and _holds(self.operator, self.absent, self.value)
        table = np.append(known, absent)
        places = chunk.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        out: NDArray[np.bool_] = table[places]
        return out

    def of_array(self, values: Any) -> NDArray[np.bool_]:
        """Return one truth value for each value of an array."""
        return self._chunk(values)

    def _values(self, values: Any) -> NDArray[np.bool_]:
        if self.operator == "present":
            return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
        if self.absent is not None:
            values = values.fill_null(self.absent)
        if self.operator == "in":
            mask = pc.is_in(values, value_set=pa.array(self.value, values.type)) if self.value else None
            if mask is None:
                return np.zeros(len(values), dtype=np.bool_)
            mask = pc.and_(mask, values.is_valid())
        elif self.operator in _ARROW:
            mask = _ARROW[self.operator](values, pa.scalar(self.value, values.type))
        else:
            mask = TESTS[self.operator](values, self.value)
        return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _matches(values: Any, pattern: str) -> Any:
    from auditor.golang.regex.compiled import compile_pattern  # noqa: PLC0415 - rare

    compiled = compile_pattern(pattern)
    return pa.array([None if value is None else compiled.search(value) for value in values.to_pylist()], pa.bool_())


def _size(values: Any, wanted: tuple[str, int]) -> Any:
    return _ARROW[wanted[0]](pc.utf8_length(values), pa.scalar(wanted[1], pa.int32()))


TESTS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "startsWith": pc.starts_with,
    "endsWith": pc.ends_with,
    "contains": pc.match_substring,
    "matches": _matches,
    "size": _size,
}
"""Tests on text: (values, argument) to truth values."""


def _key(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if type(value) is str else value


def _holds(comparison: str, left: Any, right: Any) -> bool:
    """Apply one comparison to one value."""
    if comparison == "in":
        return left in right
    if comparison in _COMPARE:
        return bool(_COMPARE[comparison](_key(left), _key(right)))
    if comparison == "present":
        return False
    answer = TESTS[comparison](pa.array([left]), right)
    return bool(answer[0].as_py())


@dataclass(frozen=True, slots=True)
class LabelTerm:
    """A requirement of a label selector."""

    requirement: LabelRequirement

    def columns(self) -> set[str]:
        """Return the columns that it reads."""
        return {"labels"}

    def may_match(self, statistics: Statistics) -> bool:
        """Whether a row group can hold a row that fits."""
        del statistics
        return True

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Return one truth value a row."""
        masks = [self._chunk(chunk) for chunk in table["labels"].chunks]
        return np.concatenate(masks) if masks else np.zeros(0, dtype=np.bool_)

    def _chunk(self, chunk: Any) -> NDArray[np.bool_]:
        requirement = self.requirement
        rows, values = label_values(chunk, requirement.key)
        if requirement.operator in ("!=", "notin", "!"):
            out = np.ones(len(chunk), dtype=np.bool_)
            out[rows] = False
        else:
            out = np.zeros(len(chunk), dtype=np.bool_)
        if requirement.operator == "!":
            return out
        if requirement.operator == "exists":
            out[rows] = True
            return out
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        fits = np.array(
            [requirement.matches({requirement.key: label}) for label in encoded.dictionary.to_pylist()], dtype=np.bool_
        )
        if len(fits):
            out[rows] = fits[encoded.indices.to_numpy(zero_copy_only=False)]
        return out


def label_values(labels: Any, key: str) -> tuple[NDArray[np.int64], Any]:
    """Return the rows of a chunk of label maps that have a key, and its value in each."""
    offsets = np.asarray(labels.offsets.to_numpy(zero_copy_only=False), dtype=np.int64)
    start, stop = int(offsets[0]), int(offsets[-1])
    keys = labels.keys.slice(start, stop - start)
    hits = np.flatnonzero(Term("", "==", key).of_array(keys)) + start
    rows = np.searchsorted(offsets, hits, side="right") - 1
    return rows, labels.items.take(pa.array(hits))
