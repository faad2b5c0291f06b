"""Lists used as sets: ``sets.contains``, ``sets.equivalent``, ``sets.intersects``.

Source: cel-go ext/sets.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, list_of, type_param
from auditor.cel.emit.bounds import ONE as ONE_BOUND
from auditor.cel.estimate.call_costs import ONE, Operand, Priced
from auditor.cel.function import Costs, Function, Overload
from auditor.cel.library.lists import items
from auditor.cel.library.prices import size_bound
from auditor.cel.operations.cost import size
from auditor.cel.operations.equality import contains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.cel.emit.bounds import Bound
    from auditor.cel.emit.value import Value


def _contains(values: Any, parts: Any) -> bool:
    for part in items(parts):
        is_member = contains(values, part)
        if isinstance(is_member, CelError):
            raise is_member
        if not is_member:
            return False
    return True


def _equivalent(left: Any, right: Any) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: Any, right: Any) -> bool:
    return any(contains(right, item) is True for item in items(left))


def _compared(times: int) -> Costs:
    """Return the cost of comparing all items with all others, a number of times."""

    def runtime(args: Sequence[Any], _result: Any, _overload: str) -> int:
        return size(args[0]) * size(args[1]) * times + 1

    def worst(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
        return Priced((args[0].bound * args[1].bound).scaled(times) + ONE)

    def bound(values: list[Value]) -> Bound:
        return (size_bound(values[0]) * size_bound(values[1])).scaled(times) + ONE_BOUND

    return Costs(runtime, worst, bound)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    pair = (list_of(type_param("T")),) * 2
    kinds = (("contains", _contains, 1), ("equivalent", _equivalent, 2), ("intersects", _intersects, 1))
    return tuple(
        [
            Function(
                f"sets.{name}",
                member=False,
                overloads=(Overload(f"list_sets_{name}_list", pair, BOOL, call, is_priced_first=True),),
                costs=_compared(times),
            )
            for name, call, times in kinds
        ]
    )
