"""What the steps of an evaluation cost, as the server counts them while it runs a rule.

Steps with a fixed price are constants here; calls are priced by `call_cost`: first by the rule of the overload that the
checker settled on, then by the server's rules for function names, then by cel-go's rules for its own overloads, else 1.
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

__all__ = ["LIST", "MAP", "STRUCT", "Tracker", "call_cost", "size"]

LIST, MAP, STRUCT = 10, 30, 40
"""Of making a list, a map, a message whose parts are not all constant."""
_BETWEEN_LOOKS = 1_000
"""Cost between two looks at the clock."""
_TEXT = 0.1
_REGEX = 0.25
_REQUIREMENT = LIST + STRUCT
"""Of one requirement of a selector."""
_AUTHORIZATION = 350_000
"""Of asking whether somebody may do something."""


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
        failure: What the evaluation comes to, e.g. what went wrong while a call was priced (the server panics); None
            where the limit is passed.
    """

    def __init__(self, failure: CelError | None = None) -> None:
        super().__init__(failure)
        self.failure = CostLimitExceeded() if failure is None else failure


def size(value: Any) -> int:
    """Return the size for which a value counts: of texts, lists and maps their own, of all else 1."""
    if type(value) is str:
        return len(value)
    found = size_of(value)
    return 1 if found is None else found


def _inner_size(value: Any) -> int:
    """Return the size as cel-go's own rules see it, which look into optionals."""
    while type(value) is Optional_ and value.has:
        value = value.value
    return size(value)


def _text(length: float) -> int:
    return ceil(length * _TEXT)


def _traversal(value: Any) -> int:
    """Return the cost of reading a value once, down to its leaves; texts count by bytes."""
    kind = type(value)
    if kind is str:
        return int(len(value.encode("utf-8", "surrogateescape")) * _TEXT)
    if kind is bytes:
        return int(len(value) * _TEXT)
    if is_list(value):
        return sum(map(_traversal, value if kind is list else value.cel_iter()))
    if kind is dict or isinstance(value, CelMap):
        keys = value if kind is dict else value.cel_iter()
        return sum(_traversal(key) + _traversal(find(value, key)) for key in keys)
    return 1


Price = Callable[[Sequence[Any], Any, str], int]


def _one(_args: Sequence[Any], _result: Any, _overload: str) -> int:
    return 1


def _first_text(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return _text(size(args[0]))


def _first_text_twice(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return _text(size(args[0]) * 2)


def _regex_search(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return _text(1.0 + size(args[0])) * ceil(size(args[1]) * _REGEX)


def _address(args: Sequence[Any], _result: Any, overload: str) -> int:
    return 1 if overload == "cidr_ip" else _text(size(args[0]))


def _contains_address(args: Sequence[Any], _result: Any, overload: str) -> int:
    cost = _text(size(args[0]) * 2)
    return cost + _text(size(args[1])) if overload == "cidr_contains_ip_string" else cost


def _contains_network(args: Sequence[Any], _result: Any, overload: str) -> int:
    own = size(args[0])
    cost = _text(own * 2) + _text(own) + 1
    return cost + _text(size(args[1])) if overload == "cidr_contains_cidr_string" else cost


def _validate(args: Sequence[Any], _result: Any, _overload: str) -> int:
    longest = getattr(args[0], "max_regex_size", None)
    return 1 if longest is None else _text(1.0 + size(args[1])) * ceil(longest * _REGEX)


def _selector(args: Sequence[Any], _result: Any, _overload: str) -> int:
    length = size(args[1])
    return LIST + _text(length) + ceil(length * 0.5) * _REQUIREMENT


def _prices(*rules: tuple[str, Price]) -> dict[str, Price]:
    return {name: price for names, price in rules for name in names.split()}


_BY_NAME = _prices(
    ("check", lambda _args, _result, _overload: _AUTHORIZATION),
    ("fieldSelector labelSelector", _selector),
    ("isSorted sum max min indexOf lastIndexOf includes", lambda args, _result, _overload: _traversal(args[0])),
    ("url lowerAscii upperAscii substring trim jsonpatch.escapeKey", _first_text),
    ("cidr isIP isCIDR quantity isQuantity semver isSemver", _first_text),
    ("replace split ip.isCanonical", _first_text_twice),
    ("join", lambda _args, result, _overload: _text(size(result) * 2)),
    ("find findAll", _regex_search),
    ("ip", _address),
    ("containsIP", _contains_address),
    ("containsCIDR", _contains_network),
    ("validate", _validate),
    ("masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast", _one),
    ("isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan", _one),
    ("compareTo add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery", _one),
)


def _smaller_text(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return _text(min(_inner_size(args[0]), _inner_size(args[1])))


_BY_OVERLOAD = _prices(
    ("starts_with_string ends_with_string", lambda args, _result, _overload: _text(_inner_size(args[1]))),
    ("string_to_bytes bytes_to_string strings_quote string_format", _first_text),
    ("in_list", lambda args, _result, _overload: _inner_size(args[1])),
    ("less_string greater_string less_equals_string greater_equals_string", _smaller_text),
    ("less_bytes greater_bytes less_equals_bytes greater_equals_bytes equals not_equals", _smaller_text),
    ("add_string add_bytes", lambda args, _result, _overload: _text(size(args[0]) + size(args[1]))),
    ("matches matches_string", _regex_search),
    ("contains_string", lambda args, _result, _overload: _text(size(args[0])) * _text(size(args[1]))),
)


def call_cost(
    function: str,
    overload: str,
    args: Sequence[Any],
    result: Any,
    own: Callable[[Sequence[Any], Any], int] | None = None,
) -> int:
    """Return what a call costs.

    Args:
        function: Its name.
        overload: The overload that the checker settled on; empty where it left several open.
        args: The arguments, `CelError` values among them.
        result: The result, or a `CelError`.
        own: The rule of that overload, if its library gave it one.
    """
    if own is not None and overload:
        try:
            return own(args, result)
        except CelError as error:
            raise Cancelled(error) from None
    price = _BY_NAME.get(function) or _BY_OVERLOAD.get(overload)
    if price is None:
        return 1
    if function == "_==_" and _is_of_library(args[0]):
        return 1
    return price(args, result, overload)


def _is_of_library(value: Any) -> bool:
    """Return whether a value is of a type that the server adds: comparing two of them costs 1, whatever their size."""
    if isinstance(value, CelError):
        return False
    kind = getattr(value, "cel_type", None)
    return kind is not None and kind.name.startswith(("kubernetes.", "net."))
