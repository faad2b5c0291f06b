"""What calls cost at worst and at least: what the prices in the records of functions are made of.

A price that does not apply returns None: then that of the function is used instead of that of its overload, and last 1.
The costs of arguments are added by the caller.

Source: k8s.io/apiserver pkg/cel/library/cost.go; cel-go checker/cost.go (functionCost), ext/{lists,sets}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor.cel.estimate.ranges import ONE, UNKNOWN, Range, fixed
from auditor.cel.operations.cost import REGEX, TEXT
from auditor.cel.syntax.ast import Literal

if TYPE_CHECKING:
    from auditor.cel.operations.dispatch import Declaration
    from auditor.cel.syntax.ast import Expr
    from auditor.cel.types import Type

__all__ = [
    "LIST_BASE",
    "Operand",
    "Price",
    "Priced",
    "allocated",
    "matching",
    "price_of",
    "read_argument",
    "read_receiver",
]

LIST_BASE: Final = fixed(10)
"""Cost of making a list."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A receiver or an argument.

    Attributes:
        expr: Its tree.
        type: Its type.
        size: What is known of its size, None if nothing is.
        element: The size of its items as far as the schema tells, of a list; None of everything else.
    """

    expr: Expr
    type: Type
    size: Range | None
    element: Range | None = None

    @property
    def bound(self) -> Range:
        """Its size, anything where nothing is known."""
        return UNKNOWN if self.size is None else self.size

    @property
    def integer(self) -> int | None:
        """The number that it is, where it is a constant one."""
        if isinstance(self.expr, Literal) and type(self.expr.value) is int:
            return self.expr.value
        return None


@dataclass(frozen=True, slots=True)
class Priced:
    """What a call costs without its arguments, and how large its result is where that is known."""

    cost: Range
    size: Range | None = None


Price = Callable[[Operand | None, Sequence[Operand], str], Priced | None]
"""(receiver, arguments, overload) -> the price, None means this one does not apply."""


def price_of(declaration: Declaration | None, overload: str, target: Operand | None, args: Sequence[Operand]) -> Priced:
    """Return what a call costs at worst and at least, without its operands.

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


def read_receiver(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    """Price what reads a receiver once."""
    return None if target is None else Priced(target.bound.scaled(TEXT))


def read_argument(factor: float = TEXT) -> Price:
    """Return the price of reading the first argument."""

    def price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
        return Priced(args[0].bound.scaled(factor)) if args else None

    return price


def allocated(factor: float, size: Range) -> Priced:
    """Return the price of a new list of a size."""
    return Priced(size.scaled(factor) + ONE + LIST_BASE, size)


def matching(text: Range, pattern: Range) -> Range:
    """Return the cost of matching texts with patterns."""
    return (text + ONE).scaled(TEXT) * pattern.scaled(REGEX)
