"""The operators + - * / % on values, within the bounds of 64 bits, and with times and durations.

Source: cel-go common/types (overflow.go and the operators of each type).
"""

from __future__ import annotations

import math
from typing import Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import Kind
from auditor.cel.cel_values import CelList, Duration, Timestamp, UInt, is_list
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, contains, equal, size_of

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1
MIN_SECOND, MAX_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999."""
_SECOND = 10**9

ADDERS = frozenset({
    Kind.BYTES, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.LIST, Kind.STRING, Kind.TIMESTAMP, Kind.UINT,
})  # fmt: skip
"""Kinds that have a +; any other left operand gives ``no such overload: _+_``. The other operators are alike."""
SUBTRACTERS = frozenset({Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
DIVIDERS = frozenset({Kind.DOUBLE, Kind.INT, Kind.UINT})
MODDERS = frozenset({Kind.INT, Kind.UINT})
NEGATERS = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT})


def _int(value: int) -> int:
    if MIN_INT <= value <= MAX_INT:
        return value
    raise CelError("integer overflow")


def _uint(value: int) -> UInt:
    if 0 <= value <= MAX_UINT:
        return UInt(value)
    raise CelError("unsigned integer overflow")


def timestamp_of(nanos: int, zone: int = 0) -> Timestamp:
    """Return the instant.

    Raises:
        CelError: It is before year 1 or after year 9999.
    """
    if MIN_SECOND <= nanos // _SECOND <= MAX_SECOND:
        return Timestamp(nanos, zone)
    raise CelError("timestamp overflow")


def add(left: Any, right: Any) -> Any:
    """Return ``left + right``."""
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return _int(left + right)
    if (kind is str or kind is float or kind is bytes or kind is list) and kind is other:
        return left + right
    if kind is UInt and other is UInt:
        return _uint(int(left) + int(right))
    if isinstance(left, CelList):
        return left.cel_add(right)
    if kind is list and isinstance(right, CelList):
        # Adding the empty list returns the other list, with its schema.
        return concatenated(left, right) if left else right
    if kind is Duration and other is Duration:
        return Duration(_int(left.nanos + right.nanos))
    if kind is Timestamp and other is Duration:
        return timestamp_of(left.nanos + right.nanos, left.zone)
    if kind is Duration and other is Timestamp:
        return timestamp_of(left.nanos + right.nanos, right.zone)
    raise CelError(NO_SUCH_OVERLOAD)


class Concatenated(CelList):
    """Two joined lists, one of them with an unreadable item; a comparison reports that, unlike with a plain list."""

    __slots__ = ("items", "parts")
    go_type = "*types.concatList"

    def __init__(self, parts: tuple[Any, Any], items: list[Any]) -> None:
        self.parts = parts
        self.items = items

    def cel_size(self) -> int:
        """Return the number of items."""
        return len(self.items)

    def cel_get(self, index: Any) -> Any:
        """Return the item at a valid index."""
        return self.items[int(index)]

    def cel_contains(self, value: Any) -> bool | CelError:
        """Return whether one of the parts contains a value, or else the first error."""
        first, second = (contains(part, value) for part in self.parts)
        if first is True or second is True:
            return True
        return first if isinstance(first, CelError) else second

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has equal items; an incomparable item is an error if no other differs."""
        if not is_list(other) or size_of(other) != len(self.items):
            return False
        failure: CelError | None = None
        for mine, yours in zip(self.items, other if type(other) is list else other.cel_iter(), strict=True):
            same = equal(mine, yours)
            if same is False:
                return False
            if same is not True and failure is None:
                failure = same
        return True if failure is None else failure

    def cel_add(self, other: Any) -> Any:
        """Return this list and another one."""
        if not is_list(other):
            raise CelError(NO_SUCH_OVERLOAD)
        return concatenated(self, other)


def concatenated(left: Any, right: Any) -> Any:
    """Return two lists as one."""
    items = [item for part in (left, right) for item in (part if type(part) is list else part.cel_iter())]
    if any(isinstance(item, CelError) for item in items):
        return Concatenated((left, right), items)
    return items


def subtract(left: Any, right: Any) -> Any:
    """Return ``left - right``."""
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return _int(left - right)
    if kind is float and other is float:
        return left - right
    if kind is UInt and other is UInt:
        return _uint(int(left) - int(right))
    if kind is Duration and other is Duration:
        return Duration(_int(left.nanos - right.nanos))
    if kind is Timestamp and other is Duration:
        _int(-right.nanos)
        return timestamp_of(left.nanos - right.nanos, left.zone)
    if kind is Timestamp and other is Timestamp:
        _int((left.nanos // _SECOND - right.nanos // _SECOND) * _SECOND)
        return Duration(_int(left.nanos - right.nanos))
    raise CelError(NO_SUCH_OVERLOAD)


def multiply(left: Any, right: Any) -> Any:
    """Return ``left * right``."""
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return _int(left * right)
    if kind is float and other is float:
        return left * right
    if kind is UInt and other is UInt:
        return _uint(int(left) * int(right))
    raise CelError(NO_SUCH_OVERLOAD)


def divide(left: Any, right: Any) -> Any:
    """Return ``left / right``; for integers, truncated towards zero."""
    kind, other = type(left), type(right)
    if kind is not other or kind not in (int, UInt, float):
        raise CelError(NO_SUCH_OVERLOAD)
    if kind is float:
        if right:
            return left / right
        if not left or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    if not right:
        raise CelError("division by zero")
    quotient = abs(int(left)) // abs(int(right))
    return UInt(quotient) if kind is UInt else _int(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: Any, right: Any) -> Any:
    """Return ``left % right``, with the sign of the left."""
    kind, other = type(left), type(right)
    if kind is not other or kind not in (int, UInt):
        raise CelError(NO_SUCH_OVERLOAD)
    if not right:
        raise CelError("modulus by zero")
    rest = abs(int(left)) % abs(int(right))
    if kind is UInt:
        return UInt(rest)
    if left == MIN_INT and right == -1:
        raise CelError("integer overflow")
    return -rest if left < 0 else rest


def negate(value: Any) -> Any:
    """Return ``-value``."""
    kind = type(value)
    if kind is int:
        return _int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return Duration(_int(-value.nanos))
    raise CelError(NO_SUCH_OVERLOAD)
