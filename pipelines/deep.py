"""Recursion depth: objects and schemas may be nested as deeply as the API server's decoder accepts, 10,000 levels.

Python's default is 1,000 nested calls. On Linux the stack of the main thread grows up to a limit that a process may
raise while it runs; the recursion limit is raised with it, so that Python raises before the stack is full.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import Final

_CALLS: Final = 100_000
"""Recursion limit: 10,000 levels, with several calls for each."""
_STACK: Final = 512 << 20
_THREAD: Final = 8 << 20
_BYTES_A_CALL: Final = _STACK // _CALLS
"""Bytes of stack for each call: twice the need of the most costly calls, which go through C functions."""


def _bound_threads() -> None:
    """Give new threads small stacks: the C library took their size from the stack limit when this process began.

    Large stacks would count as memory even if unused, so that no thread could start in a process with limited memory.
    """
    import ctypes  # noqa: PLC0415 - only where the process was started with a high limit

    with suppress(AttributeError, OSError):  # another C library
        library, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(256)
        library.pthread_attr_init(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_THREAD))
        library.pthread_setattr_default_np(attributes)


def allow_depth() -> None:
    """Allow the main thread of this process, and of processes forked from it, calls as deeply nested as objects."""
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
