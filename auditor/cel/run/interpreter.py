"""The reference interpreter: runs a checked expression exactly as the server does, and counts the cost.

A tree is converted once into nodes that run. Errors are values here (`CelError`), because logic absorbs them and a
failing call has a cost, too. Only an exceeded cost limit is raised. Constant parts are computed during the conversion,
as cel-go's optimizer does; a constant conversion that fails makes the compilation fail.

Source: cel-go interpreter/planner.go, interpretable.go, decorators.go, optimizations.go.

Over 500 lines: the kinds of nodes and the planner that makes them, in the order of cel-go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError, CompileError, CompilerPanic
from auditor.cel.cel_values import MISSING, CelList, CelMap, MapValue, Optional_, TypeValue, UInt, is_list, is_map
from auditor.cel.messages import make_message
from auditor.cel.operations.arithmetic import add
from auditor.cel.operations.cost import (
    GO_BYTES,
    INTERNAL_ERROR,
    LIST,
    MAP,
    STRUCT,
    Cancelled,
    call_cost,
    panicked,
    unhashable,
)
from auditor.cel.operations.dispatch import Implementation, choose
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, equal, find
from auditor.cel.operations.go_names import go_type, show
from auditor.cel.run.attributes import (
    Attribute,
    ConditionalAttribute,
    ExpressionNode,
    FoldScope,
    Link,
    RelativeAttribute,
    VariableAttribute,
    Variables,
)
from auditor.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    StructLiteral,
)
from auditor.cel.syntax.macros import ACCUMULATOR, WRITTEN_ACCUMULATOR
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.declarations import Declarations
    from auditor.cel.operations.cost import Rule
    from auditor.cel.operations.dispatch import Declaration


_PRIMITIVES = frozenset({bool, int, UInt, float, str})


def plan(environment: Declarations, checked: CheckedExpression) -> ExpressionNode:
    """Return a node that runs a checked expression.

    Raises:
        CompileError: A constant part cannot be computed; its text has no position.
    """
    return _Planner(environment, checked).plan(checked.parsed.root)


class ConstantNode:
    """A value known in advance; costs nothing."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def run(self, _scope: Variables) -> Any:
        """Return the value."""
        return self.value


class Read:
    """A name, or a chain of fields and indices; the whole costs 1, and each link 1."""

    __slots__ = ("attribute", "cost", "test_only")

    def __init__(self, attribute: Attribute, cost: int = 1, *, test_only: bool = False) -> None:
        self.attribute = attribute
        self.cost = cost
        self.test_only = test_only

    def run(self, scope: Variables) -> Any:
        """Return the value at the end of the chain."""
        try:
            value = self.attribute.resolve(scope)
        except CelError as error:
            value = error.as_value()
        scope.tracker.charge(self.cost)
        if self.test_only and type(value) is Optional_:
            return value.has
        return value


class Logic:
    """``&&`` or ``||``: ends at the first operand that decides; an error counts only if no operand decides."""

    __slots__ = ("deciding", "operands")

    def __init__(self, operands: Sequence[ExpressionNode], *, deciding: bool) -> None:
        self.operands = operands
        self.deciding = deciding

    def run(self, scope: Variables) -> Any:
        """Return the outcome."""
        failure: CelError | None = None
        deciding = self.deciding
        for operand in self.operands:
            value = operand.run(scope)
            if value is deciding:
                return deciding
            if failure is None and type(value) is not bool:
                failure = value if isinstance(value, CelError) else CelError(NO_SUCH_OVERLOAD)
        return (not deciding) if failure is None else failure


class NotStrictlyFalse:
    """Whether a comprehension continues: an error does not end it."""

    __slots__ = ("operand",)

    def __init__(self, operand: ExpressionNode) -> None:
        self.operand = operand

    def run(self, scope: Variables) -> bool:
        """Return False only for False."""
        value = self.operand.run(scope)
        scope.tracker.charge(1)
        return value is not False


class Equality:
    """``==`` or ``!=``; if the operands cannot be compared, ``==`` is an error and ``!=`` is true."""

    __slots__ = ("cost", "left", "negated", "right")

    def __init__(self, left: ExpressionNode, right: ExpressionNode, cost: Rule | None, *, negated: bool) -> None:
        self.left = left
        self.right = right
        self.cost = cost
        self.negated = negated

    def run(self, scope: Variables) -> Any:
        """Return whether the operands are equal, or not."""
        left = self.left.run(scope)
        right = self.right.run(scope)
        result: Any
        if isinstance(left, CelError):
            result = left
        elif isinstance(right, CelError):
            result = right
        else:
            result = equal(left, right)
            if self.negated:
                result = result is not True
        scope.tracker.charge(call_cost(self.cost, "", (left, right), result))
        return result


