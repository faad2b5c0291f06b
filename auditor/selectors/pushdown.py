"""Evaluates a CEL predicate over the columns of the index, as far as they decide it.

For each row a part of a predicate may be true, false or an error; the index may leave several of these possible. ``&&``
and ``||`` combine the possible results as in CEL, where ``error && false`` is false. Rows that can only be true are
selected without reading the object; rows that may be true are read; the others are skipped. So the answer is exactly
that of the interpreter on every object.

The index holds metadata.name, namespace, uid, labels, whether there is a deletionTimestamp, and the selectable fields
with their types. The use of an absent field is an error. The index holds null, and an empty text in the place of
a number, like an absent field. If a field may have these (the caller knows), every object without a value in the index
is unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_values import UInt
from auditor.cel.syntax.ast import Call, Expr, Ident, ListLiteral, Literal, Select
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.selectors.predicates import (
    Both,
    ColumnValue,
    ConstantPredicate,
    Different,
    Flag,
    Has,
    LabelValue,
    Not,
    Predicate,
    Unknown,
    Value,
    ValueTest,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa


_SIMPLE_PATH: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_ORDER: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_FLIPPED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARE: Final = {"_==_": "==", "_!=_": "!=", **_ORDER}
_TEXT_TESTS: Final = ("startsWith", "endsWith", "contains", "matches")
_COLUMNS: Final = {"metadata.name": "name", "metadata.namespace": "namespace", "metadata.uid": "uid"}


# -- values ------------------------------------------------------------------------------------------------------------


# -- from the tree -----------------------------------------------------------------------------------------------------


def push_down(expr: Expr, schema: pa.Schema, *, unclear: Collection[str] | None = None) -> Predicate:
    """Return a predicate over the columns of the index.

    Args:
        expr: The tree of a checked predicate.
        schema: The columns of the partition.
        unclear: Selectable fields that may have values which the columns cannot distinguish from absent ones: null, or
            an empty text in the place of a number. None if all fields may.
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
            return ConstantPredicate(expr.value)
        if isinstance(expr, Select) and expr.test_only:
            return self.has(expr)
        if isinstance(expr, Call):
            return self.call(expr)
        value = self.value(expr)
        if value is not None and value.kind == "bool":
            return ValueTest(value, "==", True)
        return Unknown()

    def call(self, expr: Call) -> Predicate:
        name, args = expr.function, expr.args
        if name in ("_&&_", "_||_"):
            return Both(self.predicate(args[0]), self.predicate(args[1]), either=name == "_||_")
        if name == "!_":
            return Not(self.predicate(args[0]))
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
            return ValueTest(size, "size", (operator, constant)) if _kind(constant) == "int" else Unknown()
        value = self.value(left)
        if value is None:
            return Unknown()
        if _kind(constant) == value.kind:
            if value.kind == "bool" and operator not in ("==", "!="):
                return Unknown()
            return ValueTest(value, operator, constant)
        if operator in ("==", "!=") and _kind(constant) in ("string", "int", "bool"):
            return Different(value, operator == "!=")
        return Unknown()

    def sized(self, expr: Expr) -> Value | None:
        """Return the text whose size an expression is."""
        if not isinstance(expr, Call) or expr.function != "size":
            return None
        operands = expr.operands
        value = self.value(operands[0]) if len(operands) == 1 else None
        return value if value is not None and value.kind == "string" else None

    def membership(self, item: Expr, container: Expr) -> Predicate:
        if isinstance(item, Literal) and type(item.value) is str and _path(container) == "metadata.labels":
            return Has(LabelValue(item.value)) if "labels" in self.names else Unknown()
        if not isinstance(container, ListLiteral) or container.optional:
            return Unknown()
        if not container.elements:
            return ConstantPredicate(False)  # the server does not evaluate the item
        value = self.value(item)
        if value is None:
            return Unknown()
        constants = [element.value for element in container.elements if isinstance(element, Literal)]
        if len(constants) != len(container.elements) or any(_kind(constant) == "" for constant in constants):
            return Unknown()
        return ValueTest(value, "in", tuple(constant for constant in constants if _kind(constant) == value.kind))

    def intersection(self, left: Expr, right: Expr) -> Predicate:
        for side, other in ((left, right), (right, left)):
            if isinstance(side, ListLiteral) and len(side.elements) == 1 and not side.optional and _has_items(other):
                test = self.membership(side.elements[0], other)
                if not isinstance(test, Unknown):
                    return test
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
        return ValueTest(value, name, argument.value)

    def has(self, expr: Select) -> Predicate:
        path = _path(Select(expr.id, expr.operand, expr.field))
        if path == "metadata.deletionTimestamp" and "deleting" in self.names:
            return Flag("deleting")
        if path == "metadata.labels" and "labels" in self.names:
            return Flag("labels")
        if _path(expr.operand) == "metadata.labels" and "labels" in self.names:
            return Has(LabelValue(expr.field))
        value = self.value(Select(expr.id, expr.operand, expr.field))
        if value is None:
            return Unknown()
        if isinstance(value, LabelValue) or not value.text:
            return Has(value)
        parent = value.column.rpartition(".")[0]
        return Has(value, tuple(sorted(name for name in self.names if name.rpartition(".")[0] == parent)))

    def value(self, expr: Expr) -> Value | None:
        """Return the column behind an expression, or None."""
        path = _path(expr)
        if path is None:
            label = _label_key(expr)
            return LabelValue(label) if label is not None and "labels" in self.names else None
        if path in _COLUMNS and _COLUMNS[path] in self.names:
            return ColumnValue(_COLUMNS[path], "string")
        label = _label_key(expr)
        if label is not None and "labels" in self.names:
            return LabelValue(label)
        if path in self.kinds and f"field:{path}" in self.names:
            is_unclear = self.unclear is None or path in self.unclear
            return ColumnValue(f"value:{path}", self.kinds[path], f"field:{path}", is_unclear)
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
    """Return a chain of fields as a dotted path, or None if it is not one or a name in it has dots."""
    steps = _steps(expr)
    return None if not steps or any("." in step for step in steps) else ".".join(steps)


def _label_key(expr: Expr) -> str | None:
    steps = _steps(expr)
    return steps[2] if steps is not None and len(steps) == 3 and steps[:2] == ["metadata", "labels"] else None
