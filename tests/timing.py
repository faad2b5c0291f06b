"""Processor time that a call takes, for tests of how time grows."""

from __future__ import annotations

import time
import timeit
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["least_seconds"]


def least_seconds(call: Callable[[], object], *, turns: int = 3) -> float:
    """Return the processor time of the fastest of some calls, in seconds.

    The least of them is the one that neighbours on the machine disturbed least. No garbage is collected meanwhile: what
    that takes grows with everything that other tests have left, not with the work of the call.
    """
    return min(timeit.repeat(call, timer=time.process_time, number=1, repeat=turns))
