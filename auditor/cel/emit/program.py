"""A rule as generated code: the test, a bound of its cost, and a function of both.

The bound is the most that the interpreter can count, for all values: every step costs at least as much here as there.
Bounds of calls are in the records of functions. The modules that write code are loaded with the first rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_types import NULL
from auditor.cel.emit.bounds import ONE, ZERO, Bound, constant, greater
from auditor.cel.emit.value import NotEmittable, Value, extent_of
from auditor.cel.emit.value_shapes import DYN, Form, optional_shape
from auditor.cel.function import UNIT
from auditor.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListLiteral, Literal, MapLiteral, Select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from auditor.cel.check.checked import CheckedExpression, Reference
    from auditor.cel.declarations import Declarations
    from auditor.cel.emit.emitter import ExpressionEmitter
    from auditor.cel.emit.value_shapes import ValueShape
    from auditor.cel.operations.dispatch import Declaration
    from auditor.codegen import Module


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
        total_cost = ZERO
        for each in exprs:
            total_cost += cost(each)
        return total_cost

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


_USUAL_SIZE: Final = 20_000
"""Bytes of an object for which a bound without lengths should be good enough."""
_USUAL_COST: Final = 20_000


class RuleModule:
    """A module that rules are written into; all rules share its caches."""

    def __init__(self, module: Module) -> None:
        from auditor.cel.emit.support import NAMES  # noqa: PLC0415 - with the first rule

        self.module = module
        self._memos: dict[object, str] = {}
        module.namespace.update(NAMES)

    def remember(self, key: object, work_out: Callable[[Any], Any]) -> str:
        """Return the name of the cache of a function of one text."""
        name = self._memos.get(key)
        if name is None:
            from auditor.cel.emit.support import Memo  # noqa: PLC0415 - with the first rule

            name = self._memos[key] = self.module.slot(Memo(work_out), "m")
        return name


@dataclass(frozen=True, slots=True)
class RuleCode:
    """The code of one rule.

    Attributes:
        test: An expression: True if the rule holds; any other value, or an exception, proves nothing.
        cost: A bound of the cost that the interpreter would count, by the size of the object.
        measured: A lower bound as an expression that looks at lengths too; empty if `cost` is low enough.
    """

    test: str
    cost: Bound
    measured: str = ""


def emit_rule(
    environment: Declarations, checked: CheckedExpression, shape: ValueShape, rules: RuleModule, name: str, size: str
) -> RuleCode:
    """Write the code of a rule for a create: there is no old value.

    Args:
        environment: The environment in which it was checked.
        checked: The rule.
        shape: The shape of `self`.
        rules: Takes the constants.
        name: The variable with `self`.
        size: The variable that holds the size of the object, see `Bound.at`.

    Raises:
        NotEmittable: There is no code for it.
    """
    from auditor.cel.emit.emitter import ExpressionEmitter  # noqa: PLC0415 - with the first rule

    emitter = ExpressionEmitter(environment, checked, rules.module.slot, rules.remember)
    emitter.define("self", emitter.read(name, shape.present, extent_of(shape), (), total=True))
    if environment.variables.get("oldSelf", NULL).is_optional:
        emitter.define("oldSelf", Value("_NO", optional_shape(shape.present), extent_of(shape), total=True))
    code, cost = _written(emitter, checked)
    by_size = cost.without_lengths(emitter.most.__getitem__)
    measured = ""
    if by_size.at(_USUAL_SIZE) > _USUAL_COST and cost.lengths:
        lengths = {
            path: f"_length({', '.join([name, *map(repr, path)])})" if path else f"len({name})" for path in cost.lengths
        }
        measured = cost.code(size, lengths)
    return RuleCode(code, by_size, measured)


def emit_predicate(
    environment: Declarations, checked: CheckedExpression, variables: Mapping[str, str], rules: RuleModule
) -> RuleCode:
    """Write the code of a predicate on JSON values that no schema describes.

    Its value is the answer if it is True or False; any other value, or an exception, proves nothing.

    Args:
        environment: The environment in which it was checked.
        checked: The predicate.
        variables: The expression of each variable.
        rules: Takes the constants.

    Raises:
        NotEmittable: There is no code for it.
    """
    from auditor.cel.emit.emitter import ExpressionEmitter  # noqa: PLC0415 - with the first predicate

    emitter = ExpressionEmitter(environment, checked, rules.module.slot, rules.remember)
    for name, code in variables.items():
        emitter.define(name, Value(code, DYN, extent_of(DYN)))
    return RuleCode(*_written(emitter, checked))


def _written(emitter: ExpressionEmitter, checked: CheckedExpression) -> tuple[str, Bound]:
    """Return the code of an expression, which must be a test, and a bound of its cost."""
    root = checked.parsed.root
    code = emitter.emit(root)
    if code.shape.form not in (Form.BOOL, Form.DYN):
        raise NotEmittable("no bool")
    return code.code, bound_cost(root, emitter.values, emitter.counts, emitter.references, checked.functions)
