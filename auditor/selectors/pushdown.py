"""A CEL predicate over the columns of the index: what they can say of a row, and what only the object can.

Every part of a predicate can be, for every row, true, false or an error, or, as far as the index tells, more than one
of these. Logic joins what can be as CEL joins what is: errors give way (``error && false`` is false). Rows that can
only be true are selected without a look at the object, those that can be true are read, the others left out. So the
answer is exactly that of the interpreter on every object.

What is known: metadata.name, namespace, uid, labels, whether there is a deletionTimestamp, and the selectable fields
with their types. A field that is absent is an error wherever its value is used. For null, which is a value, and for an
empty text in place of a number the index holds the same as for an absent field; whether a field may hold these the
caller knows, and then every object without a value in the index is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.cel.syntax.ast import Call, Expr, Ident, ListLiteral, Literal, Select
from auditor.cel.values import UInt
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.selectors.filters import Term, label_values

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from auditor.selectors.filters import Statistics

__all__ = ["Known", "Predicate", "Unknown", "push_down"]

_SIMPLE_PATH: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_ORDER: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_FLIPPED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARE: Final = {"_==_": "==", "_!=_": "!=", **_ORDER}
_TEXT_TESTS: Final = ("startsWith", "endsWith", "contains", "matches")
_COLUMNS: Final = {"metadata.name": "name", "metadata.namespace": "namespace", "metadata.uid": "uid"}


@dataclass(slots=True)
class Known:
    """What each row can be: true, false, an error; at least one of them."""

    true: NDArray[np.bool_]
    false: NDArray[np.bool_]
    error: NDArray[np.bool_]

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Rows that can be true and something else."""
        return self.true & (self.false | self.error)


