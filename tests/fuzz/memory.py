"""What a process of a fuzzer has taken."""

from __future__ import annotations

import resource

__all__ = ["peak"]


def peak() -> int:
    """Return the most memory that this process has had, in bytes; after a fork at least what its parent had then."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
