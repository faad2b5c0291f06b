"""Progress of long work, passed on to a listener, which shows it; without a listener nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


_listeners: list[Callable[[str, int, int | None, str], None]] = []


def listen(listener: Callable[[str, int, int | None, str], None] | None) -> None:
    """Pass all progress of this process from now on to one listener, with the arguments of `tell`; None ends that."""
    _listeners[:] = [] if listener is None else [listener]


def tell(phase: str, done: int, total: int | None, unit: str) -> None:
    """Report how far the work is; the caller does so once for many items.

    Args:
        phase: What is done, as one word: opening, reading, judging, writing.
        done: How much of it is done.
        total: How much there is; None if not known.
        unit: What is counted; ``B`` for bytes.
    """
    for listener in _listeners:
        listener(phase, done, total, unit)
