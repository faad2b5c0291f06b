"""What is made of definitions, kept in a folder from one run to the next.

What is in the folder is run as code: generated functions. So nothing is read from a folder or a file of another user,
that others may write, or that is a link. Each file begins with the SHA-256 of its name and content: one
that is damaged counts as missing and is written anew. Files appear by a rename, whole, so that any number of runs may
use one folder. A folder that cannot be made or written is no error: then nothing is kept.

What a file is found by is the hash of what it was made of, and of the Python and the auditor that made it. No report
depends on the cache: whatever is in it is what would be made without.
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
"""Bytes of all files in the folder; those that were not used for the longest time are removed first."""
_MOST_OF_ONE: Final = MOST_BYTES // 8
_MAGIC: Final = b"auditor cache 1\n"
_HEAD: Final = len(_MAGIC) + 32
_NEW: Final = "new-"
_STALE: Final = 3600.0
"""Seconds after which a file that was not finished is removed."""
_USED: Final = 3600.0
"""Seconds after which a file that is used counts as used anew."""
_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH


class CacheRefused(Exception):
    """The folder is not used; the text says why."""


class DiskCache:
    """A folder of what is kept; an open descriptor of it, so that it stays the folder that was looked at.

    Args:
        folder: Is made where it is missing, for this user alone.
        most: Bytes of all files.

    Raises:
        CacheRefused: Others can write it or a file in it, it belongs to another user, or is a link.
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
        """Return what is kept of a kind under a key, or None if there is nothing that can be trusted."""
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
        """Keep something of a kind under a key, where that is possible."""
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
        return "it has several names" if stat.S_ISREG(state.st_mode) and state.st_nlink > 1 else ""

    def _look(self) -> None:
        """Look at the folder and all files; remove the oldest if they are too many bytes, and what was left unfinished.

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
            if why := self._fault(state) if stat.S_ISREG(state.st_mode) else "it is no file":
                raise CacheRefused(f"{entry} in it: {why}")
            if not entry.startswith(_NEW):
                files.append((state.st_mtime, state.st_size, entry))
            elif now - state.st_mtime > _STALE:
                self._remove(entry)
        total = sum(size for _, size, _ in files)
        for _, size, name in sorted(files):
            if total <= self._most:
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
    """Return a hash of what makes the files: this Python and the files of this auditor."""
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
    """Return what this process keeps things in, or None if it keeps nothing."""
    return _active


def use_cache(folder: str) -> str:
    """Keep things in a folder from now on, where that is possible.

    Args:
        folder: Empty: nothing is kept that is not kept already.

    Returns:
        Why the folder is not used; empty if it is, or if there can be none, as on a read-only disk.
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
    """Keep things in a folder inside the block; yield what `use_cache` returns."""
    global _active  # noqa: PLW0603 - that of this process
    before, _active = _active, None
    try:
        yield use_cache(folder)
    finally:
        if _active is not None:
            _active.close()
        _active = before
