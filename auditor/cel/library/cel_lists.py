"""Functions on lists from cel-go: ``slice``, ``flatten``, ``distinct``, ``reverse``, ``sort``, ``lists.range``.

The macro ``sortBy`` becomes a call of ``@sortByAssociatedKeys``. All of them create lists and cost by size. If the cost
cannot be determined because the receiver is not a list, the server's whole evaluation ends.

Source: cel-go ext/lists.go, version 3.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import DYN, INT, Kind, list_of, type_param
from auditor.cel.cel_values import CelList, is_list
from auditor.cel.emit.bounds import constant
from auditor.cel.emit.functions import range_code, same_extent
from auditor.cel.estimate.call_costs import MAX_COST, Operand, Priced, allocated, fixed
from auditor.cel.function import Code, Costs, Function, Overload
from auditor.cel.library.lists import COMPARABLE, items
from auditor.cel.library.prices import compared_bound, made_bound
from auditor.cel.operations.cost import LIST, TEXT, size
from auditor.cel.operations.equality import compare, equal, type_of
from auditor.cel.operations.go_names import go_type
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Sequence


_LONGEST_RANGE = 1_000_000
_BY_INSERTION = 12
_CALL = 1
_KINDS = frozenset([kind.kind for _, kind in COMPARABLE])
_LISTS = frozenset({Kind.LIST})


def _slice(values: Any, start: int, end: int) -> list[Any]:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{call}, negative indexes not supported")
    if start > end:
        raise CelError(f"{call}, start index must be less than or equal to end index")
    length = size(values)
    if length < end:
        raise CelError(f"{call}, list is length {length}")
    return list(items(values))[start:end]


def _flatten(value: Any, depth: Any = None) -> list[Any]:
    if not is_list(value) or not (depth is None or type(depth) is int):
        if isinstance(value, CelError):
            raise value
        argument = "" if depth is None else _name(depth)
        raise CelError(f"no such overload: {_name(value)}.flatten({argument})")
    return _flat(value, 1 if depth is None else depth)


def _name(value: Any) -> str:
    kind = type_of(value)
    return f"{kind.name}({', '.join(map(str, kind.parameters))})" if kind.parameters else kind.name


def _flat(values: Any, depth: int) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for item in items(values):
        if depth and is_list(item):
            flat += _flat(item, depth - 1)
        else:
            flat.append(item)
    return flat


def _sort_by_keys(values: Any, keys: Any) -> Any:
    """Sort a list by the keys of its items."""
    pairs, ranks = list(items(values)), list(items(keys))
    if len(pairs) != len(ranks):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(pairs)} and {len(ranks)} elements respectively"
        )
    if not pairs:
        return values
    kind = type_of(ranks[0])
    if kind.kind not in _KINDS:
        raise CelError("list elements must be comparable")
    if any(type_of(rank) != kind for rank in ranks):
        raise CelError("list elements must have the same type")
    return [pairs[index] for index in _order(ranks)]


def _order(ranks: list[Any]) -> list[int]:
    """Return the positions of values in sorted order.

    Go uses insertion sort for up to twelve values, which determines the position of NaN: it is neither before nor after
    any value. For more than twelve, Go's order of equal values is not stable; here they keep their order.
    """
    if len(ranks) > _BY_INSERTION:
        by_rank = cmp_to_key(_compare)
        return sorted(range(len(ranks)), key=lambda index: by_rank(ranks[index]))
    positions: list[int] = []
    for index, rank in enumerate(ranks):
        place = index
        while place and _compare(rank, ranks[positions[place - 1]]) < 0:
            place -= 1
        positions.insert(place, index)
    return positions


def _compare(left: Any, right: Any) -> int:
    try:
        return compare(left, right)
    except CelError:
        return 0  # NaN


def _sort(values: Any) -> Any:
    return _sort_by_keys(values, values)


class _LongRange(CelList):
    """A range that costs more than a rule may spend: its items are never read."""

    __slots__ = ("end",)

    def __init__(self, end: int) -> None:
        self.end = end

    def cel_size(self) -> int:
        """Return the number of items."""
        return self.end

    def cel_get(self, index: Any) -> Any:
        """Return the item at an index."""
        return index


def _unchecked_range(end: int) -> Any:
    return _LongRange(end) if end > _LONGEST_RANGE else list(range(end))


def _range(end: int) -> list[int]:
    if end < 0:
        raise CelError(f"lists.range: size must be non-negative, got {end}")
    if end > _LONGEST_RANGE:
        raise CelError(f"lists.range: size {end} exceeds maximum allowed ({_LONGEST_RANGE})")
    return list(range(end))


def _reverse(values: Any) -> list[Any]:
    return list(items(values))[::-1]


def _distinct(values: Any) -> Any:
    distinct: list[Any] = []
    for item in items(values):
        if not any(equal(item, other) is True for other in distinct):
            distinct.append(item)
    return distinct or values


# -- costs -------------------------------------------------------------------------------------------------------------


def _broken(value: Any, wanted: str) -> CelError:
    error = isinstance(value, CelError)
    return CelError(
        f"internal error: interface conversion: {'*types.Err' if error else go_type(value)} is not {wanted}"
    )


def _output(_args: Sequence[Any], result: Any, _overload: str) -> int:
    return size(result) + _CALL + LIST


def _flattened(arguments: Sequence[Any], _result: Any, _overload: str) -> int:
    depth = 1
    if len(arguments) == 2:
        if type(arguments[1]) is not int:
            kind = "*types.Err" if isinstance(arguments[1], CelError) else go_type(arguments[1])
            raise CelError(f"internal error: interface conversion: ref.Val is {kind}, not types.Int")
        depth = arguments[1]
    cost = size(arguments[0]) * (depth if depth >= 0 else 1)
    return (cost if float(cost) < 1 << 64 else 1 << 63) + _CALL + LIST


def _flattened_before(arguments: Sequence[Any], result: Any, overload: str) -> int:
    """Return the cost before `changes.AFFIXES_COST`: unsigned, a negative depth takes it below zero."""
    depth = arguments[1] if len(arguments) == 2 else 1
    if type(depth) is not int or depth >= 0:
        return _flattened(arguments, result, overload)
    return (_CALL + LIST + size(arguments[0]) * depth) % (1 << 64)


def _compared(value: Any) -> int:
    """Return the cost of comparing all items with each other, which is higher for texts."""
    if not is_list(value):
        # Go names the first method, in alphabetical order, that the value lacks.
        missing = "Add" if isinstance(value, CelError) else _first_missing(value)
        raise _broken(value, f"traits.Lister: missing method {missing}")
    length = size(value)
    factor = 2.0
    if length and type_of(next(items(value))).kind in (Kind.STRING, Kind.BYTES):
        factor += TEXT
    return int(length * length * factor) + _CALL + LIST


def _first_missing(value: Any) -> str:
    kind = type_of(value).kind
    if kind in (Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.STRING, Kind.BYTES, Kind.DURATION, Kind.TIMESTAMP):
        return "Contains"
    return "Add"


def _count(operand: Operand, otherwise: int) -> int:
    number = operand.integer
    return otherwise if number is None else max(number, 0)


def _slice_price(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    return allocated(1, fixed(_count(args[1], target.bound.max) - _count(args[0], 0)))


def _flatten_price(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    return allocated(float(_count(args[0], MAX_COST)) if args else 1.0, target.bound)


def _range_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    return allocated(1, fixed(_count(args[0], MAX_COST)))


def _reverse_price(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is None else allocated(1, target.bound)


def _compared_price(target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    if target is None:
        return None
    is_text = overload.startswith(("list_string_", "list_bytes_"))
    size = args[0].bound if args else target.bound
    return allocated(2.0 + TEXT if is_text else 2.0, size * size)


_COMPARED = Costs(lambda args, _result, _overload: _compared(args[-1]), _compared_price)
_COMPARED_BOUND = Costs(bound=compared_bound)
_UNBOUNDED = Costs(is_bounded=False)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    values = list_of(type_param("T"))
    anything = list_of(DYN)
    flattened = Costs(_flattened if changes.AFFIXES_COST.holds else _flattened_before, _flatten_price)
    flatten = (
        Overload("list_flatten", (list_of(values),), values, _flatten, flattened),
        Overload("list_flatten_int", (anything, INT), anything, _flatten, flattened),
    )
    sort = tuple(
        [
            Overload(f"list_{kind.name}_sort", (list_of(kind),), list_of(kind), _sort, _COMPARED, is_priced_first=True)
            for _, kind in COMPARABLE
        ]
    )
    sort_by = tuple(
        [
            Overload(
                f"list_{kind.name}_sortByAssociatedKeys",
                (values, list_of(kind)),
                values,
                _sort_by_keys,
                _COMPARED,
                is_priced_first=True,
            )
            for _, kind in COMPARABLE
        ]
    )
    slice_ = Overload("list_slice", (values, INT, INT), values, _slice)
    reverse = Overload("list_reverse", (values,), values, _reverse)
    distinct = Overload("list_distinct", (values,), values, _distinct, _COMPARED, is_priced_first=True)
    range_ = Overload(
        "lists_range", (INT,), list_of(INT), _range if changes.RANGES_ARE_CHECKED.holds else _unchecked_range
    )
    same = Code(extent=same_extent)
    return (
        Function("slice", True, (slice_,), costs=Costs(_output, _slice_price, made_bound), code=same),
        Function("flatten", True, flatten, guarded=False, costs=_UNBOUNDED),
        Function("sort", True, sort, singleton=True, operands=_LISTS, costs=_COMPARED_BOUND, code=same),
        Function(
            "@sortByAssociatedKeys",
            True,
            sort_by,
            singleton=True,
            operands=_LISTS,
            costs=_UNBOUNDED,
        ),
        Function(
            "lists.range",
            False,
            (range_,),
            costs=Costs(_output, _range_price, lambda values: constant(max(values[0].shape.high, 0) + LIST + 1)),
            code=Code(range_code),
        ),
        Function("reverse", True, (reverse,), costs=Costs(_output, _reverse_price, made_bound), code=same),
        Function("distinct", True, (distinct,), costs=_COMPARED_BOUND, code=same),
    )