class OptionalOr:
    """``or`` and ``orValue`` of an optional: the right side is evaluated only if the left is empty."""

    __slots__ = ("is_strict", "left", "right", "unwraps")

    def __init__(self, left: ExpressionNode, right: ExpressionNode, *, unwraps: bool) -> None:
        self.is_strict = changes.OPTIONALS_ALONE.holds
        self.left = left
        self.right = right
        self.unwraps = unwraps

    def run(self, scope: Variables) -> Any:
        """Return the first that has a value."""
        left = self.left.run(scope)
        if isinstance(left, CelError):
            return left
        if type(left) is not Optional_:
            return CelError(NO_SUCH_OVERLOAD) if self.is_strict else left
        if not left.has:
            return self.right.run(scope)
        return left.value if self.unwraps else left


class Membership:
    """``in`` with a constant list of scalars: a look-up in a set, which costs nothing."""

    __slots__ = ("operand", "values")

    def __init__(self, operand: ExpressionNode, items: Sequence[Any]) -> None:
        self.operand = operand
        self.values: set[tuple[type, Any]] = set()
        for item in items:
            self.values.add((type(item), item))
            if type(item) in (int, UInt, float):
                self.values.update(_same_number(item))

    def run(self, scope: Variables) -> Any:
        """Return whether the operand is one of the items."""
        value = self.operand.run(scope)
        if isinstance(value, CelError):
            return value
        if type(value) is bytes:
            raise unhashable(GO_BYTES)
        return type(value) in _PRIMITIVES and (type(value), value) in self.values


def _same_number(item: Any) -> list[tuple[type, Any]]:
    if type(item) is float:
        if not item.is_integer():
            return []
        whole = int(item)
        keys: list[tuple[type, Any]] = [(int, whole)] if -(2**63) < whole < 2**63 else []
        return [*keys, (UInt, whole)] if 0 <= whole < 2**64 else keys
    keys = [(float, float(item))]
    if type(item) is int:
        return [*keys, (UInt, item)] if item >= 0 else keys
    return [*keys, (int, int(item))] if item < 2**63 else keys


class Invoke:
    """A call of a function or operator."""

    __slots__ = ("args", "cost", "implementation", "in_order", "is_priced_first", "overload")

    def __init__(self, overload: str, args: Sequence[ExpressionNode], implementation: Implementation) -> None:
        self.overload = overload
        self.args = args
        self.implementation = implementation
        self.in_order = implementation.in_order
        self.cost = implementation.cost
        self.is_priced_first = implementation.is_priced_first

    def run(self, scope: Variables) -> Any:
        """Return the result."""
        values = []
        failure: CelError | None = None
        for arg in self.args:
            value = arg.run(scope)
            values.append(value)
            if isinstance(value, CelError) and failure is None:
                failure = value
                if self.in_order and len(values) < len(self.args):
                    return failure  # the cost of unevaluated arguments cannot be computed
        if self.is_priced_first:
            cost = call_cost(self.cost, self.overload, values, None)
            if scope.tracker.would_end(cost):
                scope.tracker.charge(cost)
        if failure is None:
            try:
                result = self.implementation.call(*values)
            except CelError as error:
                result = error.as_value()
        else:
            result = failure
        scope.tracker.charge(call_cost(self.cost, self.overload, values, result))
        return result


class Append:
    """``@result + [x]`` of a macro: nothing else refers to the accumulator, so it is extended in place."""

    __slots__ = ("cost", "left", "right")

    def __init__(self, left: ExpressionNode, right: ExpressionNode, cost: Rule | None) -> None:
        self.left = left
        self.right = right
        self.cost = cost

    def run(self, scope: Variables) -> Any:
        """Return the accumulator with the new items."""
        left = self.left.run(scope)
        right = self.right.run(scope)
        result: Any = left if isinstance(left, CelError) else right if isinstance(right, CelError) else None
        if result is None:
            if type(left) is list and type(right) is list:
                left.extend(right)
                result = left
            else:
                try:
                    result = add(left, right)
                except CelError as error:
                    result = error.as_value()
        scope.tracker.charge(call_cost(self.cost, "", (left, right), result))
        return result


