"""Handles a mapped file that is truncated while it is read: lost pages read as zeros instead of ending the process.

The system sends SIGBUS to a process that reads a page of a mapping after the end of the file. Here the page is replaced
by one of zeros, and the reader continues; at the end, the caller checks the file again (`auditor.sources.files.state`)
and reports that it changed. Only on Linux, where the layout of signal records is known.
"""

from __future__ import annotations

import mmap
import signal
import struct
import sys
from typing import Any, Final

__all__ = ["guard_maps"]

_SA_SIGINFO: Final = 4
_NO_SUCH_PAGE: Final = 2
"""Code of a SIGBUS for an address without a page."""
_ADDRESS_AT: Final = 16
"""Index of the address in the record of a signal; its code is the third number."""
_MAP: Final = 0x02 | 0x10 | 0x20
"""Flags: private, at a fixed address, without a file."""
_state: dict[str, Any] = {}


def guard_maps() -> None:
    """Let this process, and processes forked from it, survive the truncation of mapped files."""
    if _state or sys.platform != "linux" or struct.calcsize("P") != 8:
        return
    _state["tried"] = True
    import ctypes  # noqa: PLC0415 - what reads dumps has loaded it with numpy

    class _Action(ctypes.Structure):
        _fields_ = (
            ("handler", ctypes.c_void_p),
            ("mask", ctypes.c_ulong * 16),
            ("flags", ctypes.c_int),
            ("restorer", ctypes.c_void_p),
        )

    try:
        libc = ctypes.PyDLL(None)
        place, action, default, again = libc.mmap, libc.sigaction, libc.signal, getattr(libc, "raise")
    except (OSError, AttributeError):
        return
    place.restype = ctypes.c_void_p
    place.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    default.argtypes = (ctypes.c_int, ctypes.c_void_p)
    page, failed = mmap.PAGESIZE, ctypes.c_void_p(-1).value
    number_at, address_at, bus = ctypes.c_int.from_address, ctypes.c_uint64.from_address, int(signal.SIGBUS)

    def replace(_: int, record: int, __: int) -> None:
        address = address_at(record + _ADDRESS_AT).value & -page
        is_cut = number_at(record + 8).value == _NO_SUCH_PAGE
        if not is_cut or place(address, page, mmap.PROT_READ, _MAP, -1, 0) == failed:
            default(bus, None)  # another cause: the process ends as usual
            again(bus)

    handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(replace)
    wanted = _Action(ctypes.cast(handler, ctypes.c_void_p).value, flags=_SA_SIGINFO)
    action(bus, ctypes.byref(wanted), None)
    _state["handler"] = handler  # until the process ends
