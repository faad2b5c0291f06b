"""Costs that several functions share: counted at run time, estimated for new rules, bounded for code.

Every bound is at least as high as the counted cost.

Source: k8s.io/apiserver pkg/cel/library/cost.go; cel-go interpreter/runtimecost.go, checker/cost.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BYTES, STRING, Kind
from auditor.cel.emit.bounds import ONE as ONE_BOUND
from auditor.cel.emit.bounds import Bound, constant, lesser, tenth
from auditor.cel.emit.value import NotEmittable
from auditor.cel.emit.value_shapes import Form
from auditor.cel.estimate.call_costs import ONE, UNKNOWN, Operand, Price, Priced, Range, matching, read_argument
from auditor.cel.function import Costs
from auditor.cel.operations.cost import LIST, REGEX, STRUCT, TEXT, inner_size, size, text_cost, traversal
from auditor.cel.operations.cost import matching as matching_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.emit.value import Extent, Value


REQUIREMENT: Final = LIST + STRUCT
"""Cost of one requirement of a selector."""
_UTF8: Final = 4
"""Largest number of bytes of a character."""
_LONGEST_FORMAT: Final = 64
_CHEAP_TO_COMPARE: Final = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})


def size_bound(value: Value) -> Bound:
    """Return the bound of the size of a value."""
    return value.extent.own


def first_bound(factor: float = TEXT) -> Callable[[list[Value]], Bound]:
    """Return the bound of reading the first argument."""
    return lambda values: tenth(size_bound(values[0]), factor)


def made_bound(values: list[Value]) -> Bound:
    """Return the bound of creating a list as long as the first argument."""
    return size_bound(values[0]) + constant(LIST + 1)


def compared_bound(values: list[Value]) -> Bound:
    """Return the bound of comparing all items of a list with each other."""
    return (size_bound(values[0]) * size_bound(values[0])).scaled(2 + TEXT) + constant(LIST + 2)


# -- texts -------------------------------------------------------------------------------------------------------------


def read_text(times: int = 1, *, worst: Price | None = None) -> Costs:
    """Return the cost of reading the text of the first argument.

    Args:
        times: How often it is read.
        worst: The estimate if the result has a size.
    """
    return Costs(
        lambda args, _result, _overload: text_cost(size(args[0]) * times),
        read_argument(times * TEXT) if worst is None else worst,
        first_bound(times * TEXT),
    )


def _transform(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is None else Priced(target.bound.scaled(TEXT), target.bound)


TRANSFORM: Final = read_text(worst=_transform)
"""Cost of creating a text from another."""


def _search(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return matching_cost(args[0], size(args[1]))


def _matches(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    operands = [*([] if target is None else [target]), *args]
    return Priced(matching(operands[0].bound, operands[1].bound)) if len(operands) == 2 else None


def _find(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None or not args:
        return None
    return Priced(matching(target.bound, args[0].bound), Range(0, target.bound.max))


def _search_bound(values: list[Value]) -> Bound:
    return (tenth(size_bound(values[0])) + ONE_BOUND) * tenth(size_bound(values[1]), REGEX)


SEARCH: Final = Costs(_search, _matches, _search_bound)
"""Cost of matching a text with a regular expression."""
SEARCH_ALL: Final = Costs(_search, _find, _search_bound)
"""Cost of finding all matches of a regular expression."""


# -- lists and values of any kind --------------------------------------------------------------------------------------


def _through_list(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    """Return the price of looking at every item once; for a text, at every character."""
    if target is None:
        return None
    parameters = target.type.parameters
    if parameters:
        cost = ONE
        if parameters[0] in (STRING, BYTES):
            cost = cost + (UNKNOWN if target.element is None else target.element).scaled(TEXT)
        return Priced(target.bound * cost)
    return Priced(target.bound.scaled(TEXT))


def _extent_bound(extent: Extent) -> Bound:
    if extent.item is None:
        return extent.own.scaled(TEXT * _UTF8) + ONE_BOUND
    # An entry of a map has a key, which is part of the object's text too.
    return extent.own * (_extent_bound(extent.item) + ONE_BOUND) + extent.own + ONE_BOUND


def _traversal_bound(values: list[Value]) -> Bound:
    shape = values[0].shape
    item = shape.item if shape.form is Form.LIST else shape
    if item is None or item.form in (Form.LIST, Form.MAP, Form.OBJECT):
        raise NotEmittable("search among lists or maps")
    return _extent_bound(values[0].extent)


def traversal_costs(*, text_by_length: bool = False) -> Costs:
    """Return the cost of reading all of the receiver.

    Args:
        text_by_length: Whether the estimate counts a text like a list of its length.
    """

    def by_length(target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
        if target is None or target.type.parameters:
            return _through_list(target, args, overload)
        return Priced(target.bound)

    worst = by_length if text_by_length else _through_list
    return Costs(lambda args, _result, _overload: traversal(args[0]), worst, _traversal_bound)


TRAVERSAL: Final = traversal_costs()
"""Cost of reading all of the receiver: a list, or a text if it has a function of the same name."""


def _smaller(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return text_cost(min(inner_size(args[0]), inner_size(args[1])))


def _equal_cost(args: Sequence[Any], result: Any, overload: str) -> int:
    return 1 if _is_of_library(args[0]) else _smaller(args, result, overload)


def _is_of_library(value: Any) -> bool:
    """Return whether a value has a type that the server adds: comparing two of them costs 1 for all sizes."""
    if isinstance(value, CelError):
        return False
    kind = getattr(value, "cel_type", None)
    return kind is not None and kind.name.startswith(("kubernetes.", "net."))


def _compare(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    smaller = min(args[0].bound.max, args[1].bound.max)
    return Priced(Range(1 if smaller else 0, smaller).scaled(TEXT))


def _equal(target: Operand | None, args: Sequence[Operand], overload: str) -> Priced:
    left, right = args[0].type, args[1].type
    if left == right and left.kind in (Kind.OPAQUE, Kind.OBJECT):
        if left.name in _CHEAP_TO_COMPARE:
            return Priced(ONE)
        if left.name == "kubernetes.NamedFormat":
            return Priced(Range(1, _LONGEST_FORMAT).scaled(TEXT))
        if left.name == "kubernetes.URL":
            most = 1 if args[1].size is None else args[1].size.max
            return Priced(Range(1, most).scaled(TEXT))
    return _compare(target, args, overload)


def _smaller_bound(values: list[Value]) -> Bound:
    return tenth(lesser(size_bound(values[0]), size_bound(values[1])))


def _smaller_flat(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return text_cost(min(size(args[0]), size(args[1])))


def _equal_cost_flat(args: Sequence[Any], result: Any, overload: str) -> int:
    return 1 if _is_of_library(args[0]) else _smaller_flat(args, result, overload)


def _flat_bound(values: list[Value]) -> Bound:
    return _smaller_bound(values) + ONE_BOUND


COMPARISON: Final = Costs(_smaller, _compare, _smaller_bound)
"""Cost of comparing two texts."""
EQUALITY: Final = Costs(_equal_cost, _equal, _smaller_bound)
COMPARISON_OF_FLAT: Final = Costs(_smaller_flat, _compare, _flat_bound)
EQUALITY_OF_FLAT: Final = Costs(_equal_cost_flat, _equal, _flat_bound)
"""The same before `changes.SIZES_IN_OPTIONALS`."""
