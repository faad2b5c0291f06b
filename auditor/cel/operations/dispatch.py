"""Chooses the code of a call: the overload that the checker chose, or the first whose types match the values.

Source: cel-go common/decls/decls.go (Bindings, guards), interpreter/planner.go (planCall).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import Kind, Type
from auditor.cel.cel_values import Duration, Timestamp
from auditor.cel.function import PLAIN, UNIT
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, find, size_of, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.cel.estimate.call_costs import Price
    from auditor.cel.function import Code, Costs, Function, Overload
    from auditor.cel.operations.cost import Rule


_RECEIVERS = (str, Duration, Timestamp)
"""Values that receive calls in cel-go, only to answer that they have no such function."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """All records of one function name, with and without receiver, of all libraries, merged.

    Attributes:
        name: The name.
        overloads: Each with whether it is called on a receiver.
        singleton: See `Function`; and so on.
    """

    name: str
    overloads: tuple[tuple[Overload, bool], ...]
    singleton: bool = False
    operands: frozenset[Kind] | None = None
    guarded: bool = True
    regex_argument: int | None = None
    costs: Costs = UNIT
    code: Code = PLAIN
    is_folded: bool = False

    def overload(self, key: str) -> Overload | None:
        """Return an overload by its id."""
        return next((each for each, _ in self.overloads if each.id == key), None)

    def runtime(self, key: str) -> Rule | None:
        """Return the cost rule of a call, see `Costs`; `key` is empty if several overloads are possible."""
        settled = self.overload(key)
        own = None if settled is None else settled.costs.runtime
        return self.costs.runtime if own is None else own

    def worst(self, key: str) -> Iterator[Price]:
        """Yield the prices of the server's estimate for an overload, see `Costs`."""
        settled = self.overload(key)
        for costs in (UNIT if settled is None else settled.costs, self.costs):
            if costs.worst is not None:
                yield costs.worst


def declare(functions: Sequence[Function]) -> dict[str, Declaration]:
    """Return declarations by name; functions that come later add their overloads after earlier ones."""
    declarations: dict[str, Declaration] = {}
    for new in functions:
        mine = tuple((overload, new.member) for overload in new.overloads)
        before = declarations.get(new.name)
        if before is None:
            declarations[new.name] = Declaration(
                new.name, mine, new.singleton, new.operands, new.guarded, new.regex_argument, new.costs, new.code,
                new.is_folded,
            )  # fmt: skip
        else:
            declarations[new.name] = replace(
                before,
                overloads=before.overloads + mine,
                regex_argument=before.regex_argument if new.regex_argument is None else new.regex_argument,
                costs=new.costs if before.costs is UNIT else before.costs,
                code=new.code if before.code is PLAIN else before.code,
            )
    return declarations


@dataclass(frozen=True, slots=True)
class Implementation:
    """How to run a call.

    Attributes:
        call: Takes the values, returns the result or raises `CelError`.
        unguarded: The same without a check of the types of the values.
        in_order: See `Overload`.
        cost: The cost rule of the call, see `Costs`.
        is_priced_first: See `Overload`.
    """

    call: Callable[..., Any]
    unguarded: Callable[..., Any]
    in_order: bool
    cost: Rule | None = None
    is_priced_first: bool = False


def choose(declaration: Declaration, overload_id: str, count: int) -> Implementation:
    """Return how to run a call.

    Args:
        declaration: The function.
        overload_id: The overload that the checker chose; empty if several are possible.
        count: Number of arguments, including the receiver.
    """
    settled = declaration.overload(overload_id)
    cost = declaration.runtime(overload_id)
    first = settled is not None and settled.is_priced_first
    if declaration.singleton:
        call = declaration.overloads[0][0].call
        return Implementation(_for_operands(declaration, call), call, count > 2, cost, first)
    if settled is None and len(declaration.overloads) == 1:
        settled = declaration.overloads[0][0]
    if settled is None:
        by_values = _by_values(declaration)
        return Implementation(by_values, by_values, in_order=True, cost=cost)
    in_order = count > 2 or settled.in_order
    guarded = _guarded(declaration.name, settled) if declaration.guarded else settled.call
    return Implementation(guarded, settled.call, in_order, cost, first)


def _no_overload(name: str, values: Sequence[Any]) -> CelError:
    return CelError(f"{NO_SUCH_OVERLOAD}: {name}({', '.join(type_of(value).name for value in values)})")


def _for_operands(declaration: Declaration, call: Callable[..., Any]) -> Callable[..., Any]:
    operands, name = declaration.operands, declaration.name
    if operands is None:
        return call

    def run(*values: Any) -> Any:
        first = values[0]
        if type_of(first).kind not in operands:
            raise CelError(NO_SUCH_OVERLOAD if isinstance(first, _RECEIVERS) else f"{NO_SUCH_OVERLOAD}: {name}")
        return call(*values)

    return run


def _guarded(name: str, overload: Overload) -> Callable[..., Any]:
    call, expected = overload.call, overload.args

    def run(*values: Any) -> Any:
        if not all(map(matches, expected, values)):
            raise _no_overload(name, values)
        return call(*values)

    return run


def _by_values(declaration: Declaration) -> Callable[..., Any]:
    overloads = [overload for overload, _ in declaration.overloads]
    name, guarded = declaration.name, declaration.guarded

    def run(*values: Any) -> Any:
        for overload in overloads:
            if len(overload.args) == len(values) and (not guarded or all(map(matches, overload.args, values))):
                return overload.call(*values)
        raise _no_overload(name, values)

    return run


def matches(expected: Type, value: Any) -> bool:
    """Return whether a parameter of a type accepts a value; for lists and maps, the first item is checked."""
    kind = expected.kind
    if kind in (Kind.DYN, Kind.ANY, Kind.PARAM):
        return True
    if kind is Kind.WRAPPER:
        return value is None or matches(expected.parameters[0], value)
    if expected.name != type_of(value).name:
        return False
    if kind is Kind.LIST:
        if not size_of(value):
            return True
        return matches(expected.parameters[0], value[0] if type(value) is list else next(iter(value.cel_iter())))
    if kind is Kind.MAP:
        if not size_of(value):
            return True
        key = next(iter(value if type(value) is dict else value.cel_iter()))
        return matches(expected.parameters[0], key) and matches(expected.parameters[1], find(value, key))
    return True
