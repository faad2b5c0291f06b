"""Kubernetes's functions on lists: ``sum``, ``min``, ``max``, ``isSorted``, ``indexOf``, ``lastIndexOf``, ``includes``.

Items that cannot be compared are ignored, as in the server: ``["a", 1].max()`` is ``"a"``.

Source: k8s.io/apiserver pkg/cel/library/lists.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    type_param,
)
from auditor.cel.cel_values import Duration, UInt, is_list
from auditor.cel.emit.functions import first_item_extent
from auditor.cel.function import PLAIN, Code, Costs, Function, Overload
from auditor.cel.library.prices import TRAVERSAL, traversal_costs
from auditor.cel.operations.arithmetic import add
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, compare, equal, type_of
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.cel.function import Version


COMPARABLE: tuple[tuple[str, Type], ...] = (
    ("int", INT),
    ("uint", UINT),
    ("double", DOUBLE),
    ("bool", BOOL),
    ("duration", DURATION),
    ("timestamp", TIMESTAMP),
    ("string", STRING),
    ("bytes", BYTES),
)
"""The types whose values have an order, by their names in ids of overloads."""
_KINDS = frozenset([kind.kind for _, kind in COMPARABLE])
_ZEROS: tuple[tuple[str, Type, Any], ...] = (
    ("int", INT, 0),
    ("uint", UINT, UInt(0)),
    ("double", DOUBLE, 0.0),
    ("duration", DURATION, Duration(0)),
)


def items(value: Any) -> Iterator[Any]:
    """Yield the items of a list, including `CelError` values."""
    return iter(value) if type(value) is list else value.cel_iter()


def _order(left: Any, right: Any) -> int | None:
    try:
        return compare(left, right)
    except CelError:
        return None


def _comparable(value: Any) -> Iterator[Any]:
    for item in items(value):
        if isinstance(item, CelError):
            raise item
        if type_of(item).kind not in _KINDS:
            raise CelError(NO_SUCH_OVERLOAD)
        yield item


def _is_sorted(value: Any) -> bool:
    before: list[Any] = []
    for item in _comparable(value):
        if before and _order(before.pop(), item) == 1:
            return False
        before.append(item)
    return True


def _sum(zero: Any) -> Callable[[Any], Any]:
    def call(value: Any) -> Any:
        total = zero
        for item in items(value):
            if isinstance(item, CelError):
                raise item
            total = add(total, item)
        return total

    return call


def _extreme(name: str, worse: int) -> Callable[[Any], Any]:
    """Return the function that keeps an item until it compares as `worse` than a later one."""

    def call(value: Any) -> Any:
        comparable = _comparable(value)
        try:
            best = next(comparable)
        except StopIteration:
            raise CelError(f"{name} called on empty list") from None
        for item in comparable:
            if _order(best, item) == worse:
                best = item
        return best

    return call


def _index_of(value: Any, wanted: Any) -> int:
    for index, item in enumerate(items(value)):
        if equal(item, wanted) is True:
            return index
    return -1


def _last_index_of(value: Any, wanted: Any) -> int:
    elements = list(items(value))
    for index in range(len(elements) - 1, -1, -1):
        if equal(elements[index], wanted) is True:
            return index
    return -1


def _includes(value: Any, wanted: Any) -> bool:
    if is_list(value):
        return _index_of(value, wanted) >= 0
    return equal(value, wanted) is True


def _member(
    name: str,
    *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., object]],
    costs: Costs = TRAVERSAL,
    code: Code = PLAIN,
    since: Version = (1, 0),
) -> Function:
    made = tuple([Overload(*overload) for overload in overloads])
    return Function(name, member=True, overloads=made, costs=costs, code=code, since=since)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    any_type = type_param("A")
    search = (list_of(any_type), any_type)
    least, most = _extreme("min", 1), _extreme("max", -1)
    first = Code(extent=first_item_extent)
    return (
        _member("isSorted", *[(f"list_{n}_is_sorted_bool", (list_of(t),), BOOL, _is_sorted) for n, t in COMPARABLE]),
        _member("sum", *[(f"list_{n}_sum_{n}", (list_of(t),), t, _sum(zero)) for n, t, zero in _ZEROS]),
        _member("max", *[(f"list_{n}_max_{n}", (list_of(t),), t, most) for n, t in COMPARABLE], code=first),
        _member("min", *[(f"list_{n}_min_{n}", (list_of(t),), t, least) for n, t in COMPARABLE], code=first),
        _member("indexOf", ("list_a_index_of_int", search, INT, _index_of)),
        _member("lastIndexOf", ("list_a_last_index_of_int", search, INT, _last_index_of)),
        _member(
            "includes",
            ("list_includes_dyn_dyn", (DYN, DYN), BOOL, _includes),
            costs=traversal_costs(text_by_length=True),
            since=changes.LISTS_INCLUDE.version,
        ),
    )
