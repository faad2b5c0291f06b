"""Ranges of sizes and costs: unsigned 64-bit numbers that stop at the top instead of wrapping around.

Source: cel-go checker/cost.go (SizeEstimate, CostEstimate).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

__all__ = ["MAX_COST", "NOTHING", "ONE", "UNKNOWN", "Range", "fixed", "saturated_product"]

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
