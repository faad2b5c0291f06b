"""The hash of a file, computed beside other work, and whether a server is using the file.

It imports little: a database is hashed while the libraries that read it are being loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import sys
import threading
from pathlib import Path

from auditor.sources.files.map_guard import guard_maps

__all__ = ["DIGEST_SIZE", "SECTOR", "Digest", "in_use", "map_file"]

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
