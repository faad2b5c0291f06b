"""``sort.Sort``: the order in which Go leaves items that compare as equal.

Go sorts by pattern-defeating quicksort, whose every step follows from the answers of the comparison: equal lists end in
the same order. A comparison may contradict itself, as that of kubectl does; the order is still Go's.
Source: Go package sort; O. Peters, "Pattern-defeating Quicksort", arXiv 2106.05123.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_SHORT: Final = 12
"""A range of up to this number of items is sorted by insertion."""
_LONG: Final = 50
"""A range of this number of items has the median of nine as its pivot, and is repaired if it is nearly sorted."""
_REPAIRS: Final = 5
_COMPARISONS_OF_NINE: Final = 12
_UINT64: Final = (1 << 64) - 1


def sort(items: list[T], less: Callable[[T, T], bool]) -> None:
    """Sort a list in place as Go does; `less` returns whether its first argument goes before its second."""
    _Sorter(items, less).sort(0, len(items), len(items).bit_length())


class _Sorter(Generic[T]):
    """The list; ranges are half open."""

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self.less = less

    def sort(self, first: int, end: int, bad_splits: int) -> None:
        """Sort a range by quicksort, and by heapsort after a number of bad splits."""
        items, less = self.items, self.less
        balanced = ordered = True
        while (size := end - first) > _SHORT:
            if not bad_splits:
                self._heapsort(first, size)
                return
            if not balanced:
                self._scatter(first, size)
                bad_splits -= 1
            position, inversions = self._median(first, size)
            if inversions == _COMPARISONS_OF_NINE:
                items[first:end] = items[first:end][::-1]
                position, inversions = first + end - 1 - position, 0
            if balanced and ordered and not inversions and self._repair(first, end):
                return
            is_least = first > 0 and not less(items[first - 1], items[position])
            self._swap(first, position)
            if is_least:
                first = 1 + self._split(first, end, with_equal=True)[0]
                continue
            middle, ordered = self._split(first, end, with_equal=False)
            self._swap(first, middle)
            balanced = min(middle - first, end - middle) >= size // 8
            if middle - first < end - middle:
                self.sort(first, middle, bad_splits)
                first = middle + 1
            else:
                self.sort(middle + 1, end, bad_splits)
                end = middle
        for start in range(first + 1, end):
            self._sink(start, first)

    def _swap(self, left: int, right: int) -> None:
        items = self.items
        items[left], items[right] = items[right], items[left]

    def _sink(self, position: int, lowest: int) -> None:
        """Move an item down to its place among those before it."""
        while position > lowest and self.less(self.items[position], self.items[position - 1]):
            self._swap(position, position - 1)
            position -= 1

    def _median(self, first: int, size: int) -> tuple[int, int]:
        """Return the position of a pivot, and how many of the comparisons that chose it found an inversion."""
        inversions = 0

        def median(three: list[int]) -> int:
            nonlocal inversions
            for left in (0, 1, 0):
                if self.less(self.items[three[left + 1]], self.items[three[left]]):
                    three[left : left + 2] = three[left + 1], three[left]
                    inversions += 1
            return three[1]

        quarters = [first + size // 4 * number for number in (1, 2, 3)]
        if size >= _LONG:
            quarters = [median([middle - 1, middle, middle + 1]) for middle in quarters]
        return median(quarters), inversions

    def _split(self, first: int, end: int, *, with_equal: bool) -> tuple[int, bool]:
        """Move the items that are less than the first, the pivot, or equal to it, before the others.

        Returns:
            The position of the last of them, or `first`; and whether no item was moved.
        """
        items, less, left, right, ordered = self.items, self.less, first + 1, end - 1, True
        pivot = items[first]

        def goes_left(item: T) -> bool:
            return not less(pivot, item) if with_equal else less(item, pivot)

        while True:
            while left <= right and goes_left(items[left]):
                left += 1
            while left <= right and not goes_left(items[right]):
                right -= 1
            if left > right:
                return right, ordered
            self._swap(left, right)
            left, right, ordered = left + 1, right - 1, False

    def _repair(self, first: int, end: int) -> bool:
        """Move up to five items of a nearly sorted range; return whether it is sorted then."""
        items, less, position = self.items, self.less, first + 1
        for _ in range(_REPAIRS):
            while position < end and not less(items[position], items[position - 1]):
                position += 1
            if position == end:
                return True
            if end - first < _LONG:
                return False
            self._swap(position, position - 1)
            if position - first > 1:
                self._sink(position - 1, 0)
            if end - position > 1:
                self._rise(position + 1, end)
        return False

    def _rise(self, position: int, end: int) -> None:
        """Move an item up to its place among those after it."""
        while position < end and self.less(self.items[position], self.items[position - 1]):
            self._swap(position, position - 1)
            position += 1

    def _scatter(self, first: int, size: int) -> None:
        """Swap three items in the middle with items that are drawn by the size (xorshift)."""
        drawn, middle = size, first + size // 4 * 2
        for position in (middle - 1, middle, middle + 1):
            drawn ^= drawn << 13 & _UINT64
            drawn ^= drawn >> 7
            drawn ^= drawn << 17 & _UINT64
            other = drawn % (1 << size.bit_length())
            self._swap(position, first + (other if other < size else other - size))

    def _heapsort(self, first: int, size: int) -> None:
        for root in reversed(range((size + 1) // 2)):
            self._sift(first, root, size)
        for last in reversed(range(size)):
            self._swap(first, first + last)
            self._sift(first, 0, last)

    def _sift(self, first: int, root: int, size: int) -> None:
        """Move the root of a heap down to its place."""
        items, less = self.items, self.less
        while (child := 2 * root + 1) < size:
            child += child + 1 < size and less(items[first + child], items[first + child + 1])
            if not less(items[first + root], items[first + child]):
                return
            self._swap(first + root, first + child)
            root = child
