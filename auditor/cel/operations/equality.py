"""Kinds, equality and order of values.

Numbers of different types are compared by value, int and uint with double in double precision, as cel-go does. The left
operand determines equality, and some values of other packages return an error.
Source: cel-go common/types (compare.go, util.go, and Equal and Compare of each type).
"""

from __future__ import annotations

from typing import Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, BYTES, DOUBLE, DYN, ERROR, INT, NULL, STRING, UINT, Kind, Type, list_of, map_of
from auditor.cel.cel_values import MISSING, CelList, CelMap, Duration, MapValue, Optional_, Timestamp, TypeValue, UInt

NO_SUCH_OVERLOAD = "no such overload"

_TYPES: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    list: list_of(DYN),
    dict: map_of(DYN, DYN),
}
_NUMBERS = frozenset({int, UInt, float})
_ORDERED = frozenset({bool, str, bytes, Duration, Timestamp})


def type_of(value: Any) -> Type:
    """Return the type of a value at run time; parameters of lists and maps are dyn."""
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, CelError):
        return ERROR
    type_: Type = value.cel_type
    return type_


def compare_numbers(left: float, right: float) -> int:
    """Return -1, 0 or 1 for two numbers of any types; not for NaN."""
    if type(left) is float:
        if type(right) is not float:
            if type(right) is UInt:
                low, high = 0.0, 2.0**64
            else:
                low, high = -(2.0**63), 2.0**63
            if left < low:
                return -1
            if left > high:
                return 1
            right = float(right)
    elif type(right) is float:
        return -compare_numbers(right, left)
    return (left > right) - (left < right)


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for two values that have an order.

    Raises:
        CelError: They have no order, like NaN.
    """
    kind, other = type(left), type(right)
    if kind in _NUMBERS:
        if kind is float and left != left:  # noqa: PLR0124 - NaN
            raise CelError("NaN values cannot be ordered")
        if other not in _NUMBERS:
            raise CelError(NO_SUCH_OVERLOAD)
        if other is float and right != right:  # noqa: PLR0124 - NaN
            raise CelError("NaN values cannot be ordered")
        return compare_numbers(left, right)
    if kind is not other or kind not in _ORDERED:
        raise CelError(NO_SUCH_OVERLOAD)
    return int(left > right) - int(left < right)


def equal(left: Any, right: Any) -> bool | CelError:
    """Return whether two values are equal: ``left == right``."""
    if left is None or right is None:
        return left is right
    return equal_not_null(left, right)


def equal_not_null(left: Any, right: Any) -> bool | CelError:
    """Return the equality of two values according to the left one, which is not null."""
    kind, other = type(left), type(right)
    if kind is str or kind is bool or kind is bytes:
        return kind is other and bool(left == right)
    if kind in _NUMBERS:
        if other not in _NUMBERS or left != left or right != right:  # noqa: PLR0124 - NaN
            return False
        return compare_numbers(left, right) == 0
    if kind is list:
        return _lists_equal(left, right)
    if kind is dict or kind is MapValue:
        return maps_equal(left, right)
    if left is None:
        return right is None
    if isinstance(left, CelError):
        return left
    own = getattr(left, "cel_equal", None)
    if own is not None:
        answer: bool | CelError = own(right)
        return answer
    if kind is Optional_:
        if other is not Optional_ or not left.has or not right.has:
            return other is Optional_ and left.has == right.has
        return equal_not_null(left.value, right.value)
    if kind is other:
        return bool(left == right)
    if kind in (Duration, Timestamp, TypeValue):
        return False
    return CelError(NO_SUCH_OVERLOAD)


def _lists_equal(left: list[Any], right: Any) -> bool:
    if type(right) is list:
        return len(left) == len(right) and all(
            equal(mine, yours) is not False for mine, yours in zip(left, right, strict=True)
        )
    if not isinstance(right, CelList) or len(left) != right.cel_size():
        return False
    return all(equal(mine, right.cel_get(index)) is not False for index, mine in enumerate(left))


def maps_equal(left: Any, right: Any) -> bool:
    """Return whether two maps have the same keys with equal values; values that cannot be compared count as equal."""
    if type(right) is not dict and not isinstance(right, CelMap):
        return False
    if size_of(left) != size_of(right):
        return False
    for key in left if type(left) is dict else left.cel_iter():
        theirs = find(right, key)
        if theirs is MISSING or equal(find(left, key), theirs) is False:
            return False
    return True


def find(map_: Any, key: Any) -> Any:
    """Return the value of a map at a key: `MISSING` if there is none, a `CelError` value if it cannot be read."""
    if type(map_) is dict:
        return map_.get(key, MISSING) if type(key) is str else MISSING
    return map_.cel_find(key)


def contains(container: Any, value: Any) -> bool | CelError:
    """Return whether a value is in a list, or a key in a map."""
    if type(container) is list:
        return any(_equals_item(value, item) for item in container)
    if isinstance(container, CelList):
        return container.cel_contains(value)
    value_at = find(container, value)
    return value_at if isinstance(value_at, CelError) and type(container) is not MapValue else value_at is not MISSING


def _equals_item(value: Any, item: Any) -> bool:
    return equal_not_null(value, item) is True


def size_of(value: Any) -> int | None:
    """Return the size of a string (in code points), bytes, list or map; None for values without a size.

    Values of the libraries with a size for costs (`cel_size`) have one, too.
    """
    kind = type(value)
    if kind is str or kind is list or kind is dict or kind is bytes:
        return len(value)
    own = getattr(value, "cel_size", None)
    return None if own is None else int(own())


SIZED = frozenset({Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})
"""Kinds that `size` accepts."""