def _decided(true: NDArray[np.bool_], false: NDArray[np.bool_], unknown: NDArray[np.bool_] | None = None) -> Known:
    """Return the rows that are true, false and not known; the others are errors."""
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
    """What the index knows nothing of."""

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
class _Constant:
    value: bool

    def columns(self) -> set[str]:
        return set()

    def known(self, table: pa.Table) -> Known:
        every = np.full(table.num_rows, self.value)
        return _decided(every, ~every)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        del statistics
        return frozenset("T" if self.value else "F")

    def is_decided(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class _Not:
    part: Predicate

    def columns(self) -> set[str]:
        return self.part.columns()

    def known(self, table: pa.Table) -> Known:
        found = self.part.known(table)
        return Known(found.false, found.true, found.error)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        return frozenset({"T": "F", "F": "T"}.get(one, one) for one in self.part.possible(statistics))

    def is_decided(self) -> bool:
        return self.part.is_decided()


@dataclass(frozen=True, slots=True)
class _Both:
    """``left && right``; with `either` ``left || right``, which is the same with true and false exchanged."""

    left: Predicate
    right: Predicate
    either: bool = False

    def columns(self) -> set[str]:
        return self.left.columns() | self.right.columns()

    def known(self, table: pa.Table) -> Known:
        left, right = self.left.known(table), self.right.known(table)
        if self.either:
            error = (left.error & (right.false | right.error)) | (right.error & (left.false | left.error))
            return Known(left.true | right.true, left.false & right.false, error)
        error = (left.error & (right.true | right.error)) | (right.error & (left.true | left.error))
        return Known(left.true & right.true, left.false | right.false, error)

    def possible(self, statistics: Statistics) -> frozenset[str]:
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
        return self.left.is_decided() and self.right.is_decided()


# -- values ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Field:
    """A column that holds the value of a path.

    Attributes:
        text: Column with what selectors see, which tells a value of another type from none; empty: there is no such.
        is_unclear: Whether there may be a value that the columns cannot tell from none.
    """

    column: str
    kind: str
    text: str = ""
    is_unclear: bool = False

    def columns(self) -> set[str]:
        return {self.column, self.text} if self.text else {self.column}

    def absent(self, table: pa.Table) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the rows without a value in the column, and those among them that are not known."""
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
class _Label:
    """The value of a label."""

    key: str
    kind: str = "string"


_Value = _Field | _Label


def _flags(values: Any) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class _Test:
    """A test on one value: a comparison with a constant, ``in``, a test on text, or the value itself."""

    value: _Value
    operator: str
    constant: Any = None

    def columns(self) -> set[str]:
        return {"labels"} if isinstance(self.value, _Label) else self.value.columns()

    def known(self, table: pa.Table) -> Known:
        if isinstance(self.value, _Label):
            return self._of_label(table, self.value)
        missing, unknown = self.value.absent(table)
        term = Term(self.value.column, self.operator, self.constant)
        true = term.mask(table) & ~missing
        return _decided(true, ~true & ~missing, unknown)

    def _of_label(self, table: pa.Table, label: _Label) -> Known:
        trues, falses = [], []
        for chunk in table["labels"].chunks:
            rows, values = label_values(chunk, label.key)
            encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
            found = Term("", self.operator, self.constant).of_array(encoded)
            true, false = np.zeros(len(chunk), dtype=np.bool_), np.zeros(len(chunk), dtype=np.bool_)
            true[rows[found]] = True
            false[rows[~found]] = True
            trues.append(true)
            falses.append(false)
        none = np.zeros(0, dtype=np.bool_)
        return _decided(np.concatenate([none, *trues]), np.concatenate([none, *falses]))

    def possible(self, statistics: Statistics) -> frozenset[str]:
        if isinstance(self.value, _Label):
            return frozenset("TFE")
        full = statistics.has_nulls(self.value.column) is False
        found = _ALL - {"E"} if full else _ALL
        if full or not self.value.text:  # else what the column does not hold can be of another type, or null
            return (
                found if Term(self.value.column, self.operator, self.constant).may_match(statistics) else found - {"T"}
            )
        return found

    def is_decided(self) -> bool:
        return isinstance(self.value, _Label) or not (self.value.text and self.value.is_unclear)


@dataclass(frozen=True, slots=True)
class _Different:
    """A comparison for equality with a constant of another type: false (or true) wherever there is a value."""

    value: _Value
    result: bool

    def columns(self) -> set[str]:
        return {"labels"} if isinstance(self.value, _Label) else self.value.columns()

    def known(self, table: pa.Table) -> Known:
        there = _Test(self.value, "present").known(table)  # true, an error, or unknown
        return there if self.result else Known(there.false, there.true, there.error)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        if isinstance(self.value, _Field) and self.value.text and statistics.has_nulls(self.value.column) is not False:
            return _ALL  # what the column does not hold can be of the constant's type
        return _ALL - {"F" if self.result else "T"}

    def is_decided(self) -> bool:
        return _Test(self.value, "present").is_decided()


@dataclass(frozen=True, slots=True)
class _Has:
    """``has(value)``, or a key among the labels, which is an error where there are no labels at all."""

    value: _Value

    def columns(self) -> set[str]:
        return {"labels"} if isinstance(self.value, _Label) else self.value.columns()

    def known(self, table: pa.Table) -> Known:
        if isinstance(self.value, _Label):
            there = _Test(self.value, "present").known(table)
            return _decided(there.true, ~there.true & _has_labels(table))  # without labels there is no map: an error
        missing, unknown = self.value.absent(table)
        return Known(~missing | unknown, missing, missing)  # absent, or what it should be in is absent

    def possible(self, statistics: Statistics) -> frozenset[str]:
        del statistics
        return _ALL

    def is_decided(self) -> bool:
        return isinstance(self.value, _Label)


def _has_labels(table: pa.Table) -> NDArray[np.bool_]:
    found = [np.diff(np.asarray(chunk.offsets)) > 0 for chunk in table["labels"].chunks]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class _Flag:
    """A column that is true or false in every row: whether there is a deletionTimestamp, whether there are labels."""

    column: str

    def columns(self) -> set[str]:
        return {self.column}

    def known(self, table: pa.Table) -> Known:
        if self.column == "labels":
            true = _has_labels(table)
        else:
            true = np.asarray(pc.fill_null(table[self.column], False).to_numpy(), dtype=np.bool_)
        return _decided(true, ~true)

    def possible(self, statistics: Statistics) -> frozenset[str]:
        del statistics
        return frozenset("TF")

    def is_decided(self) -> bool:
        return True


# -- from the tree -----------------------------------------------------------------------------------------------------


def push_down(expr: Expr, schema: pa.Schema, *, unclear: Collection[str] | None = None) -> Predicate:
    """Return what the index can say of a predicate.

    Args:
        expr: The tree of a checked predicate.
        schema: The columns of the partition.
        unclear: Selectable fields that may hold what the columns cannot tell from nothing: null, or an empty text in
            place of a number; None: any may.
    """
    return _Pusher(schema, unclear).predicate(expr)


class _Pusher:
    def __init__(self, schema: pa.Schema, unclear: Collection[str] | None) -> None:
        self.names = set(schema.names)
        self.unclear = unclear
        self.kinds = {
            name.removeprefix("value:"): {"bool": "bool", "int64": "int"}.get(str(schema.field(name).type), "string")
            for name in schema.names
            if name.startswith("value:") and _SIMPLE_PATH.fullmatch(name.removeprefix("value:"))
        }

    def predicate(self, expr: Expr) -> Predicate:
        if isinstance(expr, Literal) and type(expr.value) is bool:
            return _Constant(expr.value)
        if isinstance(expr, Select) and expr.test_only:
            return self.has(expr)
        if isinstance(expr, Call):
            return self.call(expr)
        value = self.value(expr)
        if value is not None and value.kind == "bool":
            return _Test(value, "==", True)
        return Unknown()

    def call(self, expr: Call) -> Predicate:
        name, args = expr.function, expr.args
        if name in ("_&&_", "_||_"):
            return _Both(self.predicate(args[0]), self.predicate(args[1]), either=name == "_||_")
        if name == "!_":
            return _Not(self.predicate(args[0]))
        if name in _COMPARE:
            return self.comparison(_COMPARE[name], args[0], args[1])
        if name == "@in":
            return self.membership(args[0], args[1])
        if name == "intersects" and isinstance(expr.target, Ident) and expr.target.name == "sets":
            return self.intersection(args[0], args[1])
        if name == "matches" and expr.target is None:
            return self.text_test(name, args[0], args[1])
        if name in _TEXT_TESTS and expr.target is not None and len(args) == 1:
            return self.text_test(name, expr.target, args[0])
        return Unknown()

    def comparison(self, operator: str, left: Expr, right: Expr) -> Predicate:
        if isinstance(left, Literal):
            left, right, operator = right, left, _FLIPPED[operator]
        if not isinstance(right, Literal):
            return Unknown()
        constant = right.value
        size = self.sized(left)
        if size is not None:
            return _Test(size, "size", (operator, constant)) if _kind(constant) == "int" else Unknown()
        value = self.value(left)
        if value is None:
            return Unknown()
        if _kind(constant) == value.kind:
            if value.kind == "bool" and operator not in ("==", "!="):
                return Unknown()
            return _Test(value, operator, constant)
        if operator in ("==", "!=") and _kind(constant) in ("string", "int", "bool"):
            return _Different(value, operator == "!=")
        return Unknown()

    def sized(self, expr: Expr) -> _Value | None:
        """Return the text whose size an expression is."""
        if not isinstance(expr, Call) or expr.function != "size":
            return None
        operands = expr.operands
        value = self.value(operands[0]) if len(operands) == 1 else None
        return value if value is not None and value.kind == "string" else None

    def membership(self, item: Expr, container: Expr) -> Predicate:
        if isinstance(item, Literal) and type(item.value) is str and _path(container) == "metadata.labels":
            return _Has(_Label(item.value)) if "labels" in self.names else Unknown()
        if not isinstance(container, ListLiteral) or container.optional:
            return Unknown()
        if not container.elements:
            return _Constant(False)  # the server does not even look at the item
        value = self.value(item)
        if value is None:
            return Unknown()
        constants = [one.value for one in container.elements if isinstance(one, Literal)]
        if len(constants) != len(container.elements) or any(_kind(one) == "" for one in constants):
            return Unknown()
        return _Test(value, "in", tuple(one for one in constants if _kind(one) == value.kind))

    def intersection(self, left: Expr, right: Expr) -> Predicate:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ListLiteral) and len(one.elements) == 1 and not one.optional and _has_items(other):
                found = self.membership(one.elements[0], other)
                if not isinstance(found, Unknown):
                    return found
        return Unknown()

    def text_test(self, name: str, target: Expr, argument: Expr) -> Predicate:
        value = self.value(target)
        if value is None or value.kind != "string":
            return Unknown()
        if not isinstance(argument, Literal) or type(argument.value) is not str:
            return Unknown()
        if name == "matches":
            try:
                compile_pattern(argument.value)
            except GoRegexError:
                return Unknown()
        return _Test(value, name, argument.value)

    def has(self, expr: Select) -> Predicate:
        path = _path(Select(expr.id, expr.operand, expr.field))
        if path == "metadata.deletionTimestamp" and "deleting" in self.names:
            return _Flag("deleting")
        if path == "metadata.labels" and "labels" in self.names:
            return _Flag("labels")
        if _path(expr.operand) == "metadata.labels" and "labels" in self.names:
            return _Has(_Label(expr.field))
        value = self.value(Select(expr.id, expr.operand, expr.field))
        return Unknown() if value is None else _Has(value)

    def value(self, expr: Expr) -> _Value | None:
        """Return the column behind an expression, None where there is none."""
        path = _path(expr)
        if path is None:
            label = _label_key(expr)
            return _Label(label) if label is not None and "labels" in self.names else None
        if path in _COLUMNS and _COLUMNS[path] in self.names:
            return _Field(_COLUMNS[path], "string")
        label = _label_key(expr)
        if label is not None and "labels" in self.names:
            return _Label(label)
        if path in self.kinds and f"field:{path}" in self.names:
            is_unclear = self.unclear is None or path in self.unclear
            return _Field(f"value:{path}", self.kinds[path], f"field:{path}", is_unclear)
        return None


def _has_items(expr: Expr) -> bool:
    return isinstance(expr, ListLiteral) and bool(expr.elements)


def _kind(constant: Any) -> str:
    """Return the kind of a constant that columns can be compared with; empty for others."""
    if type(constant) is UInt:
        return ""
    return {str: "string", int: "int", bool: "bool"}.get(type(constant), "")


def _steps(expr: Expr) -> list[str] | None:
    """Return the steps of a chain of fields from a variable at the top; ``self`` is left out."""
    if isinstance(expr, Ident):
        return [] if expr.name == "self" else [expr.name]
    if isinstance(expr, Select) and not expr.test_only:
        inner, step = expr.operand, expr.field
    elif isinstance(expr, Call) and expr.function == "_[_]" and isinstance(expr.args[1], Literal):
        inner, step = expr.args[0], expr.args[1].value
    else:
        return None
    before = _steps(inner)
    return None if before is None or type(step) is not str else [*before, step]


def _path(expr: Expr) -> str | None:
    """Return a chain of fields as a dotted path; None where it is none, or a name in it has dots."""
    steps = _steps(expr)
    return None if not steps or any("." in step for step in steps) else ".".join(steps)


def _label_key(expr: Expr) -> str | None:
    steps = _steps(expr)
    return steps[2] if steps is not None and len(steps) == 3 and steps[:2] == ["metadata", "labels"] else None
