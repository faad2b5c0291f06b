"""Upper bounds of costs and sizes: sums of products of the size of an object and the lengths of its lists.

A bound is computed once per rule; for an object it takes a few multiplications. `SIZE` is at least the number of
characters of any text and of bytes in the JSON of any list in the object, see `Bound.at`. Lengths are those of lists
that field names lead to from `self`, so that they are known before the rule runs.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_SIZE: Final = "size"
Length = tuple[str, ...]
"""Keys that lead from `self` to a list or map."""
Monomial = tuple["str | Length", ...]


class Bound:
    """A polynomial with coefficients that are not negative.

    Args:
        terms: Product of variables to coefficient; the empty product is the constant.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, float]) -> None:
        self.terms = dict(terms)

    def __add__(self, other: Bound) -> Bound:
        terms = dict(self.terms)
        for product, factor in other.terms.items():
            terms[product] = terms.get(product, 0) + factor
        return Bound(terms)

    def __mul__(self, other: Bound) -> Bound:
        terms: dict[Monomial, float] = {}
        for mine, factor in self.terms.items():
            for yours, more in other.terms.items():
                product: Monomial = tuple(sorted((*mine, *yours), key=repr))
                terms[product] = terms.get(product, 0) + factor * more
        return Bound(terms)

    def scaled(self, factor: float) -> Bound:
        """Return the bound times a number."""
        return Bound({product: factor * each for product, each in self.terms.items()})

    @property
    def degree(self) -> int:
        """The largest number of multiplied variables."""
        return max((len(product) for product, factor in self.terms.items() if factor), default=0)

    @property
    def lengths(self) -> list[Length]:
        """The lengths in the bound."""
        return sorted({each for product in self.terms for each in product if isinstance(each, tuple)})

    def without_lengths(self, most: Callable[[Length], Bound]) -> Bound:
        """Return the bound with lengths replaced by their own bounds."""
        length = ZERO
        for product, factor in self.terms.items():
            term = constant(factor)
            for each in product:
                term *= most(each) if isinstance(each, tuple) else SIZE
            length += term
        return length

    def at(self, size: int) -> int:
        """Return the bound for objects up to a size; it must not have lengths.

        Args:
            size: Bytes of the JSON text, or more; plus the longest default that the read may have added.
        """
        return ceil(sum(factor * float(size) ** len(product) for product, factor in self.terms.items())) + 1

    def code(self, size: str, lengths: Mapping[Length, str]) -> str:
        """Return the bound as an expression.

        Args:
            size: The variable with the size.
            lengths: Expressions of the lengths.
        """
        parts = []
        for product, factor in self.terms.items():
            names = [lengths[each] if isinstance(each, tuple) else size for each in product]
            number = ceil(factor * 1000) / 1000
            parts.append(" * ".join([repr(int(number) if number == int(number) else number), *names]))
        return " + ".join([*parts, "1"])


def constant(value: float) -> Bound:
    """Return the bound for a constant number."""
    return Bound({(): value})


ZERO: Final = Bound({})
ONE: Final = constant(1)
SIZE: Final = Bound({(_SIZE,): 1.0})


def tenth(bound: Bound, factor: float = 0.1) -> Bound:
    """Return a bound of a tenth, rounded up."""
    return bound.scaled(factor) + ONE


def greater(one: Bound, other: Bound) -> Bound:
    """Return a bound of the maximum of both."""
    keys = one.terms.keys() | other.terms.keys()
    return Bound({key: max(one.terms.get(key, 0), other.terms.get(key, 0)) for key in keys})


def lesser(one: Bound, other: Bound) -> Bound:
    """Return a bound of the minimum: one of the two."""
    first, second = (one, other) if one.degree <= other.degree else (other, one)
    if first.degree == second.degree and sum(second.terms.values()) < sum(first.terms.values()):
        return second
    return first
