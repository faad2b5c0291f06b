"""Depth: objects and schemas may be nested as deeply as the API server's decoder takes them, 10,000 levels.

Python refuses 1,000 nested calls. On Linux the stack of the main thread grows up to a limit that a process may raise
for itself while it runs; the number of nested calls is raised with it, so that Python refuses before the stack ends.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import Final

__all__ = ["allow_depth"]

_CALLS: Final = 100_000
"""Nested calls: 10,000 levels, with some calls for each."""
_STACK: Final = 512 << 20
_THREAD: Final = 8 << 20
_BYTES_A_CALL: Final = _STACK // _CALLS
"""Twice as much as the most costly calls take, which go through functions written in C."""


def _bound_threads() -> None:
    """Give new threads small stacks: the C library took the limit of the stack as their size when this process began.

    Each counts as memory, used or not, so that no thread could start in a process whose memory is bounded.
    """
    import ctypes  # noqa: PLC0415 - only where the process was started with a high limit

    with suppress(AttributeError, OSError):  # of another C library
        library, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(256)
        library.pthread_attr_init(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_THREAD))
        library.pthread_setattr_default_np(attributes)


def allow_depth() -> None:
    """Let the main thread of this process, and of those forked from it, nest calls as deeply as objects are."""
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return
    import resource  # noqa: PLC0415 - not on every platform

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft != resource.RLIM_INFINITY and soft > _THREAD:
        _bound_threads()
    room = _STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard)
    if soft != resource.RLIM_INFINITY and soft < room:
        try:
            resource.setrlimit(resource.RLIMIT_STACK, (room, hard))
        except (OSError, ValueError):
            room = soft
    sys.setrecursionlimit(max(sys.getrecursionlimit(), min(_CALLS, room // _BYTES_A_CALL)))
