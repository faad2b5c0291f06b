"""Values of names during an evaluation: the variables of the call, and those of each comprehension.

Source: cel-go interpreter/activation.go, frame.go, and the folder of interpretable.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from auditor.cel.values import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.cel.operations.cost import Tracker

__all__ = ["FoldScope", "Node", "Scope"]


class Scope:
    """The variables passed to the evaluation."""

    __slots__ = ("tracker", "variables")

    def __init__(self, variables: Mapping[str, Any], tracker: Tracker) -> None:
        self.variables = variables
        self.tracker = tracker

    def lookup(self, name: str) -> Any:
        """Return the value of a name, or `MISSING`."""
        return self.variables.get(name.removeprefix("."), MISSING)


class Node(Protocol):
    """A part of an expression that can run."""

    def run(self, scope: Scope) -> Any:
        """Return the value, which may be a `CelError`."""


class FoldScope(Scope):
    """The variables of one comprehension: items and accumulator, which is computed at its first use."""

    __slots__ = ("_accumulated", "_initial", "_is_set", "accumulator", "items", "parent")

    def __init__(self, parent: Scope, accumulator: str, initial: Node) -> None:
        super().__init__({}, parent.tracker)
        self.parent = parent
        self.accumulator = accumulator
        self.items: dict[str, Any] = {}
        self._initial = initial
        self._accumulated: Any = None
        self._is_set = False

    def lookup(self, name: str) -> Any:
        """Return the value of a name, or `MISSING`."""
        scope: Scope = self
        while type(scope) is FoldScope:
            if name == scope.accumulator:
                return scope.accumulated()
            if name in scope.items:
                return scope.items[name]
            scope = scope.parent
        return scope.lookup(name)

    def accumulated(self) -> Any:
        """Return the value of the accumulator."""
        if not self._is_set:
            self._is_set = True
            value = self._initial.run(self.parent)
            # Later steps add to an empty list in place; it may be a constant with other users.
            self._accumulated = [] if type(value) is list and not value else value
        return self._accumulated

    def accumulate(self, value: Any) -> None:
        """Set the accumulator to the value of a step."""
        self._is_set = True
        self._accumulated = value
