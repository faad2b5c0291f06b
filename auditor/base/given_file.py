"""Small files that a user names: regular files of bounded size, as a device or a pipe may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_MOST: Final = 64 << 20
_KINDS: Final = {
    stat.S_IFIFO: "is a pipe",
    stat.S_IFCHR: "is a device",
    stat.S_IFBLK: "is a device",
    stat.S_IFSOCK: "is a socket",
}


class _Unfit(OSError):
    """A file that is not read, although the system would."""

    def __str__(self) -> str:
        return str(self.strerror)


def irregular(path: str | Path) -> str:
    """Return what a path is if it is neither a file nor a folder; empty if it is one, or is not there."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - it may be no path at all
    except (OSError, ValueError):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "")


def read_given(path: str | Path) -> bytes:
    """Return the content of a file of settings.

    Raises:
        OSError: It cannot be read, is a pipe or a device, or has more than 64 MiB.
    """
    if kind := irregular(path):
        raise _Unfit(errno.EINVAL, f"{kind}, not a file")
    with Path(path).open("rb") as stream:
        data = stream.read(_MOST + 1)
    if len(data) > _MOST:
        raise _Unfit(errno.EFBIG, f"has more than {_MOST >> 20} MiB")
    return data
