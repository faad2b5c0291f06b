"""The hash of a file, computed beside other work, and whether a server is using the file.

It imports little: a database is hashed while the libraries that read it are being loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import signal
import struct
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.sources.source_plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.sources.source_plan import SourcePlan


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


DIGEST_SIZE = 32
"""Size in bytes of the digest after a snapshot."""

SECTOR = 512
"""Bytes that are hashed at once; between two calls the thread waits for the interpreter for up to 5 ms."""
_BEHIND = 10
"""Increment of niceness for a thread that others should not wait for, if the system has priorities of threads."""


def map_file(path: str | Path) -> mmap.mmap | bytes:
    """Map a file for reading; an empty file, which cannot be mapped, returns empty bytes."""
    with Path(path).open("rb") as stream:
        if stream.seek(0, 2) == 0:
            return b""
        guard_maps()
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def in_use(path: Path) -> bool:
    """Return whether a server holds the lock of a database, without waiting."""
    try:
        import fcntl  # noqa: PLC0415 - not on every platform
    except ImportError:
        return False
    with path.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        fcntl.flock(stream, fcntl.LOCK_UN)
        return False


class Digest(threading.Thread):
    """Hashes a file beside other work; hashing does not hold the interpreter lock.

    Args:
        path: The file.
        behind: Whether the other work takes longer, and has priority if there are few processors.

    Attributes:
        data: The mapped file; a reader that uses it finds its pages in memory.
        sha256: Hex digest of the whole file, after `join`.
        status: ``ok``, ``mismatch``, or ``absent`` if the file has no digest, after `join`.
    """

    def __init__(self, path: Path, *, behind: bool = False) -> None:
        super().__init__(daemon=True)
        self._behind = behind
        self.data = map_file(path)
        self.sha256 = ""
        self.status = "absent"

    def run(self) -> None:
        """Hash everything, and compare the digest at the end."""
        if self._behind and sys.platform == "linux":
            with contextlib.suppress(OSError):  # not essential: it may be refused
                os.nice(_BEHIND)  # only for this thread
        data, total = memoryview(self.data), len(self.data)
        carries = total % SECTOR == DIGEST_SIZE
        body = total - DIGEST_SIZE if carries else total
        running = hashlib.sha256()
        running.update(data[:body])
        if carries:
            self.status = "ok" if running.digest() == data[body:] else "mismatch"
            running.update(data[body:])
        self.sha256 = running.hexdigest()


NO_DIGEST: Final = "no checksum trailer (file copied, not `snapshot save`): integrity cannot be verified"
_MISMATCH: Final = (
    'sha256 at the end does not match: the file was changed or cut after "snapshot save"; results may be wrong'
)
_END: Final = "end of file"


def status_notes(status: str) -> tuple[str, ...]:
    """Return the notes on a snapshot for the status of its digest (`Digest.status`)."""
    return {"mismatch": (_MISMATCH,), "absent": (NO_DIGEST,)}.get(status, ())


def status_damage(status: str) -> tuple[Damage, ...]:
    """Return the damage of a snapshot for the status of its digest."""
    return (Damage(_END, _MISMATCH),) if status == "mismatch" else ()


class LateDigests:
    """The digests that are being computed, each with its placeholder."""

    def __init__(self) -> None:
        self._made: dict[str, Digest] = {}

    def add(self, digest: Digest) -> str:
        """Add a digest that was started; return its placeholder in a plan."""
        text = f"digest {len(self._made)} is being made"
        self._made[text] = digest
        return text

    def is_open(self, text: str) -> bool:
        """Return whether a text is a placeholder of a digest."""
        return text in self._made

    def settle(self, sources: Iterable[SourcePlan]) -> Iterator[tuple[SourcePlan, Damage]]:
        """Wait for the digests of some dumps, write them into the plans, and yield the damage that they show."""
        for source in sources:
            if source.sha256 in self._made:
                source.sha256 = self._of(source.sha256).sha256
            notes: list[str] = []
            for note in source.notes:
                notes += status_notes(self._of(note).status) if note in self._made else (note,)
            source.notes = tuple(notes)
            damage: list[Damage] = []
            for one in source.damage:
                if one.where not in self._made:
                    damage.append(one)
                    continue
                found = status_damage(self._of(one.where).status)
                damage += found
                yield from ((source, late) for late in found)
            source.damage = tuple(damage)

    def _of(self, text: str) -> Digest:
        digest = self._made[text]
        digest.join()
        return digest
