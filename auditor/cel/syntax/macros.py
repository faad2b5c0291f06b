"""Macros: calls that the parser replaces by comprehensions, node for node as cel-go does, because cost depends on it.

Source: cel-go parser/macro.go, ext/comprehensions.go, cel/library.go (optMap), ext/lists.go (sortBy).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auditor.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Select,
    StructField,
    StructLiteral,
    Unspecified,
)
from auditor.releases import changes

ACCUMULATOR = "@result"
UNUSED = "#unused"
SORT_INPUT = "@__sortBy_input__"
WRITTEN_ACCUMULATOR = "__result__"
"""Its name in rules, before `changes.NO_RESULT_VARIABLE`."""
_FORBIDDEN = (ACCUMULATOR, WRITTEN_ACCUMULATOR)


class MacroError(Exception):
    """A macro called with something it cannot expand."""

    def __init__(self, node_id: int, text: str) -> None:
        super().__init__(text)
        self.node_id = node_id
        self.text = text


class Builder:
    """Makes the nodes of one expansion; all have the position of the macro's call.

    Args:
        new_id: Returns the next number, for a node at the given offset.
        offsets: Positions of the nodes made so far.
        offset: Position of the call.
    """

    def __init__(self, new_id: Callable[[int], int], offsets: dict[int, int], offset: int) -> None:
        self._new_id = new_id
        self._offsets = offsets
        self._offset = offset

    def _id(self) -> int:
        return self._new_id(self._offset)

    def literal(self, value: Any) -> Expr:
        """Return a constant."""
        return Literal(self._id(), value)

    def ident(self, name: str) -> Expr:
        """Return a name."""
        return Ident(self._id(), name)

    def result(self) -> Expr:
        """Return the name of the accumulator."""
        return Ident(self._id(), ACCUMULATOR)

    def list(self, *elements: Expr) -> Expr:
        """Return a list literal."""
        return ListLiteral(self._id(), elements)

    def empty_map(self) -> Expr:
        """Return ``{}``."""
        return MapLiteral(self._id(), ())

    def call(self, function: str, *args: Expr) -> Expr:
        """Return a call."""
        return Call(self._id(), function, None, args)

    def member_call(self, function: str, target: Expr, *args: Expr) -> Expr:
        """Return a call on a receiver."""
        return Call(self._id(), function, target, args)

    def presence_test(self, operand: Expr, field: str) -> Expr:
        """Return ``has(operand.field)``."""
        return Select(self._id(), operand, field, test_only=True)

    def fold(
        self,
        range_: Expr,
        variables: tuple[str, str | None],
        init: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
        accumulator: str = ACCUMULATOR,
    ) -> Expr:
        """Return a comprehension."""
        first, second = variables
        return Comprehension(self._id(), range_, first, second, accumulator, init, condition, step, result)

    def copy(self, expr: Expr) -> Expr:
        """Return a copy of a tree with new numbers, at the position of the original."""
        new_id = self._new_id(self._offsets.get(expr.id, 0))
        match expr:
            case Literal():
                return Literal(new_id, expr.value)
            case Ident():
                return Ident(new_id, expr.name)
            case Select():
                return Select(new_id, self.copy(expr.operand), expr.field, expr.test_only)
            case Call():
                args = tuple(self.copy(arg) for arg in expr.args)
                target = None if expr.target is None else self.copy(expr.target)
                return Call(new_id, expr.function, target, args)
            case ListLiteral():
                return ListLiteral(new_id, tuple(self.copy(element) for element in expr.elements), expr.optional)
            case MapLiteral():
                entries = tuple(
                    MapEntry(self._id(), self.copy(entry.key), self.copy(entry.value), entry.optional)
                    for entry in expr.entries
                )
                return MapLiteral(new_id, entries)
            case StructLiteral():
                fields = tuple(
                    StructField(self._id(), part.name, self.copy(part.value), part.optional) for part in expr.fields
                )
                return StructLiteral(new_id, expr.type_name, fields)
            case Comprehension():
                parts = [self.copy(part) for part in (expr.range, expr.init, expr.condition, expr.step, expr.result)]
                return Comprehension(
                    new_id,
                    parts[0],
                    expr.variable,
                    expr.variable2,
                    expr.accumulator,
                    *parts[1:],
                )
        return Unspecified(new_id)


Macro = Callable[[Builder, Expr, tuple[Expr, ...]], Expr]


def _has(make: Builder, _target: Expr, args: tuple[Expr, ...]) -> Expr:
    arg = args[0]
    if not isinstance(arg, Select):
        raise MacroError(arg.id, "invalid argument to has() macro")
    return make.presence_test(arg.operand, arg.field)


def _variable(arg: Expr, complaint: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.id, complaint)
    return arg.name


def _one_variable(arg: Expr, complaint: str) -> tuple[str, None]:
    name = _variable(arg, complaint)
    if name in _FORBIDDEN and changes.NO_RESULT_VARIABLE.holds:
        raise MacroError(arg.id, "iteration variable overwrites accumulator variable")
    return name, None


def _two_variables(args: tuple[Expr, ...]) -> tuple[str, str]:
    first, second = (_variable(arg, "argument must be a simple name") for arg in args[:2])
    if first == second:
        raise MacroError(args[1].id, f"duplicate variable name: {first}")
    for arg, name in zip(args, (first, second), strict=False):
        if name in _FORBIDDEN:
            raise MacroError(arg.id, "iteration variable overwrites accumulator variable")
    return first, second


def _variables(args: tuple[Expr, ...], body: int) -> tuple[str, str | None]:
    return _two_variables(args) if body == 2 else _one_variable(args[0], "argument must be a simple name")


def _all(body: int) -> Macro:
    def expand(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
        variables = _variables(args, body)
        init = make.literal(value=True)
        condition = make.call("@not_strictly_false", make.result())
        step = make.call("_&&_", make.result(), args[body])
        return make.fold(target, variables, init, condition, step, make.result())

    return expand


def _exists(body: int) -> Macro:
    def expand(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
        variables = _variables(args, body)
        init = make.literal(value=False)
        condition = make.call("@not_strictly_false", make.call("!_", make.result()))
        step = make.call("_||_", make.result(), args[body])
        return make.fold(target, variables, init, condition, step, make.result())

    return expand


def _exists_one(body: int) -> Macro:
    def expand(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
        variables = _variables(args, body)
        init = make.literal(0)
        condition = make.literal(value=True)
        more = make.call("_+_", make.result(), make.literal(1))
        step = make.call("_?_:_", args[body], more, make.result())
        result = make.call("_==_", make.result(), make.literal(1))
        return make.fold(target, variables, init, condition, step, result)

    return expand


def _collect(
    make: Builder, target: Expr, variables: tuple[str, str | None], condition: Expr | None, transform: Expr
) -> Expr:
    init = make.list()
    always = make.literal(value=True)
    step = make.call("_+_", make.result(), make.list(transform))
    if condition is not None:
        step = make.call("_?_:_", condition, step, make.result())
    return make.fold(target, variables, init, always, step, make.result())


def _map(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
    variables = _one_variable(args[0], "argument is not an identifier")
    return _collect(make, target, variables, args[1] if len(args) == 3 else None, args[-1])


def _filter(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
    variables = _one_variable(args[0], "argument is not an identifier")
    return _collect(make, target, variables, args[1], args[0])


def _transform_list(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
    return _collect(make, target, _two_variables(args), args[2] if len(args) == 4 else None, args[-1])


def _transform_map(*, entries: bool) -> Macro:
    def expand(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
        variables = _two_variables(args)
        if entries:
            step = make.call("cel.@mapInsert", make.result(), args[-1])
        else:
            step = make.call("cel.@mapInsert", make.result(), make.ident(variables[0]), args[-1])
        if len(args) == 4:
            step = make.call("_?_:_", args[2], step, make.result())
        return make.fold(target, variables, make.empty_map(), make.literal(value=True), step, make.result())

    return expand


def _opt_map(*, flat: bool) -> Macro:
    name = "optFlatMap" if flat else "optMap"

    def expand(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
        variable = _variable(args[0], f"{name}() variable name must be a simple identifier")
        has_value = make.member_call("hasValue", target)
        value = make.member_call("value", make.copy(target))
        body = make.fold(
            make.list(), (UNUSED, None), value, make.literal(value=False), make.ident(variable), args[1], variable
        )
        wrapped = body if flat else make.call("optional.of", body)
        return make.call("_?_:_", has_value, wrapped, make.call("optional.none"))

    return expand


def _sort_by(make: Builder, target: Expr, args: tuple[Expr, ...]) -> Expr:
    bound = make.ident(SORT_INPUT)
    if not isinstance(target, ListLiteral | Select | Ident | Comprehension | Call):
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.id, text)
    keys = _map(make, make.copy(bound), args)
    call = make.member_call("@sortByAssociatedKeys", make.copy(bound), keys)
    return make.fold(
        make.list(), (UNUSED, None), target, make.literal(value=False), bound, call, SORT_INPUT
    )  # an empty range: this only binds the list to a name


MACROS: dict[tuple[str, int, bool], Macro] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all(1),
    ("exists", 2, True): _exists(1),
    ("exists_one", 2, True): _exists_one(1),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("all", 3, True): _all(2),
    ("exists", 3, True): _exists(2),
    ("exists_one", 3, True): _exists_one(2),
    ("existsOne", 3, True): _exists_one(2),
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map(entries=False),
    ("transformMap", 4, True): _transform_map(entries=False),
    ("transformMapEntry", 3, True): _transform_map(entries=True),
    ("transformMapEntry", 4, True): _transform_map(entries=True),
    ("optMap", 2, True): _opt_map(flat=False),
    ("optFlatMap", 2, True): _opt_map(flat=True),
    ("sortBy", 2, True): _sort_by,
}
"""(name, number of arguments, whether on a receiver) to the expansion."""
ONE_VARIABLE_MACROS: dict[tuple[str, int, bool], Macro] = {
    key: made
    for key, made in MACROS.items()
    if not key[0].startswith("transform") and key[0] != "existsOne" and (key[1] < 3 or key[0] == "map")
}
"""Those without the macros that have two variables (`TWO_VARIABLE_COMPREHENSIONS` of the library)."""
