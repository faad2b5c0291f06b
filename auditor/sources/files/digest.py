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
from weakref import WeakValueDictionary

from auditor.sources.source_plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

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


_mapped: Final[WeakValueDictionary[tuple[int, ...], mmap.mmap]] = WeakValueDictionary()
"""The maps that something of this process still uses, by the states of their files."""


def map_file(path: str | Path) -> mmap.mmap | bytes:
    """Map a file for reading, once in this process while it is unchanged.

    An empty file, which cannot be mapped, returns empty bytes.
    """
    with Path(path).open("rb") as stream:
        return map_open_file(stream)


def map_open_file(stream: BinaryIO) -> mmap.mmap | bytes:
    """Map an open file, as `map_file`."""
    state = os.fstat(stream.fileno())
    if state.st_size == 0:
        return b""
    key = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
    data = _mapped.get(key)
    if data is None:
        guard_maps()
        data = _mapped[key] = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return data


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
        sha256: Hex digest of the whole file, after `join`.
        status: ``ok``, ``mismatch``, or ``absent`` if the file has no digest, after `join`.
    """

    def __init__(self, path: Path, *, behind: bool = False) -> None:
        super().__init__(daemon=True)
        self._behind = behind
        self._data = map_file(path)  # a reader, which has the same map, finds its pages in memory
        self.sha256 = ""
        self.status = "absent"

    def run(self) -> None:
        """Hash everything, and compare the digest at the end."""
        if self._behind and sys.platform == "linux":
            with contextlib.suppress(OSError):  # not essential: it may be refused
                os.nice(_BEHIND)  # only for this thread
        data, total = memoryview(self._data), len(self._data)
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
NOT_VERIFIED: Final = "integrity not verified (--no-verify-digest)"
_END: Final = "end of file"
_NOTES: Final = {"ok": (), "mismatch": (_MISMATCH,), "absent": (NO_DIGEST,)}
"""Notes on a snapshot for each status of its digest."""


class LateDigests:
    """The digests that are being computed, each with its placeholder.

    Args:
        behind: As `Digest` takes it.
        is_wanted: Whether they are computed; else each dump has none, and a note says so.
    """

    def __init__(self, *, behind: bool = True, is_wanted: bool = True) -> None:
        self._behind, self._is_wanted = behind, is_wanted
        self._made: dict[str, Digest] = {}

    def start(self, path: Path) -> str:
        """Begin to hash a file; return the placeholder of its digest in a plan."""
        if not self._is_wanted:
            return NOT_VERIFIED
        text = f"digest {len(self._made)} is being made"
        self._made[text] = Digest(path, behind=self._behind)
        self._made[text].start()
        return text

    def settle(self, sources: Iterable[SourcePlan]) -> Iterator[tuple[SourcePlan, Damage]]:
        """Wait for the digests of some dumps, write them into the plans, and yield the damage that they show."""
        for source in sources:
            if source.sha256 == NOT_VERIFIED:
                source.sha256 = ""
                source.notes = tuple(dict.fromkeys((*source.notes, NOT_VERIFIED)))
            if source.sha256 in self._made:
                source.sha256 = self._of(source.sha256).sha256
            for note in source.notes:
                if note in self._made:
                    status = self._of(note).status
                    at = source.notes.index(note)
                    source.notes = (*source.notes[:at], *_NOTES[status], *source.notes[at + 1 :])
                    if status == "mismatch":
                        source.damage += (Damage(_END, _MISMATCH),)
                        yield source, source.damage[-1]

    def for_one(self) -> LateDigests:
        """Return others of the same kind, for a dump whose digest is waited for at once."""
        return LateDigests(behind=False, is_wanted=self._is_wanted)

    def settle_now(self, opened: SourcePlan | list[SourcePlan]) -> None:
        """Wait for the digests of what was opened, and write them and their damage into the plans."""
        for _ in self.settle(opened if isinstance(opened, list) else [opened]):
            pass

    def _of(self, text: str) -> Digest:
        digest = self._made[text]
        digest.join()
        return digest
