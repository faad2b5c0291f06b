"""Walks over an expression and adds up its estimated cost.

Sizes come from three sources: the expression itself (constants, literals, results of calls), the schema at the end of a
path from a variable, and the type (a number has size 1). The schema takes precedence over the type, and has size 0 for
numbers, so comparing them is free in the estimate although it is not at run time.

Source: cel-go checker/cost.go; apiextensions-apiserver pkg/apiserver/schema/cel/compilation.go (sizeEstimator).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from auditor.cel.estimate.prices import Operand, price_of
from auditor.cel.estimate.ranges import MAX_COST, NOTHING, ONE, UNKNOWN, Range, fixed
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
from auditor.cel.types import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.cel.check.checker import CheckedExpression
    from auditor.cel.types import Type

__all__ = ["Sized", "estimate_cost"]

_ACCUMULATORS: Final = ("__result__", "@result")
_LIST, _MAP, _STRUCT = fixed(10), fixed(30), fixed(40)
_SCALARS: Final = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
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


class _Path:
    """Steps from a variable to a value.

    Adding a step may overwrite the step that was added to the same path before, as in the server, where both share
    their memory: a later look-up may then use the other step.
    """

    __slots__ = ("length", "memory")

    def __init__(self, memory: list[str], length: int) -> None:
        self.memory = memory
        self.length = length

    def steps(self) -> list[str]:
        return self.memory[: self.length]


def _added(path: _Path | None, step: str) -> _Path:
    if path is None:
        return _Path([step], 1)
    steps, length = path.memory, path.length
    if length == len(steps):
        steps = steps[:length] + [""] * length
    steps[length] = step
    return _Path(steps, length + 1)


@dataclass(frozen=True, slots=True)
class _Entries:
    """Sizes of the keys and values of a list or map that the expression creates."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: _Entries | None) -> _Entries | None:
        return None if other is None else _Entries(self.is_list, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class _Local:
    path: _Path | None
    size: Range | None
    entries: _Entries | None


def estimate_cost(checked: CheckedExpression, root: Sized) -> Range:
    """Return lowest and highest cost of an expression, by the sizes that its schema allows.

    Args:
        checked: The expression with its types.
        root: The types of its variables.
    """
    return _Estimate(checked, root).cost(checked.parsed.root)


class _Estimate:
    def __init__(self, checked: CheckedExpression, root: Sized) -> None:
        self.types = checked.types
        self.references = checked.references
        self.functions = checked.functions
        self.root = root
        self.paths: dict[int, _Path | None] = {}
        self.sizes: dict[int, Range] = {}
        self.entries: dict[int, _Entries] = {}
        self.locals: dict[str, list[_Local]] = {}

    # Sizes

    def schema_size(self, steps: list[str]) -> Range | None:
        """Return the size that the schema allows at the end of a path."""
        if not steps:
            return None
        at = self.root
        for step in steps[1:]:
            if step in ("@items", "@values"):
                if at.element is None:
                    return None
                at = at.element
            elif step == "@keys":
                return NOTHING if at.is_map else None
            else:
                found = None if at.fields is None else at.fields.get(step)
                if found is None:
                    return None
                at = found
        return Range(0, at.max_elements)

    def local(self, expr: Expr) -> _Local | None:
        stack = self.locals.get(expr.name) if isinstance(expr, Ident) else None
        return stack[-1] if stack else None

    def path(self, expr: Expr) -> _Path | None:
        local = self.local(expr)
        return self.paths.get(expr.id) if local is None else local.path

    def steps(self, expr: Expr) -> list[str]:
        path = self.path(expr)
        return [] if path is None else path.steps()

    def size(self, expr: Expr) -> Range | None:
        known = self.sizes.get(expr.id)
        if known is None:
            known = _literal_size(expr)
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
        known = self.size(expr)
        return UNKNOWN if known is None else known

    def entry(self, expr: Expr) -> _Entries | None:
        known = self.entries.get(expr.id)
        if known is None and (local := self.local(expr)) is not None:
            known = local.entries
        return known

    def operand(self, expr: Expr) -> Operand:
        steps = self.steps(expr)
        if steps and steps[0] in _ACCUMULATORS:
            steps = []
        size = self.size(expr)
        if size is None:
            size = self.schema_size(steps)
        return Operand(expr, self.types[expr.id], size, self.schema_size([*steps, "@items"]) if steps else None)

    # Costs

    def cost(self, expr: Expr) -> Range:
        match expr:
            case Ident():
                local = self.local(expr)
                self.paths[expr.id] = _Path([expr.name], 1) if local is None else local.path
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
        reference = self.references.get(expr.id)
        if reference is not None:  # the whole chain is the name of a type or constant
            self.paths[expr.id] = _Path([reference.name], 1)
            return ONE
        cost = self.cost(expr.operand)
        if expr.test_only:
            return cost
        if self.types[expr.operand.id].kind in _SELECTED:
            cost = cost + ONE
        self.paths[expr.id] = _added(self.path(expr.operand), expr.field)
        return cost

    def list_literal(self, expr: ListLiteral) -> Range:
        cost, size = _LIST, None
        for element in expr.elements:
            cost = cost + self.cost(element)
            size = self.bound(element) if size is None else size | self.bound(element)
        self.entries[expr.id] = _Entries(is_list=True, key=ONE, value=NOTHING if size is None else size)
        return cost

    def map_literal(self, expr: MapLiteral) -> Range:
        cost, keys, values = _MAP, None, None
        for entry in expr.entries:
            cost = cost + self.cost(entry.key) + self.cost(entry.value)
            key, value = self.bound(entry.key), self.bound(entry.value)
            keys = key if keys is None else keys | key
            values = value if values is None else values | value
        self.entries[expr.id] = _Entries(
            is_list=False, key=NOTHING if keys is None else keys, value=NOTHING if values is None else values
        )
        return cost

    def call(self, expr: Call) -> Range:
        reference = self.references.get(expr.id)
        name = expr.function if reference is None else reference.name or expr.function
        if name == "dyn":
            cost = self.cost(expr.args[0]) + ONE
            self.copy(expr, expr.args[0])
            return cost
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
            if overload in ("index_list", "index_map"):
                entries = self.entry(expr.args[0])
                size = None if entries is None else entries.value
                step = "@items" if overload == "index_list" else "@values"
                self.paths[expr.id] = _added(self.path(expr.args[0]), step)
            if size is None:
                size = self.size(expr)
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

    def note_entries(self, expr: Expr, entries: _Entries | None) -> None:
        if entries is not None:
            self.entries[expr.id] = entries

    def copy(self, to: Expr, source: Expr) -> None:
        size = self.size(source)
        if size is not None:
            self.sizes[to.id] = size
        self.note_entries(to, self.entry(source))

    # Comprehensions

    def push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def fold(self, expr: Comprehension) -> Range:
        cost = self.cost(expr.range) + self.cost(expr.init)
        self.push(expr.accumulator, _Local(self.path(expr.init), self.size(expr.init), self.entry(expr.init)))
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
        entries, path = self.entry(expr.range), self.path(expr.range)
        is_list = self.types[expr.range.id].kind is Kind.LIST if entries is None else entries.is_list
        key = None if entries is None else entries.key
        value = None if entries is None else entries.value
        if expr.variable2 is not None:
            self.push(expr.variable, _Local(_added(path, "@indices" if is_list else "@keys"), key, None))
            self.push(expr.variable2, _Local(_added(path, "@items" if is_list else "@values"), value, None))
        elif is_list:
            self.push(expr.variable, _Local(_added(path, "@items"), value, None))
        else:
            self.push(expr.variable, _Local(_added(path, "@keys"), key, None))

    def bind(self, expr: Comprehension) -> Range:
        cost = self.cost(expr.range) + self.cost(expr.init)
        self.push(expr.accumulator, _Local(self.path(expr.init), self.size(expr.init), self.entry(expr.init)))
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
        and expr.accumulator != _ACCUMULATORS[0]
    )


def _literal_size(expr: Expr) -> Range | None:
    if isinstance(expr, Literal):
        return fixed(len(expr.value)) if type(expr.value) in (str, bytes) else ONE
    if isinstance(expr, ListLiteral):
        return fixed(len(expr.elements))
    return fixed(len(expr.entries)) if isinstance(expr, MapLiteral) else None


def _is_scalar(kind: Type) -> bool:
    while kind.is_optional or kind.kind is Kind.WRAPPER:
        kind = kind.parameters[0]
    return kind.kind in _SCALARS
