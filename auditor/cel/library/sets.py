"""Lists taken as sets: ``sets.contains``, ``sets.equivalent``, ``sets.intersects``.

Source: cel-go ext/sets.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.errors import CelError
from auditor.cel.function import Function, Overload
from auditor.cel.library.lists import items
from auditor.cel.operations.cost import size
from auditor.cel.operations.equality import contains
from auditor.cel.types import BOOL, list_of, type_param

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["functions"]


def _contains(values: Any, parts: Any) -> bool:
    for part in items(parts):
        found = contains(values, part)
        if isinstance(found, CelError):
            raise found
        if not found:
            return False
    return True


def _equivalent(left: Any, right: Any) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: Any, right: Any) -> bool:
    return any(contains(right, item) is True for item in items(left))


def _compared(times: int) -> Callable[[Sequence[Any], Any], int]:
    """Return the cost of comparing all with all, so many times."""
    return lambda arguments, _: size(arguments[0]) * size(arguments[1]) * times + 1


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    pair = (list_of(type_param("T")),) * 2
    kinds = (("contains", _contains, 1), ("equivalent", _equivalent, 2), ("intersects", _intersects, 1))
    return tuple(
        [
            Function(
                f"sets.{name}",
                member=False,
                overloads=(
                    Overload(f"list_sets_{name}_list", pair, BOOL, call, _compared(times), is_priced_first=True),
                ),
            )
            for name, call, times in kinds
        ]
    )
