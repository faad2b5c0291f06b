"""Bounds of the costs of rules, by position and size of the object, so that running them need not count.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.cel.environment import PER_CALL_LIMIT
from auditor.validation.rules.evaluate import OBJECT_BUDGET

if TYPE_CHECKING:
    from auditor.cel.emit.bounds import Bound

__all__ = ["NEVER", "RuleCosts"]

NEVER: Final = OBJECT_BUDGET + 1
"""A cost larger than one object may spend."""


class RuleCosts:
    """Bounds of the costs of the rules of positions."""

    def __init__(self) -> None:
        self._positions: list[list[Bound]] = []
        self._known: dict[int, tuple[int, ...]] = {}

    def add(self, bounds: list[Bound]) -> int:
        """Add a position; return its number.

        Args:
            bounds: The bounds of its rules, without those that are measured when they run.
        """
        self._positions.append(bounds)
        return len(self._positions) - 1

    def at(self, size: int) -> tuple[int, ...]:
        """Return for each position the bound for objects of a size in bytes; `NEVER` if one alone exceeds the limit.

        All positions must have been added.
        """
        step = size.bit_length()
        costs = self._known.get(step)
        if costs is None:
            costs = self._known[step] = tuple(
                _total([bound.at(1 << step) for bound in each]) for each in self._positions
            )
        return costs


def _total(costs: list[int]) -> int:
    return NEVER if any(cost > PER_CALL_LIMIT for cost in costs) else sum(costs)
