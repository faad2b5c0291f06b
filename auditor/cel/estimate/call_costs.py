"""Lowest and highest costs of calls, from which the records of functions are built.

A price returns None if it does not apply: then the price of the function replaces that of its overload; the default is
1. The caller adds the costs of arguments. Sizes and costs are ranges of unsigned 64-bit numbers that stop at the top
instead of wrapping around.

Source: k8s.io/apiserver pkg/cel/library/cost.go; cel-go checker/cost.go (functionCost, SizeEstimate, CostEstimate),
ext/{lists,sets}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

from auditor.cel.operations.cost import REGEX, TEXT
from auditor.cel.syntax.ast import Literal

if TYPE_CHECKING:
    from auditor.cel.cel_types import Type
    from auditor.cel.syntax.ast import Expr


MAX_COST: Final = (1 << 64) - 1
"""The largest cost that is counted."""


def saturated_product(left: int, right: int) -> int:
    """Multiply two counts, up to the largest one."""
    return min(left * right, MAX_COST)


def _scaled(count: int, factor: float) -> int:
    """Multiply a count by a factor and round up, in the floating point of the server."""
    return min(ceil(float(count) * factor), MAX_COST)


@dataclass(frozen=True, slots=True)
class Range:
    """A range from `min` to `max`, both included."""

    min: int
    max: int

    def __add__(self, other: Range) -> Range:
        return Range(min(self.min + other.min, MAX_COST), min(self.max + other.max, MAX_COST))

    def __mul__(self, other: Range) -> Range:
        return Range(saturated_product(self.min, other.min), saturated_product(self.max, other.max))

    def __or__(self, other: Range) -> Range:
        """Return the range that contains both."""
        return Range(min(self.min, other.min), max(self.max, other.max))

    def scaled(self, factor: float) -> Range:
        """Multiply both ends and round up."""
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))


def fixed(count: int) -> Range:
    """Return the range of one number; a number beyond 64 bits wraps around, as in Go."""
    count &= MAX_COST
    return Range(count, count)


NOTHING: Final = Range(0, 0)
ONE: Final = Range(1, 1)
UNKNOWN: Final = Range(0, MAX_COST)


LIST_BASE: Final = fixed(10)
"""Cost of making a list."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A receiver or an argument.

    Attributes:
        expr: Its tree.
        type: Its type.
        size: A range of its size; None if not known.
        element: For a list, a range of the size of its items from the schema; else None.
    """

    expr: Expr
    type: Type
    size: Range | None
    element: Range | None = None

    @property
    def bound(self) -> Range:
        """A range of its size; any size if not known."""
        return UNKNOWN if self.size is None else self.size

    @property
    def integer(self) -> int | None:
        """Its value, if it is an integer constant."""
        if isinstance(self.expr, Literal) and type(self.expr.value) is int:
            return self.expr.value
        return None


@dataclass(frozen=True, slots=True)
class Priced:
    """The cost of a call without its arguments, and the size of its result if known."""

    cost: Range
    size: Range | None = None


Price = Callable[[Operand | None, Sequence[Operand], str], Priced | None]
"""(receiver, arguments, overload) -> the price, or None if this one does not apply."""


def read_receiver(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    """Return the price of reading a receiver once."""
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