class MakeList:
    """A list whose items are not all constant."""

    __slots__ = ("elements", "optional")

    def __init__(self, elements: Sequence[ExpressionNode], optional: frozenset[int]) -> None:
        self.elements = elements
        self.optional = optional

    def run(self, scope: Variables) -> Any:
        """Return the list."""
        result = self.make(scope)
        scope.tracker.charge(LIST)
        return result

    def make(self, scope: Variables) -> Any:
        """Return the list or the error of its first bad item."""
        items: list[Any] = []
        for index, element in enumerate(self.elements):
            value = element.run(scope)
            if isinstance(value, CelError):
                return value
            if index in self.optional:
                if type(value) is not Optional_:
                    text = f"cannot initialize optional list element from non-optional value {show(value)}"
                    return CelError(text)
                if not value.has:
                    continue
                value = value.value
            items.append(value)
        return items


class MakeMap:
    """A map whose entries are not all constant."""

    __slots__ = ("entries",)

    def __init__(self, entries: Sequence[tuple[ExpressionNode, ExpressionNode, bool]]) -> None:
        self.entries = entries

    def run(self, scope: Variables) -> Any:
        """Return the map."""
        result = self.make(scope)
        scope.tracker.charge(MAP)
        return result

    def make(self, scope: Variables) -> Any:
        """Return the map or the error of its first bad entry."""
        made = MapValue()
        for key_node, value_node, optional in self.entries:
            key = key_node.run(scope)
            if isinstance(key, CelError):
                return key
            value = value_node.run(scope)
            if isinstance(value, CelError):
                return value
            if optional:
                if type(value) is not Optional_:
                    return _bad_entry(key, value)
                if not value.has:
                    if type(key) is bytes:
                        raise panicked(f"hash of unhashable type: {GO_BYTES}")
                    made.drop(key)
                    continue
                value = value.value
            if type(key) is bytes:
                raise unhashable(GO_BYTES)
            made.put(key, value)
        return made.plain()


def _bad_entry(key: Any, value: Any) -> CelError:
    return CelError(f"cannot initialize optional entry '{show(key)}' from non-optional value {show(value)}")


