"""How much work a call is: counts that do not depend on the machine.

What one call of C does inside counts once: comparisons of `in`, `index` and `==` of lists, joining of texts. Values
whose `__eq__` is of Python show the first (tests/validation/test_duplicates.py).
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["bytes_of", "calls_of", "events_of", "steps_of"]


def calls_of(work: Callable[[], object], *, of_c: bool = True) -> int:
    """Return how many functions of Python, and of C unless left out, are called in this thread meanwhile."""
    counts = events_of(work)
    return counts["call"] + (counts["c_call"] if of_c else 0)


def events_of(work: Callable[[], object]) -> Counter[str]:
    """Return the number of each event of the profiler in this thread meanwhile: ``call`` of Python, ``c_call`` of C."""
    counts: Counter[str] = Counter()

    def note(_: Any, event: str, __: Any) -> None:
        counts[event] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counts


def steps_of(work: Callable[[], object]) -> int:
    """Return how many lines of Python run, each turn of a loop in one line counted, and functions are called meanwhile."""
    count = 0

    def line(_frame: FrameType, _event: str, _arg: object) -> Callable[..., Any]:
        nonlocal count
        count += 1
        return line

    def call(_frame: FrameType, _event: str, _arg: object) -> None:
        nonlocal count
        count += 1

    before = sys.gettrace(), sys.getprofile()
    sys.setprofile(call)
    sys.settrace(line)
    try:
        work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


def bytes_of(work: Callable[[bytes], object], data: bytes) -> int:
    """Return how many bytes are copied, counted through or searched while some work reads them, also in pieces."""
    total = 0

    class Counted(bytes):
        __slots__ = ()

        def __getitem__(self, key: Any) -> Any:
            nonlocal total
            piece = super().__getitem__(key)
            if not isinstance(key, slice):
                return piece
            total += len(piece)
            return Counted(piece)

        def __add__(self, other: Any) -> Counted:
            nonlocal total
            total += len(self) + len(other)
            return Counted(super().__add__(other))

        def __radd__(self, other: Any) -> Counted:
            nonlocal total
            total += len(self) + len(other)
            return Counted(bytes(other) + bytes(self))

        def count(self, what: Any, start: Any = None, end: Any = None) -> int:
            nonlocal total
            total += len(range(*slice(start, end).indices(len(self))))
            return super().count(what, start, end)

        def find(self, what: Any, start: Any = None, end: Any = None) -> int:
            nonlocal total
            found = super().find(what, start, end)
            total += len(range(*slice(start, end if found < 0 else found).indices(len(self))))
            return found

    work(Counted(data))
    return total
