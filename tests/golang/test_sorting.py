"""Lists end in the order in which Go's `sort.Sort` leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from auditor.golang.sorting import sort
from tests.golang.recorded_answers import recorded

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWERS = recorded("sort")
LESS: dict[str, Callable[[int, int], bool]] = {
    "plain": lambda left, right: left < right,
    "kubectl": lambda left, right: left == 0 or (right != 0 and left < right),  # 0 is a value that is missing
}


def _order(less: str, keys: list[int]) -> list[int]:
    positions = list(range(len(keys)))
    sort(positions, lambda left, right: LESS[less](keys[left], keys[right]))
    return positions


@pytest.mark.parametrize("size", sorted({len(keys) for (_, keys), _ in ANSWERS}))
def test_equal_keys_end_in_the_order_of_go(size: int) -> None:
    asked = [(less, keys, order) for (less, keys), order in ANSWERS if len(keys) == size]
    assert [keys for less, keys, order in asked if _order(less, keys) != order] == []


def test_an_empty_list_is_sorted() -> None:
    assert _order("plain", []) == []
