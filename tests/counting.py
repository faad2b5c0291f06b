"""How much work a call does, for tests of how work grows: a count is the same on each machine, a time is not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["calls_of", "lines_of"]


def calls_of(call: Callable[[], object]) -> int:
    """Return how many functions, of Python and of C, a call calls, itself left out."""
    count = 0

    def noted(_frame: Any, event: str, _word: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(noted)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


def lines_of(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs: loops that call nothing count too."""
    count = 0

    def noted(_frame: Any, event: str, _word: Any) -> Any:
        nonlocal count
        count += event == "line"
        return noted

    before = sys.gettrace()
    sys.settrace(noted)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
