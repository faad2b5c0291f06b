"""What the steps of an evaluation cost, as the server counts them while it runs a rule.

Steps with a fixed price are constants here. What a call costs is in the record of its function
(`auditor.cel.function`); this module has what those rules are made of.
Source: cel-go interpreter/runtimecost.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from time import thread_time
from typing import Any

from auditor.cel.errors import CelError, CostLimitExceeded, GaveUp
from auditor.cel.operations.equality import find, size_of
from auditor.cel.values import CelMap, Optional_, is_list

__all__ = [
    "LIST",
    "MAP",
    "REGEX",
    "STRUCT",
    "TEXT",
    "Cancelled",
    "Rule",
    "Tracker",
    "call_cost",
    "inner_size",
    "matching",
    "size",
    "text_cost",
    "traversal",
]

LIST, MAP, STRUCT = 10, 30, 40
"""Cost of making a list, a map, a message whose parts are not all constant."""
_BETWEEN_LOOKS = 1_000
"""Cost between two looks at the clock."""
TEXT = 0.1
"""Cost of a character that is read."""
REGEX = 0.25
"""Cost of a character of a regular expression, for each that is read."""


class Tracker:
    """Counts the cost of one evaluation and ends it beyond a limit.

    Args:
        limit: The limit.
        deadline: Moment (of `time.thread_time`) at which the evaluation is given up; looked at now and then.
    """

    __slots__ = ("_checkpoint", "_deadline", "_limit", "cost")

    def __init__(self, limit: int, deadline: float | None = None) -> None:
        self.cost = 0
        self._limit = limit
        self._deadline = deadline
        self._checkpoint = limit if deadline is None else min(limit, _BETWEEN_LOOKS)

    def charge(self, cost: int) -> None:
        """Add the cost of a step that has been done.

        Raises:
            Cancelled: The limit is passed, or the deadline.
        """
        self.cost += cost
        if self.cost > self._checkpoint:
            self._look()

    def would_end(self, cost: int) -> bool:
        """Return whether a step of that cost would be the last, so that its result is of no use."""
        return self.cost + cost > self._limit

    def _look(self) -> None:
        if self.cost > self._limit:
            raise Cancelled
        assert self._deadline is not None
        if thread_time() > self._deadline:
            raise Cancelled(failure=GaveUp("evaluation took too long"))
        self._checkpoint = min(self._limit, self.cost + _BETWEEN_LOOKS)


class Cancelled(Exception):
    """The evaluation ends here, for its cost; not a `CelError`, so that nothing absorbs it.

    Args:
        failure: The result of the evaluation, e.g. what went wrong while a call was priced (the server panics); None if
            the limit is passed.
    """

    def __init__(self, failure: CelError | None = None) -> None:
        super().__init__(failure)
        self.failure = CostLimitExceeded() if failure is None else failure


Rule = Callable[[Sequence[Any], Any, str], int]
"""(arguments, result, overload) -> what the server counts, see `auditor.cel.function.Costs`."""


def size(value: Any) -> int:
    """Return the size for which a value counts: of texts, lists and maps their own, of all else 1."""
    if type(value) is str:
        return len(value)
    found = size_of(value)
    return 1 if found is None else found


def inner_size(value: Any) -> int:
    """Return the size as cel-go's own rules see it, which look into optionals."""
    while type(value) is Optional_ and value.has:
        value = value.value
    return size(value)


def text_cost(length: float) -> int:
    """Return the cost of reading so many characters."""
    return ceil(length * TEXT)


def matching(text: Any, pattern_length: int) -> int:
    """Return the cost of matching a text with a pattern."""
    return text_cost(1.0 + size(text)) * ceil(pattern_length * REGEX)


def traversal(value: Any) -> int:
    """Return the cost of reading a value once, down to its leaves; texts count by bytes."""
    kind = type(value)
    if kind is str:
        return int(len(value.encode("utf-8", "surrogateescape")) * TEXT)
    if kind is bytes:
        return int(len(value) * TEXT)
    if is_list(value):
        return sum(map(traversal, value if kind is list else value.cel_iter()))
    if kind is dict or isinstance(value, CelMap):
        keys = value if kind is dict else value.cel_iter()
        return sum(traversal(key) + traversal(find(value, key)) for key in keys)
    return 1


def call_cost(rule: Rule | None, overload: str, args: Sequence[Any], result: Any) -> int:
    """Return what a call costs.

    Args:
        rule: That of its function or overload, if there is one.
        overload: The overload that the checker settled on; empty if it left several open.
        args: The arguments, `CelError` values among them.
        result: The result, or a `CelError`.

    Raises:
        Cancelled: The cost cannot be determined (the server panics).
    """
    if rule is None:
        return 1
    try:
        return rule(args, result, overload)
    except CelError as error:
        raise Cancelled(error) from None
