"""Bounds of costs: what the interpreter can at most count for an expression, whatever the values are.

Every step is at least as dear here as in `auditor.cel.operations.cost`, which says what it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.cel.emit.bounds import ONE, ZERO, Bound, constant, greater, lesser, tenth
from auditor.cel.emit.shapes import Form
from auditor.cel.emit.value import Extent, NotEmittable
from auditor.cel.library.formats import FORMATS
from auditor.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListLiteral, Literal, MapLiteral, Select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from auditor.cel.check.checker import Reference
    from auditor.cel.emit.value import Value

__all__ = ["bound_cost"]

_UTF8: Final = 4
"""Bytes that a character takes at most."""
_REGEX: Final = 0.25
_LONGEST_FORMAT: Final = max(each.max_regex_size for each in FORMATS.values())
_READ: Final = constant(2)

Price = "Callable[[list[Value]], Bound]"


def _size(value: Value) -> Bound:
    return value.extent.own


def _first(values: list[Value]) -> Bound:
    return tenth(_size(values[0]))


def _first_twice(values: list[Value]) -> Bound:
    return tenth(_size(values[0]), 0.2)


def _smaller(values: list[Value]) -> Bound:
    return tenth(lesser(_size(values[0]), _size(values[1])))


def _search(values: list[Value]) -> Bound:
    return (tenth(_size(values[0])) + ONE) * tenth(_size(values[1]), _REGEX)


def _traversal(extent: Extent) -> Bound:
    if extent.item is None:
        return extent.own.scaled(0.1 * _UTF8) + ONE
    # An entry of a map has a key, which is part of the object's text too.
    return extent.own * (_traversal(extent.item) + ONE) + extent.own + ONE


def _includes(values: list[Value]) -> Bound:
    shape = values[0].shape
    item = shape.item if shape.form is Form.LIST else shape
    if item is None or item.form in (Form.LIST, Form.MAP, Form.OBJECT):
        raise NotEmittable("search among lists or maps")
    return _traversal(values[0].extent)


def _made(values: list[Value]) -> Bound:
    return _size(values[0]) + constant(11)


def _compared(values: list[Value]) -> Bound:
    return (_size(values[0]) * _size(values[0])).scaled(2.1) + constant(12)


def _sets(times: int) -> Callable[[list[Value]], Bound]:
    return lambda values: (_size(values[0]) * _size(values[1])).scaled(times) + ONE


def _validated(values: list[Value]) -> Bound:
    return (tenth(_size(values[1])) + ONE).scaled(_LONGEST_FORMAT * _REGEX + 1)


def _replaced(values: list[Value]) -> Bound:
    # What it makes is free to the server; here it counts, so that no text gets larger than there is memory for.
    own = _size(values[0])
    return tenth(own, 0.2) + ((own + ONE) * _size(values[2])).scaled(0.1)


def _joined(values: list[Value]) -> Bound:
    items = values[0].extent
    assert items.item is not None
    separator = _size(values[1]) if len(values) > 1 else ZERO
    return tenth(items.own * (items.item.own + separator), 0.2)


def _table(*rules: tuple[str, Callable[[list[Value]], Bound]]) -> dict[str, Callable[[list[Value]], Bound]]:
    return {name: price for names, price in rules for name in names.split()}


_BY_NAME: Final = _table(
    ("_==_ _!=_ _<_ _<=_ _>_ _>=_", _smaller),
    ("isSorted sum max min indexOf lastIndexOf includes", _includes),
    ("url lowerAscii upperAscii substring trim cidr isIP isCIDR quantity isQuantity semver isSemver ip", _first),
    ("bytes string strings.quote", _first),
    ("split ip.isCanonical", _first_twice),
    ("replace", _replaced),
    ("join", _joined),
    ("matches find findAll", _search),
    ("contains", lambda values: tenth(_size(values[0])) * tenth(_size(values[1]))),
    ("startsWith endsWith", lambda values: tenth(_size(values[1]))),
    ("containsIP containsCIDR", lambda values: tenth(_size(values[0]), 0.3) + tenth(_size(values[1])) + constant(3)),
    ("validate", _validated),
    ("slice reverse", _made),
    ("lists.range", lambda values: constant(max(values[0].shape.high, 0) + 11)),
    ("sort distinct", _compared),
    ("sets.contains sets.intersects", _sets(1)),
    ("sets.equivalent", _sets(2)),
    ("_+_", lambda values: tenth(_size(values[0]) + _size(values[1]))),
    ("@in", lambda values: ONE if values[1].shape.form in (Form.MAP, Form.OBJECT) else _size(values[1]) + ONE),
    ("_[_] _[?_] _?._", lambda _: _READ),
)
_UNBOUNDED: Final = frozenset(
    {"format", "flatten", "@sortByAssociatedKeys", "jsonpatch.escapeKey", "check", "fieldSelector", "labelSelector"}
)
"""Functions whose cost depends on more than the sizes of what they are given."""


def bound_cost(
    expr: Expr, values: Mapping[int, Value], counts: Mapping[int, Bound], references: Mapping[int, Reference]
) -> Bound:
    """Return a bound of the cost of an expression.

    Args:
        expr: The tree.
        values: The code of its nodes, by number; the nodes that only macros made have none.
        counts: How often each comprehension goes round at most, by number.
        references: What the checker settled.
    """

    def cost(expr: Expr) -> Bound:
        match expr:
            case Literal():
                return ZERO
            case Ident():
                return ONE
            case Select():
                return ONE if expr.id in references else cost(expr.operand) + _READ
            case Call():
                return call(expr)
            case ListLiteral():
                return total(*expr.elements) + constant(10)
            case MapLiteral():
                return total(*(part for each in expr.entries for part in (each.key, each.value))) + constant(30)
            case Comprehension():
                times = counts[expr.id]
                again = cost(expr.condition)
                return total(expr.range, expr.init, expr.result) + again + times * (again + cost(expr.step)) + ONE
        raise NotEmittable(type(expr).__name__)

    def total(*exprs: Expr) -> Bound:
        found = ZERO
        for each in exprs:
            found += cost(each)
        return found

    def call(expr: Call) -> Bound:
        reference = references.get(expr.id)
        name = expr.function if reference is None else reference.name
        parts = expr.args if reference is None or reference.is_global else expr.operands
        if name == "_?_:_":
            condition, yes, no = parts
            return cost(condition) + greater(cost(yes), cost(no)) + ONE
        if name in _UNBOUNDED:
            raise NotEmittable(f"cost of {name}")
        price = _BY_NAME.get(name)
        known = [values[each.id] for each in parts if each.id in values]
        own = ONE if price is None or len(known) != len(parts) else price(known)
        return total(*parts) + own

    return cost(expr)
