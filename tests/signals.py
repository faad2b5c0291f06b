"""Signals for processes that tests start."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["heeded"]


@contextmanager
def heeded(*numbers: int) -> Iterator[None]:
    """Let processes that are started meanwhile heed signals that are ignored around the tests, as below `nohup`."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in set(numbers)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
