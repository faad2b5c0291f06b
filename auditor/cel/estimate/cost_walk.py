"""Walks over an expression and adds up its estimated cost.

Sizes come from three sources: the expression itself (constants, literals, results of calls), the schema at the end of a
path from a variable, and the type (a number has size 1). The schema takes precedence over the type, and has size 0 for
numbers, so comparing them is free in the estimate although it is not at run time.

Source: cel-go checker/cost.go; apiextensions-apiserver pkg/apiserver/schema/cel/compilation.go (sizeEstimator).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from auditor.cel.cel_types import Kind
from auditor.cel.estimate.call_costs import MAX_COST, NOTHING, ONE, UNKNOWN, Operand, Priced, Range, fixed
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.cel.cel_types import Type
    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.operations.dispatch import Declaration


ACCUMULATORS: Final = ("__result__", "@result")
_LIST, _MAP, _STRUCT = fixed(10), fixed(30), fixed(40)
SCALARS: Final = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
_SELECTED: Final = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAM})


class Sized(Protocol):
    """Sizes that a schema allows: the type of `self`, or of a part of it."""

    @property
    def fields(self) -> Mapping[str, Sized] | None:
        """The fields of an object by identifier."""

    @property
    def element(self) -> Sized | None:
        """The items of a list, or the values of a map."""

    @property
    def is_map(self) -> bool:
        """Whether it is a map."""

    @property
    def max_elements(self) -> int:
        """The largest number of elements, entries, characters or bytes."""


class Path:
    """Steps from a variable to a value.

    Adding a step may overwrite the step that was added to the same path before, as in the server, where both share
    their memory: a later look-up may then use the other step.
    """

    __slots__ = ("length", "memory")

    def __init__(self, memory: list[str], length: int) -> None:
        self.memory = memory
        self.length = length

    def steps(self) -> list[str]:
        """Return the steps."""
        return self.memory[: self.length]


def added(path: Path | None, step: str) -> Path:
    """Return a path with one more step."""
    if path is None:
        return Path([step], 1)
    steps, length = path.memory, path.length
    if length == len(steps):
        steps = steps[:length] + [""] * length
    steps[length] = step
    return Path(steps, length + 1)


@dataclass(frozen=True, slots=True)
class Entries:
    """Sizes of the keys and values of a list or map that the expression creates."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: Entries | None) -> Entries | None:
        """Return the sizes of either, None if those of the other are not known."""
        return None if other is None else Entries(self.is_list, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class _LocalVariable:
    path: Path | None
    size: Range | None
    entries: Entries | None


class Estimate:
    """The walk over one expression; stores what it finds by the number of the node."""

    def __init__(self, checked: CheckedExpression, root: Sized) -> None:
        self.types = checked.types
        self.references = checked.references
        self.functions = checked.functions
        self.root = root
        self.paths: dict[int, Path | None] = {}
        self.sizes: dict[int, Range] = {}
        self.entries: dict[int, Entries] = {}
        self.locals: dict[str, list[_LocalVariable]] = {}
        self.ranges: dict[str, list[Expr]] = {}

    # Sizes

    def schema_size(self, steps: list[str]) -> Range | None:
        """Return the size that the schema allows at the end of a path."""
        if not steps:
            return None
        node = self.root
        for step in steps[1:]:
            if step in ("@items", "@values"):
                if node.element is None:
                    return None
                node = node.element
            elif step == "@keys":
                return NOTHING if node.is_map else None
            else:
                child = None if node.fields is None else node.fields.get(step)
                if child is None:
                    return None
                node = child
        return Range(0, node.max_elements)

    def local(self, expr: Expr) -> _LocalVariable | None:
        """Return the variable of a macro that a node names."""
        stack = self.locals.get(expr.name) if isinstance(expr, Ident) else None
        return stack[-1] if stack else None

    def path(self, expr: Expr) -> Path | None:
        """Return the path that leads to the value of a node."""
        local = self.local(expr)
        return self.paths.get(expr.id) if local is None else local.path

    def steps(self, expr: Expr) -> list[str]:
        """Return the steps of that path, none if there is none."""
        path = self.path(expr)
        return [] if path is None else path.steps()

    def size(self, expr: Expr) -> Range | None:
        """Return the size of a node, None if nothing is known."""
        known = self.sizes.get(expr.id)
        if known is None:
            known = literal_size(expr)
            if known is None:
                known = self.schema_size(self.steps(expr))
                if known is not None:
                    self.sizes[expr.id] = known
        if known is None and _is_scalar(self.types[expr.id]):
            known = ONE
        if known is None and (local := self.local(expr)) is not None:
            known = local.size
        return known

    def bound(self, expr: Expr) -> Range:
        """Return the size of a node, anything if nothing is known."""
        known = self.size(expr)
        return UNKNOWN if known is None else known

    def entry(self, expr: Expr) -> Entries | None:
        """Return the sizes of keys and values of a node."""
        known = self.entries.get(expr.id)
        if known is None and (local := self.local(expr)) is not None:
            known = local.entries
        return known

    def operand(self, expr: Expr) -> Operand:
        """Return a node as the prices of functions see it."""
        steps = self.steps(expr)
        if steps and steps[0] in ACCUMULATORS:
            steps = []
        size = self.size(expr)
        if size is None:
            size = self.schema_size(steps)
        return Operand(expr, self.types[expr.id], size, self.schema_size([*steps, "@items"]) if steps else None)

    # Costs

    def cost(self, expr: Expr) -> Range:
        """Return the cost of a node."""
        match expr:
            case Ident():
                local = self.local(expr)
                self.paths[expr.id] = Path([expr.name], 1) if local is None else local.path
                return ONE
            case Select():
                return self.select(expr)
            case Call():
                return self.call(expr)
            case ListLiteral():
                return self.list_literal(expr)
            case MapLiteral():
                return self.map_literal(expr)
            case StructLiteral():
                return sum((self.cost(part.value) for part in expr.fields), _STRUCT)
            case Comprehension():
                return self.bind(expr) if _is_bind(expr) else self.fold(expr)
        return NOTHING

    def select(self, expr: Select) -> Range:
        """Return the cost of a selection."""
        reference = self.references.get(expr.id)
        if reference is not None:  # the whole chain is the name of a type or constant
            self.paths[expr.id] = Path([reference.name], 1)
            return ONE
        cost = self.cost(expr.operand)
        if expr.test_only:
            return cost
        if self.types[expr.operand.id].kind in _SELECTED:
            cost = cost + ONE
        self.paths[expr.id] = added(self.path(expr.operand), expr.field)
        return cost

    def list_literal(self, expr: ListLiteral) -> Range:
        """Return the cost of making a list."""
        cost, size = _LIST, None
        for element in expr.elements:
            cost = cost + self.cost(element)
            size = self.bound(element) if size is None else size | self.bound(element)
        self.entries[expr.id] = Entries(is_list=True, key=ONE, value=NOTHING if size is None else size)
        return cost

    def map_literal(self, expr: MapLiteral) -> Range:
        """Return the cost of making a map."""
        cost, keys, values = _MAP, None, None
        for entry in expr.entries:
            cost = cost + self.cost(entry.key) + self.cost(entry.value)
            key, value = self.bound(entry.key), self.bound(entry.value)
            keys = key if keys is None else keys | key
            values = value if values is None else values | value
        self.entries[expr.id] = Entries(
            is_list=False, key=NOTHING if keys is None else keys, value=NOTHING if values is None else values
        )
        return cost

    def call(self, expr: Call) -> Range:
        """Return the cost of a call."""
        reference = self.references.get(expr.id)
        name = expr.function if reference is None else reference.name or expr.function
        if name == "dyn":
            cost = self.cost(expr.args[0]) + ONE
            self.copy(expr, expr.args[0])
            return cost
        return self.function(expr, name)

    def function(self, expr: Call, name: str) -> Range:
        """Return the cost of a call of a function."""
        reference = self.references.get(expr.id)
        args: list[Operand] = []
        costs: list[Range] = []
        for arg in expr.args:
            costs.append(self.cost(arg))
            args.append(self.operand(arg))
        if reference is None or not reference.overloads:
            return NOTHING
        total, target = NOTHING, None
        if expr.target is not None and not reference.is_global:
            total = self.cost(expr.target)
            target = self.operand(expr.target)
        cost, size = Range(MAX_COST, 0), None
        for overload in reference.overloads:
            own, made = self.overload(expr, name, overload, target, args, costs)
            cost = cost | own
            if made is not None:
                size = made if size is None else size | made
            size = self.result_size(expr, overload, size)
        if size is not None:
            self.sizes[expr.id] = size
        return total + cost

    def overload(
        self, expr: Call, name: str, overload: str, target: Operand | None, args: list[Operand], costs: list[Range]
    ) -> tuple[Range, Range | None]:
        """Return cost (with arguments) and size of the result, if a call has this overload."""
        if overload in ("logical_or", "logical_and"):
            return Range(costs[0].min, (costs[0] + costs[1]).max), None
        if overload == "conditional":
            first, second = self.entry(expr.args[1]), self.entry(expr.args[2])
            self.note_entries(expr, None if first is None else first.union(second))
            return costs[0] + (costs[1] | costs[2]), args[1].bound | args[2].bound
        if overload in ("add_string", "add_bytes", "add_list") and len(args) == 2:
            first, second = self.entry(expr.args[0]), self.entry(expr.args[1])
            self.note_entries(expr, None if first is None else first.union(second))
        priced = price_of(self.functions.get(name), overload, target, args)
        return sum(costs, priced.cost), priced.size

    def result_size(self, expr: Call, overload: str, size: Range | None) -> Range | None:
        """Return the size of the result of a call, and note the path to it.

        Args:
            size: What the price of this overload and of those before it says.
        """
        if self.note_index(expr, overload):
            entries = self.entry(expr.args[0])
            size = None if entries is None else entries.value
        return self.size(expr) if size is None else size

    def note_index(self, expr: Call, overload: str) -> bool:
        """Return whether a call takes a part of a list or map; note the path to it."""
        if overload not in ("index_list", "index_map"):
            return False
        self.paths[expr.id] = added(self.path(expr.args[0]), "@items" if overload == "index_list" else "@values")
        return True

    def note_entries(self, expr: Expr, entries: Entries | None) -> None:
        """Keep the sizes of keys and values of a node, if they are known."""
        if entries is not None:
            self.entries[expr.id] = entries

    def copy(self, to: Expr, source: Expr) -> None:
        """Give a node the sizes of another."""
        size = self.size(source)
        if size is not None:
            self.sizes[to.id] = size
        self.note_entries(to, self.entry(source))

    # Comprehensions

    def push(self, name: str, local: _LocalVariable) -> None:
        """Give a variable of a macro its value."""
        self.locals.setdefault(name, []).append(local)

    def fold(self, expr: Comprehension) -> Range:
        """Return the cost of a macro."""
        cost = self.cost(expr.range) + self.cost(expr.init)
        self.push(expr.accumulator, _LocalVariable(self.path(expr.init), self.size(expr.init), self.entry(expr.init)))
        self.bind_items(expr)
        each = self.cost(expr.condition)
        each = self.cost(expr.step) + each
        self.locals[expr.variable].pop()
        if expr.variable2 is not None:
            self.locals[expr.variable2].pop()
        cost = cost + self.cost(expr.result)
        self.locals[expr.accumulator].pop()
        count = self.bound(expr.range)
        if isinstance(expr.init, Literal):
            size = self.size(expr.init)
            if size is not None:
                self.sizes[expr.id] = size
        elif isinstance(expr.init, ListLiteral | MapLiteral):
            self.sizes[expr.id] = count
            self.note_entries(expr, self.entry(expr.step))
        return cost + count * each

    def bind_items(self, expr: Comprehension) -> None:
        """Give the variables of a macro their values."""
        entries, path = self.entry(expr.range), self.path(expr.range)
        is_list = self.types[expr.range.id].kind is Kind.LIST if entries is None else entries.is_list
        key = None if entries is None else entries.key
        value = None if entries is None else entries.value
        if expr.variable2 is not None:
            self.push(expr.variable, _LocalVariable(added(path, "@indices" if is_list else "@keys"), key, None))
            self.push(expr.variable2, _LocalVariable(added(path, "@items" if is_list else "@values"), value, None))
        elif is_list:
            self.push(expr.variable, _LocalVariable(added(path, "@items"), value, None))
        else:
            self.push(expr.variable, _LocalVariable(added(path, "@keys"), key, None))

    def bind(self, expr: Comprehension) -> Range:
        """Return the cost of a macro that only gives a value a name."""
        cost = self.cost(expr.range) + self.cost(expr.init)
        self.push(expr.accumulator, _LocalVariable(self.path(expr.init), self.size(expr.init), self.entry(expr.init)))
        cost = cost + self.cost(expr.result)
        self.locals[expr.accumulator].pop()
        self.copy(expr, expr.result)
        return cost


def _is_bind(expr: Comprehension) -> bool:
    """Whether a comprehension only binds a name to a value."""
    return (
        isinstance(expr.range, ListLiteral)
        and not expr.range.elements
        and isinstance(expr.condition, Literal)
        and expr.condition.value is False
        and expr.accumulator != ACCUMULATORS[0]
    )


def literal_size(expr: Expr) -> Range | None:
    """Return the size that a literal shows."""
    if isinstance(expr, Literal):
        return fixed(len(expr.value)) if type(expr.value) in (str, bytes) else ONE
    if isinstance(expr, ListLiteral):
        return fixed(len(expr.elements))
    return fixed(len(expr.entries)) if isinstance(expr, MapLiteral) else None


def _is_scalar(kind: Type) -> bool:
    while kind.is_optional or kind.kind is Kind.WRAPPER:
        kind = kind.parameters[0]
    return kind.kind in SCALARS


def price_of(declaration: Declaration | None, overload: str, target: Operand | None, args: Sequence[Operand]) -> Priced:
    """Return lowest and highest cost of a call, without its operands.

    Args:
        declaration: The function.
        overload: One of the overloads that it may mean.
        target: The receiver.
        args: The arguments.
    """
    if declaration is not None:
        for price in declaration.worst(overload):
            made = price(target, args, overload)
            if made is not None:
                return made
    return Priced(ONE)
