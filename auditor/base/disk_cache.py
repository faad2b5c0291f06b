"""A folder that caches what is computed from definitions (such as generated code) for later runs.

The folder holds generated functions, which are run as code. So a folder or file is refused if it belongs to another
user, if others may write it, or if it is a link. Each file begins with the SHA-256 of its name and content: a damaged
one counts as missing and is written again. Each file is written under a temporary name and renamed, so that any number
of runs may share the folder. If the folder cannot be made or written, nothing is cached; that is not an error.

The name of a file is a hash of its inputs and of the Python and auditor that made it. No report depends on the cache:
without it, the same content would be computed again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from auditor.base.release import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST_BYTES", "CacheRefused", "DiskCache", "active_cache", "use_cache", "using_cache"]

MOST_BYTES: Final = 64 << 20
"""Limit of the bytes of all files in the folder; the least recently used ones are removed first."""
_MOST_OF_ONE: Final = MOST_BYTES // 8
_MAGIC: Final = b"auditor cache 1\n"
_HEAD: Final = len(_MAGIC) + 32
_NEW: Final = "new-"
_STALE: Final = 3600.0
"""Seconds after which an unfinished file is removed."""
_USED: Final = 3600.0
"""Seconds after which the time of last use of a file is updated."""
_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH


class CacheRefused(Exception):
    """Raised if the folder cannot be trusted; the text says why."""


class DiskCache:
    """A cache folder. It is held open, so that the folder that was checked cannot be exchanged for another one.

    Args:
        folder: Path of the folder; it is created if missing, readable by this user alone.
        most: Limit of the bytes of all files.

    Raises:
        CacheRefused: Others can write the folder or a file in it, it belongs to another user, or it is a link.
        OSError: It cannot be made or opened.
    """

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self.folder = folder
        self._most = most
        self._user = os.geteuid()
        with suppress(FileExistsError):
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(mode=0o700)
        if folder.is_symlink():
            raise CacheRefused("it is a link")
        self._place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._room = 0
        try:
            self._look()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the folder."""
        os.close(self._place)

    def get(self, kind: str, key: bytes) -> bytes | None:
        """Return the cached content of a kind under a key, or None if there is none that can be trusted."""
        name = _name(kind, key)
        try:
            place = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._place)
        except OSError:
            return None
        with os.fdopen(place, "rb") as stream:
            state = os.fstat(place)
            if not stat.S_ISREG(state.st_mode) or self._fault(state) or state.st_size > self._most:
                return None
            data = stream.read(state.st_size + 1)
            if time.time() - state.st_mtime > _USED:
                with suppress(OSError):
                    os.utime(place)
        body = data[_HEAD:]
        if len(data) != state.st_size or data[:_HEAD] != _MAGIC + _digest(name, body):
            return None
        return body

    def put(self, kind: str, key: bytes, body: bytes) -> None:
        """Cache content of a kind under a key, if the folder can be written."""
        if len(body) > min(_MOST_OF_ONE, self._most // 2):
            return
        name = _name(kind, key)
        new = f"{_NEW}{os.getpid()}-{name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(OSError):
            with os.fdopen(os.open(new, flags, 0o600, dir_fd=self._place), "wb") as stream:
                try:
                    stream.write(_MAGIC + _digest(name, body) + body)
                    stream.flush()
                    os.rename(new, name, src_dir_fd=self._place, dst_dir_fd=self._place)
                except BaseException:
                    os.unlink(new, dir_fd=self._place)
                    raise
            self._room -= len(body) + _HEAD
            if self._room < 0:
                self._look()

    def _fault(self, state: os.stat_result) -> str:
        """Return why a file or folder cannot be trusted; empty if it can."""
        if state.st_uid != self._user:
            return f"it belongs to another user (uid {state.st_uid})"
        if state.st_mode & _WRITABLE:
            return f"others can write it (mode {stat.S_IMODE(state.st_mode):04o})"
        return "it has several hard links" if stat.S_ISREG(state.st_mode) and state.st_nlink > 1 else ""

    def _look(self) -> None:
        """Check the folder and all files; remove unfinished files, and the oldest ones if all together are too large.

        Raises:
            CacheRefused: One cannot be trusted.
        """
        if why := self._fault(os.fstat(self._place)):
            raise CacheRefused(why)
        files, now = [], time.time()
        for entry in os.listdir(self._place):  # noqa: PTH208 - of the open folder
            try:
                state = os.stat(entry, dir_fd=self._place, follow_symlinks=False)
            except FileNotFoundError:  # another run has removed it
                continue
            if why := self._fault(state) if stat.S_ISREG(state.st_mode) else "it is not a regular file":
                raise CacheRefused(f"{entry} in it: {why}")
            if not entry.startswith(_NEW):
                files.append((state.st_mtime, state.st_size, entry))
            elif now - state.st_mtime > _STALE:
                self._remove(entry)
        total = sum(size for _, size, _ in files)
        most = self._most if total <= self._most else self._most - self._most // 8  # else each further file looks again
        for _, size, name in sorted(files):
            if total <= most:
                break
            self._remove(name)
            total -= size
        self._room = self._most - total

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(name, dir_fd=self._place)


def _name(kind: str, key: bytes) -> str:
    return f"{kind}-{hashlib.sha256(b'%d ' % len(kind) + kind.encode() + _maker() + key).hexdigest()}"


def _digest(name: str, body: bytes) -> bytes:
    return hashlib.sha256(b"%d " % len(name) + name.encode() + body).digest()


@cache
def _maker() -> bytes:
    """Return a hash of this Python and of the sources of this auditor, which make the files."""
    found = hashlib.sha256(f"{VERSION} {sys.version} {sys.implementation.cache_tag} ".encode())
    for folder, below, names in os.walk(Path(__file__).parent.parent):
        below.sort()
        for name in sorted(names):
            if name.endswith((".py", ".json")):
                state = os.stat(f"{folder}/{name}")  # noqa: PTH116 - no Path for each of 600 files
                found.update(f"{name} {state.st_size} {state.st_mtime_ns} ".encode())
    return found.digest()


_active: DiskCache | None = None


def active_cache() -> DiskCache | None:
    """Return the cache of this process, or None if it has none."""
    return _active


def use_cache(folder: str) -> str:
    """Use a folder as the cache of this process from now on, if possible.

    Args:
        folder: Path of the folder; if empty, the cache stays as it is.

    Returns:
        Why the folder is not used; empty if it is used, or if it cannot exist, as on a read-only disk.
    """
    global _active  # noqa: PLW0603 - that of this process
    if not folder or not hasattr(os, "geteuid") or os.open not in os.supports_dir_fd:
        return ""
    if _active is not None and _active.folder == Path(folder):
        return ""
    try:
        _active = DiskCache(Path(folder))
    except CacheRefused as error:
        return str(error)
    except OSError:
        return ""
    return ""


@contextmanager
def using_cache(folder: str) -> Iterator[str]:
    """Use a folder as the cache inside the block; yield what `use_cache` returns."""
    global _active  # noqa: PLW0603 - that of this process
    before, _active = _active, None
    try:
        yield use_cache(folder)
    finally:
        if _active is not None:
            _active.close()
        _active = before
