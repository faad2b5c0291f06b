"""Limits of a run: memory of each process, and time for the rules and patterns of a shard."""

from __future__ import annotations

import sys
from typing import Final

LEAST_MEMORY: Final = 128 << 20
"""Least bytes that a process of a run needs."""
_SLOW_SECONDS, _SLOW_SECONDS_A_BYTE = 5.0, 20.0 / (1 << 20)
"""Seconds that the rules of slow objects of a shard may take together: a constant, and more for each byte of values."""
_MATCH_SECONDS, _MATCH_SECONDS_A_BYTE = 2.0, 5.0 / (1 << 20)
"""The same limit for patterns that are slow to match."""

SIZE_IN_MEMORY: Final = 64
"""Most bytes of Python objects, including derived ones, for one byte of JSON."""


def bound_process(memory: int) -> None:
    """Limit the memory of this process and of each process that it starts; beyond the limit Python raises MemoryError.

    Mapped files do not count. On systems without such a limit, nothing happens.
    """
    try:
        import resource  # noqa: PLC0415 - not on every system

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        bound = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    except (ImportError, AttributeError, OSError, ValueError):
        return


def bound_worker(memory: int, jobs: int) -> None:
    """Limit a worker to its share of the memory of all processes; in the process of the command itself do nothing."""
    processes = sys.modules.get("multiprocess.process")  # which a worker has loaded
    if memory and processes is not None and processes.parent_process() is not None:
        bound_process(max(memory // max(jobs, 1), LEAST_MEMORY))


def rule_seconds(size: int) -> float:
    """Return the seconds that the rules of the slow objects of a shard may compute together.

    Args:
        size: Bytes of its values.
    """
    return _SLOW_SECONDS + size * _SLOW_SECONDS_A_BYTE


def pattern_seconds(size: int) -> float:
    """Return the seconds that the slow patterns of a shard may take together.

    Args:
        size: Bytes of its values.
    """
    return _MATCH_SECONDS + size * _MATCH_SECONDS_A_BYTE
