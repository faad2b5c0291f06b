"""Checks the free space before a dump is unpacked or fetched, if the needed size is known."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from auditor.base.errors import FileRefused

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO


_TAIL = 12
_MOST_INDEX = 1 << 20


def free_space(folder: Path) -> int | None:
    """Return the bytes that can still be written to the file system of a folder, or None if it does not say."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def check_free_space(name: str, folder: Path, size: int | None) -> None:
    """Refuse a copy that does not fit on disk.

    Args:
        name: Name of the dump.
        folder: Target folder.
        size: Size of the copy in bytes; None if not known.

    Raises:
        Refused: There is less space; the message has the free space.
    """
    free = None if not size else free_space(folder)
    if size and free is not None and size > free:
        raise FileRefused(
            name,
            f"takes {size:,} bytes in {folder}, where {free:,} are free",
            advice="free disk space, or write elsewhere (--report, $TMPDIR)",
        )


def stated_size(stream: BinaryIO, kind: str, head: bytes) -> int | None:
    """Return the unpacked size that a compressed file states (which may be wrong), or None if it states none.

    Args:
        stream: The file; its position does not change.
        kind: gzip, zstd, xz or bzip2.
        head: Its first bytes.
    """
    if kind == "zstd":
        import zstandard  # noqa: PLC0415 - only where needed

        try:
            size = int(zstandard.frame_content_size(head))
        except zstandard.ZstdError:
            return None
        return size if size > 0 else None
    if kind not in {"gzip", "xz"}:
        return None
    position = stream.tell()
    try:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, end - _TAIL))
        tail = stream.read(_TAIL)
        if kind == "gzip":
            return int.from_bytes(tail[-4:], "little")
        length = (int.from_bytes(tail[4:8], "little") + 1) * 4
        if tail[-2:] != b"YZ" or length > min(_MOST_INDEX, end - _TAIL):
            return None
        stream.seek(end - _TAIL - length)
        return _xz_size(stream.read(length))
    except OSError:
        return None
    finally:
        stream.seek(position)


def _xz_size(index: bytes) -> int | None:
    """Return the sum of the sizes in the index of an xz stream, which has a count, and two sizes for each block."""
    numbers, value, shift = [], 0, 0
    for byte in index[1:]:
        value, shift = value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
        elif shift > 63:
            break
    sizes = numbers[2 : 1 + 2 * numbers[0] : 2] if numbers else []
    return sum(sizes) if sizes and len(sizes) == numbers[0] else None
