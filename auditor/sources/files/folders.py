"""Entries of folders that are not files: links that lead outside, pipes, sockets and devices."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, overload

LINK_OUT: Final = "a symbolic link out of the folder; it was not read"


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path is a symbolic link to a target outside of a folder."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def not_a_file(path: str | Path) -> str:
    """Return why an entry of a folder is not read, as reading may never end; empty if it is a file, or missing."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - a path for each file takes longer
    except (OSError, ValueError):
        return ""
    return "" if stat.S_ISREG(mode) else "neither a file nor a folder; it was not read"


@overload
def whole_file(path: str) -> bytes: ...
@overload
def whole_file(path: str, most: int) -> bytes | None: ...
def whole_file(path: str, most: int | None = None) -> bytes | None:
    """Return the bytes of a file, read by few calls; None if they are more than `most`."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(number).st_size
        if most is not None and size > most:
            return None
        data = os.read(number, size + 1)
        if len(data) == size:
            return data
        blocks = [data]  # st_size is no measure: of a pipe, a file of /proc, a file that grows, a short read
        while block := os.read(number, _BLOCK):
            blocks.append(block)
        return b"".join(blocks)
    finally:
        os.close(number)


_BLOCK: Final = 1 << 20
_KEPT: Final = 64 << 20


class SmallFiles:
    """Reads files of a folder that are looked at twice, for their format and for their content, once if they are small.

    The bytes of 64 MiB of them are kept until they are taken; the others are read again.
    """

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}
        self._left = _KEPT

    def head(self, path: str, size: int) -> bytes:
        """Return the first bytes of a file, at most `size`; a file that has fewer is small."""
        data = whole_file(path, size - 1)
        if data is None:
            with Path(path).open("rb") as stream:
                return stream.read(size)
        if len(data) <= self._left:
            self._kept[path] = data
            self._left -= len(data)
        return data[:size]

    def take(self, path: str) -> bytes | None:
        """Return the content of a small file whose first bytes were asked for; None if it must be read."""
        return self._kept.pop(path, None)