class MakeMessage:
    """A message of one of the well-known types."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: Sequence[tuple[str, ExpressionNode, bool]]) -> None:
        self.name = name
        self.fields = fields

    def run(self, scope: Variables) -> Any:
        """Return the value of the message."""
        result = self._make(scope)
        scope.tracker.charge(STRUCT)
        return result

    def _make(self, scope: Variables) -> Any:
        given: dict[str, Any] = {}
        for name, node, optional in self.fields:
            value = node.run(scope)
            if isinstance(value, CelError):
                return value
            if optional:
                if type(value) is not Optional_:
                    return _bad_entry(name, value)
                if not value.has:
                    given.pop(name, None)
                    continue
                value = value.value
            given[name] = value
        try:
            return make_message(self.name, given)
        except CelError as error:
            return error.as_value()


_RANGE_IS_ERROR = "unsupported comprehension range type: *types.Err"


class Fold:
    """A comprehension."""

    __slots__ = ("accumulator", "condition", "first", "hides_errors", "initial", "range", "result", "second", "step")

    def __init__(
        self,
        expr: Comprehension,
        range_: ExpressionNode,
        initial: ExpressionNode,
        rest: tuple[ExpressionNode, ExpressionNode, ExpressionNode],
    ) -> None:
        self.accumulator = expr.accumulator
        self.first = expr.variable
        self.second = expr.variable2
        self.range = range_
        self.initial = initial
        self.condition, self.step, self.result = rest
        self.hides_errors = self.second is not None and not changes.ERRORS_OF_RANGES.holds

    def run(self, scope: Variables) -> Any:
        """Return the result."""
        range_ = self.range.run(scope)
        if isinstance(range_, CelError):
            return CelError(_RANGE_IS_ERROR) if self.hides_errors else range_
        if not (is_list(range_) or is_map(range_)):
            if self.second is not None:
                return CelError(f"unsupported comprehension range type: {go_type(range_)}")
            return CelError(f"got '{go_type(range_)}', expected iterable type")
        inner = FoldScope(scope, self.accumulator, self.initial)
        if self.second is None:
            self._over_items(inner, range_)
        else:
            self._over_pairs(inner, range_, self.second)
        result = self.result.run(inner)
        return result.plain() if type(result) is MapValue else result

    def _over_items(self, inner: FoldScope, range_: Any) -> None:
        items = range_ if type(range_) in (list, dict) else range_.cel_iter()
        for item in items:
            inner.items[self.first] = item
            if self.condition.run(inner) is False:
                return
            inner.accumulate(self.step.run(inner))

    def _over_pairs(self, inner: FoldScope, range_: Any, second: str) -> None:
        for key, value in _pairs(range_):
            inner.items[self.first] = key
            inner.items[second] = value
            if self.condition.run(inner) is False:
                return
            inner.accumulate(self.step.run(inner))


def _pairs(range_: Any) -> Any:
    if type(range_) is list:
        return enumerate(range_)
    if isinstance(range_, CelList):
        return ((index, range_.cel_get(index)) for index in range(range_.cel_size()))
    if isinstance(range_, CelMap):
        return ((key, _at(range_, key)) for key in range_.cel_iter())
    return range_.items()


def _at(map_: CelMap, key: Any) -> Any:
    """Return the value at a key of the map; null in a field of an object counts as absent."""
    member = find(map_, key)
    return CelError(f"no such key: {show(key)}") if member is MISSING else member


class _Planner:
    def __init__(self, environment: Declarations, checked: CheckedExpression) -> None:
        self.environment = environment
        self.types = checked.types
        self.references = checked.references
        self.grows = changes.NO_RESULT_VARIABLE.holds or WRITTEN_ACCUMULATOR not in checked.parsed.text

    def plan(self, expr: Expr) -> ExpressionNode:
        match expr:
            case Literal():
                return ConstantNode(expr.value)
            case Ident():
                return self.name(expr)
            case Select():
                return self.name(expr) if expr.id in self.references else self.select(expr)
            case Call():
                return self.call(expr)
            case ListLiteral():
                return self.make_list(expr)
            case MapLiteral():
                return self.make_map(expr)
            case StructLiteral():
                fields = [(part.name, self.plan(part.value), part.optional) for part in expr.fields]
                return MakeMessage(self.references[expr.id].name, fields)
            case Comprehension():
                initial, range_ = self.plan(expr.init), self.plan(expr.range)
                rest = (self.plan(expr.condition), self.plan(expr.step), self.plan(expr.result))
                return Fold(expr, range_, initial, rest)
        raise TypeError(f"no plan for {expr}")

    def name(self, expr: Expr) -> ExpressionNode:
        reference = self.references[expr.id]
        if reference.value is not None:
            return ConstantNode(reference.value)
        if reference.is_type:
            declaration = self.environment.find_type(reference.name)
            if declaration is None or not declaration.is_value:
                raise CompileError(f"reference to undefined type: {reference.name}")
            return ConstantNode(TypeValue(self.types[expr.id].parameters[0].name))
        return Read(VariableAttribute(reference.name))

    def select(self, expr: Select) -> ExpressionNode:
        read = self.chain(self.plan(expr.operand))
        read.attribute.add(Link(expr.field, test_only=expr.test_only))
        # A presence test subtracts the cost of the chain; a conditional has no such cost, so it becomes cheaper by 1.
        return Read(read.attribute, read.cost - 1, test_only=True) if expr.test_only else read

    def chain(self, operand: ExpressionNode) -> Read:
        """Return a chain to which further links can be added."""
        return operand if isinstance(operand, Read) else Read(RelativeAttribute(operand))

    def index(self, operand: ExpressionNode, index: ExpressionNode, *, is_optional: bool) -> ExpressionNode:
        read = self.chain(operand)
        if isinstance(index, ConstantNode):
            if type(index.value) not in _PRIMITIVES:
                raise CompileError(f"invalid qualifier type: {go_type(index.value)}")
            link = Link(index.value, is_optional=is_optional)
        else:
            attribute = index.attribute if isinstance(index, Read) else RelativeAttribute(index)
            link = Link(None, attribute, is_optional)
        read.attribute.add(link)
        return read

    def make_list(self, expr: ListLiteral) -> ExpressionNode:
        node = MakeList([self.plan(element) for element in expr.elements], expr.optional)
        if all(isinstance(element, ConstantNode) for element in node.elements):
            return ConstantNode(node.make(_NO_SCOPE))
        return node

    def make_map(self, expr: MapLiteral) -> ExpressionNode:
        node = MakeMap([(self.plan(each.key), self.plan(each.value), each.optional) for each in expr.entries])
        if all(isinstance(key, ConstantNode) and isinstance(value, ConstantNode) for key, value, _ in node.entries):
            try:
                return ConstantNode(node.make(_NO_SCOPE))
            except Cancelled as end:
                raise CompilerPanic(str(end.failure).removeprefix(INTERNAL_ERROR)) from None
        return node

    # Calls

    def call(self, expr: Call) -> ExpressionNode:
        reference = self.references[expr.id]
        name = reference.name
        parts = expr.args if reference.is_global else expr.operands
        args = [self.plan(part) for part in parts]
        special = self.special(name, args)
        if special is not None:
            return special
        overload = reference.overloads[0] if len(reference.overloads) == 1 else ""
        if name in {"or", "orValue"} and len(args) == 2:
            return OptionalOr(args[0], args[1], unwraps=name == "orValue")
        if overload == "in_list" and isinstance(args[1], ConstantNode):
            if isinstance(args[1].value, CelError):
                raise CompilerPanic("interface conversion: *types.Err is not traits.Lister: missing method Add")
            member = _membership(args[0], args[1].value)
            if member is not None:
                return member
        if name == "_+_" and isinstance(parts[0], Ident) and parts[0].name == ACCUMULATOR and self.grows:
            return Append(args[0], args[1], self.declaration(name).runtime(overload))
        declaration = self.declaration(name)
        implementation = choose(declaration, overload, len(args))
        if declaration.regex_argument is not None:
            implementation = _with_constant_pattern(implementation, args, declaration.regex_argument)
        node = Invoke(overload, args, implementation)
        if declaration.is_folded and len(args) == 1 and isinstance(args[0], ConstantNode):
            return _computed(node)
        return node

    def special(self, name: str, args: list[ExpressionNode]) -> ExpressionNode | None:
        """Return the node of an operator that is not a function."""
        match name:
            case "_&&_" | "_||_":
                return Logic(args, deciding=name == "_||_")
            case "_?_:_":
                return self.conditional(args)
            case "_==_" | "_!=_":
                return self.equality(name, args)
            case "_[_]" | "_[?_]" | "_?._":
                return self.index(args[0], args[1], is_optional=name != "_[_]")
            case "@not_strictly_false":
                return NotStrictlyFalse(args[0])
        return None

    def declaration(self, name: str) -> Declaration:
        """Return a function that the checker has found."""
        declaration = self.environment.function(name)
        assert declaration is not None
        return declaration

    def equality(self, name: str, args: list[ExpressionNode]) -> ExpressionNode:
        is_negated = name == "_!=_"
        cost = self.declaration(name).runtime("not_equals" if is_negated else "equals")
        return Equality(args[0], args[1], cost, negated=is_negated)

    def conditional(self, args: list[ExpressionNode]) -> ExpressionNode:
        condition, yes, no = args
        branches = [each.attribute if isinstance(each, Read) else RelativeAttribute(each) for each in (yes, no)]
        return Read(ConditionalAttribute(condition, branches[0], branches[1]), 0)


def _membership(operand: ExpressionNode, items: Any) -> ExpressionNode | None:
    values = items if type(items) is list else list(items.cel_iter())
    if not values:
        return ConstantNode(value=False)
    return Membership(operand, values) if all(type(value) in _PRIMITIVES for value in values) else None


def _with_constant_pattern(implementation: Implementation, args: list[ExpressionNode], position: int) -> Implementation:
    pattern = args[position] if position < len(args) else None
    if not isinstance(pattern, ConstantNode) or type(pattern.value) is not str:
        return implementation
    try:
        compile_pattern(pattern.value)
    except GoRegexError as error:
        raise CompileError(str(error)) from None
    inner = implementation.unguarded

    def call(*values: Any) -> Any:
        if type(values[0]) is not str or (len(values) == 3 and type(values[2]) is not int):
            raise CelError(NO_SUCH_OVERLOAD)
        return inner(*values)

    return Implementation(call, inner, in_order=True, cost=implementation.cost)


def _computed(node: Invoke) -> ExpressionNode:
    values = [arg.value for arg in node.args if isinstance(arg, ConstantNode)]
    try:
        if isinstance(values[0], CelError):
            raise values[0]
        return ConstantNode(node.implementation.call(*values))
    except CelError as error:
        raise CompileError(error.text) from None


_NO_SCOPE: Any = None
"""Constants use no scope."""
