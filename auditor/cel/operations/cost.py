"""Costs of the steps of an evaluation, as the server counts them while it runs a rule.

Steps with a fixed cost are constants here. The record of a function has the cost of its calls (`auditor.cel.function`),
built from the parts in this module.
Source: cel-go interpreter/runtimecost.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from time import thread_time
from typing import Any

from auditor.cel.cel_errors import CelError, CostLimitExceeded, GaveUp
from auditor.cel.cel_values import CelMap, Optional_, is_list
from auditor.cel.operations.equality import find, size_of

LIST, MAP, STRUCT = 10, 30, 40
"""Cost of creating a list, a map, a message whose parts are not all constant."""
_SUMS = 1 << 64
"""The server's sums are below it: unsigned numbers of 64 bits."""
_BETWEEN_LOOKS = 1_000
"""The clock is read once for this much cost."""
TEXT = 0.1
"""Cost of reading a character."""
REGEX = 0.25
"""Cost of each character of a regular expression, for each character read."""


class Tracker:
    """Counts the cost of one evaluation and ends it beyond a limit.

    Args:
        limit: The limit.
        deadline: Time (of `time.thread_time`) at which the evaluation is given up; checked now and then.
    """

    __slots__ = ("_checkpoint", "_deadline", "_limit", "cost")

    def __init__(self, limit: int, deadline: float | None = None) -> None:
        self.cost = 0
        self._limit = limit
        self._deadline = deadline
        self._checkpoint = limit if deadline is None else min(limit, _BETWEEN_LOOKS)

    def charge(self, cost: int) -> None:
        """Add the cost of a completed step.

        Raises:
            Cancelled: The limit or the deadline is exceeded.
        """
        self.cost += cost
        if self.cost > self._checkpoint:
            self._look()

    def would_end(self, cost: int) -> bool:
        """Return whether a step with that cost would be the last, so that its result has no use."""
        return self.cost + cost > self._limit

    def _look(self) -> None:
        self.cost %= _SUMS
        if self.cost > self._limit:
            raise Cancelled
        if self._deadline is not None and thread_time() > self._deadline:
            raise Cancelled(failure=GaveUp("evaluation took too long"))
        self._checkpoint = min(self._limit, self.cost + _BETWEEN_LOOKS)


class Cancelled(Exception):
    """The evaluation ends because of its cost; not a `CelError`, so that logic does not absorb it.

    Args:
        failure: The result of the evaluation, e.g. the error while the cost of a call was computed (the server panics);
            None if the limit is exceeded.
    """

    def __init__(self, failure: CelError | None = None) -> None:
        super().__init__(failure)
        self.failure = CostLimitExceeded() if failure is None else failure


def panicked(text: str) -> Cancelled:
    """Return the end of an evaluation that panics in the server, which makes an error of it."""
    return Cancelled(CelError(f"{INTERNAL_ERROR}{text}"))


def unhashable(go_type: str) -> Cancelled:
    """Return the end of an evaluation that looks up a value in a Go map that cannot be a key of one."""
    return panicked(f"runtime error: hash of unhashable type {go_type}")


INTERNAL_ERROR = "internal error: "
GO_BYTES = "types.Bytes"
Rule = Callable[[Sequence[Any], Any, str], int]
"""(arguments, result, overload) -> the cost, see `auditor.cel.function.Costs`."""


def size(value: Any) -> int:
    """Return the size of a value: texts, lists and maps have their own, other values have 1."""
    if type(value) is str:
        return len(value)
    length = size_of(value)
    return 1 if length is None else length


def inner_size(value: Any) -> int:
    """Return the size by cel-go's own rules, which look into optionals."""
    while type(value) is Optional_ and value.has:
        value = value.value
    return size(value)


def text_cost(length: float) -> int:
    """Return the cost of reading a number of characters."""
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
    """Return the cost of a call.

    Args:
        rule: The rule of its function or overload, if there is one.
        overload: The overload that the checker chose; empty if several are possible.
        args: The arguments, including `CelError` values.
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
