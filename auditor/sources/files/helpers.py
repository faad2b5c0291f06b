"""Other processes that help to read many files; who starts them is not known here."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


class Helpers(NamedTuple):
    """Processes beside this one.

    Attributes:
        number: How many there are.
        start: Takes a picklable call that a process makes meanwhile; the context yields a function that waits for its
            result, and raises its exception.
    """

    number: int
    start: Callable[[Callable[[], Any]], AbstractContextManager[Callable[[], Any]]]


NO_HELPERS: Final = Helpers(0, nullcontext)
