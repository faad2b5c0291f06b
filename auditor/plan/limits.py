"""How much memory a process of a run may hold, and how long the rules of the objects of a shard may take."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["LEAST_MEMORY", "SIZE_IN_MEMORY", "bound_process", "bound_worker", "pattern_seconds", "rule_seconds"]

LEAST_MEMORY: Final = 128 << 20
"""Bytes without which no process of a run gets far."""
_SLOW_SECONDS, _SLOW_SECONDS_A_BYTE = 5.0, 20.0 / (1 << 20)
"""How long the slow objects of a shard may take together: so much, and so much more for each byte of its values."""
_MATCH_SECONDS, _MATCH_SECONDS_A_BYTE = 2.0, 5.0 / (1 << 20)
"""The same of patterns that are slow to match."""

SIZE_IN_MEMORY: Final = 64
"""Bytes that a byte of JSON takes as objects of Python, and as what is made of them, at most."""


def bound_process(memory: int) -> None:
    """Let this process, and each that it starts, hold at most so many bytes; what needs more raises MemoryError.

    Mapped files do not count. Where the system knows no such limit there is none.
    """
    try:
        import resource  # noqa: PLC0415 - not on every system

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        bound = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    except (ImportError, AttributeError, OSError, ValueError):
        return


def bound_worker(memory: int, jobs: int) -> None:
    """Let a worker hold its share of what all processes may hold; in the process of the command itself do nothing."""
    processes = sys.modules.get("multiprocess.process")  # which a worker has loaded
    if memory and processes is not None and processes.parent_process() is not None:
        bound_process(max(memory // max(jobs, 1), LEAST_MEMORY))


def rule_seconds(size: int) -> float:
    """Return how long the rules of the slow objects of a shard may compute together.

    Args:
        size: Bytes of its values.
    """
    return _SLOW_SECONDS + size * _SLOW_SECONDS_A_BYTE


def pattern_seconds(size: int) -> float:
    """Return how long the patterns of a shard that are slow may be matched together.

    Args:
        size: Bytes of its values.
    """
    return _MATCH_SECONDS + size * _MATCH_SECONDS_A_BYTE
