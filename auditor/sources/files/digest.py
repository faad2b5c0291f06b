"""A file as a whole: its hash, made beside other work, and whether a server is using it.

Light on purpose: a database is hashed while the libraries that read it are still being loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.sources.files.map_guard import guard_maps

if TYPE_CHECKING:
    from auditor.sources.plan import Progress

__all__ = ["DIGEST_SIZE", "SECTOR", "Digest", "in_use", "map_file"]

DIGEST_SIZE = 32
"""Bytes of the digest behind a snapshot."""

SECTOR = 512
_HASH_AT_ONCE = 32 << 20
"""Between two pieces the thread waits for the interpreter: up to 5 ms, in which 8 MB could be hashed."""
_BEHIND = 10
"""By how much less is made of a thread that others should not wait for, where the system gives threads their own."""


def map_file(path: str | Path) -> mmap.mmap | bytes:
    """Map a file for reading; an empty file, which cannot be mapped, gives empty bytes."""
    with Path(path).open("rb") as stream:
        if stream.seek(0, 2) == 0:
            return b""
        guard_maps()
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def in_use(path: Path) -> bool:
    """Whether a server holds the lock of a database; nothing waits for it here."""
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
    """Hashes a file beside other work; hashing holds no interpreter lock.

    Args:
        path: The file.
        progress: Called now and then with bytes done and bytes in all.
        behind: What is done beside it takes longer; it comes first where processors are few.

    Attributes:
        data: The file, mapped; a reader that uses this finds its pages there already.
        sha256: Hex digest of the whole file, after `join`.
        status: ``ok``, ``mismatch``, or ``absent`` where the file carries none, after `join`.
    """

    def __init__(self, path: Path, progress: Progress | None = None, *, behind: bool = False) -> None:
        super().__init__(daemon=True)
        self._behind = behind
        self.data = map_file(path)
        self._progress = progress
        self.sha256 = ""
        self.status = "absent"

    def run(self) -> None:
        """Hash everything, looking at the digest on the way."""
        if self._behind and sys.platform == "linux":
            with contextlib.suppress(OSError):  # it is all the same where that is refused
                os.nice(_BEHIND)  # of this thread alone
        data, total = memoryview(self.data), len(self.data)
        carries = total % SECTOR == DIGEST_SIZE
        body = total - DIGEST_SIZE if carries else total
        running = hashlib.sha256()
        step = _HASH_AT_ONCE if self._progress else max(body, 1)
        for start in range(0, body, step):
            running.update(data[start : min(start + step, body)])
            if self._progress:
                self._progress(start, total)
        if carries:
            self.status = "ok" if running.digest() == data[body:] else "mismatch"
            running.update(data[body:])
        self.sha256 = running.hexdigest()
