"""Bounds of costs: the most that the interpreter can count for an expression, for all values.

Every step costs at least as much here as in the interpreter. Bounds of calls are in the records of functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.cel.emit.bounds import ONE, ZERO, Bound, constant, greater
from auditor.cel.emit.value import NotEmittable
from auditor.cel.function import UNIT
from auditor.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListLiteral, Literal, MapLiteral, Select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.cel.check.checked import Reference
    from auditor.cel.emit.value import Value
    from auditor.cel.operations.dispatch import Declaration

__all__ = ["bound_cost"]

_READ: Final = constant(2)


def bound_cost(
    expr: Expr,
    values: Mapping[int, Value],
    counts: Mapping[int, Bound],
    references: Mapping[int, Reference],
    functions: Mapping[str, Declaration],
) -> Bound:
    """Return a bound of the cost of an expression.

    Args:
        expr: The tree.
        values: The code of its nodes, by number; nodes that only macros made have none.
        counts: The largest number of iterations of each comprehension, by number.
        references: The declarations that the checker found.
        functions: The functions of the environment, by name.
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
        declaration = functions.get(name)
        costs = UNIT if declaration is None else declaration.costs
        if not costs.is_bounded:
            raise NotEmittable(f"cost of {name}")
        known = [values[each.id] for each in parts if each.id in values]
        own = ONE if costs.bound is None or len(known) != len(parts) else costs.bound(known)
        return total(*parts) + own

    return cost(expr)
