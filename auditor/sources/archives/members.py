"""The files of a tar, a zip or a folder, one after another.

The tar reader is our own, as Python's trusts the sizes in headers: here, names and extended headers are limited, and a
truncated archive yields the files before the end. Names are cleaned: a leading ``./`` is removed; names that could lead
out of a folder (absolute names, ``..``, drive letters, backslashes, zero bytes), links and devices are left out with a
note.
Source: POSIX.1-2008 pax (ustar interchange format), GNU tar manual (Basic Tar Format); APPNOTE.TXT for zip.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, Protocol

from auditor.base.errors import DamagedDump
from auditor.sources.files.compression import Limits, UnpackedStream, header_holds
from auditor.sources.files.folders import LINK_OUT, leads_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from auditor.sources.source_plan import DamageLog


_BLOCK: Final = 512
_COPY: Final = 1 << 18
_MAX_NAME: Final = 4096
_MAX_EXTENDED: Final = 1 << 20
_MAX_RECORDS: Final = 1000
"""Largest number of records of an extended header."""
_MAX_DIRECTORY: Final = 512 << 20
"""Largest size in bytes of the directory of a zip."""

_NO_FILES: Final = frozenset(b"5DV")
"""Types of folders, of GNU tar's lists of them, and of labels; other types but links and devices are files (POSIX)."""

_LINKS: Final = {ord("1"): "a hard link", ord("2"): "a symbolic link"}
_DEVICES: Final = {ord("3"): "a device", ord("4"): "a device", ord("6"): "a pipe", ord("S"): "a sparse file"}
_SPARSE: Final = b"GNU.sparse."
"""Prefix of records of an extended header that describe a sparse file."""
_ZEROS: Final = bytes(_BLOCK)
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PAX: Final = re.compile(rb"(\d{1,7}) ([^=]+)=")


class ByteStream(Protocol):
    """A stream of bytes that is read once."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, empty at the end."""


@dataclass(slots=True)
class Member:
    """One file of an archive or folder; its bytes are not available after the next one was requested.

    Attributes:
        name: Cleaned, with slashes.
        size: Size in bytes according to the container; nothing relies on it.
        open: Returns the bytes, once.
        path: The file itself, in a folder.
    """

    name: str
    size: int
    open: Callable[[], ByteStream]
    path: Path | None = None


def clean_name(raw: bytes) -> tuple[str, str]:
    """Return (name, "") or ("", what is wrong with the name)."""
    if len(raw) > _MAX_NAME:
        return "", f"a name of {len(raw)} bytes"
    name = raw.decode("utf-8", "backslashreplace")
    if b"\0" in raw:
        return "", "a name with a zero byte"
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if name.startswith("/") or _DRIVE.match(name):
        return "", "an absolute name"
    if ".." in parts:
        return "", "a name that leads out of the folder"
    if b"\\" in raw:
        return "", "a name with backslashes"
    return "/".join(parts), ""


def _shown(raw: bytes) -> str:
    return repr(raw[:100].decode("utf-8", "backslashreplace"))


# ---- tar


def _number(field: bytes) -> int:
    """Parse a number of a header: octal digits, or GNU's base 256."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    text = field.strip(b"\0 ")
    return int(text, 8) if text else 0


class _StreamMember:
    """The bytes of one file of a stream; reads only up to its end."""

    def __init__(self, stream: UnpackedStream, size: int) -> None:
        self._stream = stream
        self.left = size

    def read(self, size: int) -> bytes:
        block = self._stream.read(min(size, self.left))
        self.left -= len(block)
        return block


def _pax(data: bytes, damage: Callable[[str], None]) -> dict[bytes, bytes]:
    """Parse the records of an extended header, up to the first malformed one."""
    out: dict[bytes, bytes] = {}
    position = count = 0
    while match := _PAX.match(data, position):
        end = position + int(match[1])
        if end <= match.end() or end > len(data):
            break
        count += 1
        if count > _MAX_RECORDS:
            damage(f"an extended header of more than {_MAX_RECORDS:,} records; the others were not read")
            break
        out[match[2]] = data[match.end() : end - 1]
        position = end
    return out


def tar_members(stream: UnpackedStream, damage: DamageLog, limits: Limits | None = None) -> Iterator[Member]:
    """Yield the files of a tar.

    Args:
        stream: The bytes, decompressed.
        damage: Receives the files that are left out, and the position at which the archive is truncated.
        limits: Limits the number of files.
    """
    limits = limits or Limits()
    position = count = 0
    long_name: bytes | None = None
    pax: dict[bytes, bytes] = {}
    while True:
        block, zeros = stream.read(_BLOCK), position
        while block == _ZEROS:
            position += _BLOCK
            block = stream.read(_BLOCK)
        if not block.strip(b"\0"):
            if position == zeros and count:
                damage.add(f"byte {position}", _ending(stream, "the archive ends without its end mark"))
            return
        if position > zeros:
            reason = f"{position - zeros} zero bytes, which mark the end of an archive, but more data follows"
            damage.add(f"byte {zeros}", f"{reason}: the lost content is not known")
        if len(block) < _BLOCK or not header_holds(block):
            what = "the archive breaks off" if len(block) < _BLOCK else "there is no file header here"
            damage.add(f"byte {position}", _ending(stream, f"{what}; {count} files were read before that"))
            return
        position += _BLOCK
        try:
            size = _number(block[124:136])
            size = int(pax[b"size"]) if b"size" in pax else size
        except ValueError:
            size = -1
        if size < 0:
            damage.add(f"byte {position}", f"a file without a size; {count} files were read before that")
            return
        padding = -size % _BLOCK
        kind = block[156]
        if kind in b"LKxg":
            data = stream.read(min(size, _MAX_EXTENDED))
            if stream.skip(size - len(data) + padding) < size - len(data) + padding:
                damage.add(f"byte {position}", _ending(stream, "the archive breaks off in a header"))
                return
            where = f"byte {position}"
            if size > _MAX_EXTENDED:
                damage.add(where, f"an extended header of {size:,} bytes; its first {_MAX_EXTENDED:,} were read")
            if kind == ord("L"):
                long_name = data.rstrip(b"\0")
            elif kind == ord("x"):
                pax = _pax(data, lambda reason, where=where: damage.add(where, reason))  # type: ignore[misc]
            position += size + padding
            continue
        raw = pax.get(b"path") or long_name or _header_name(block)
        other = _LINKS.get(kind) or _DEVICES.get(kind, "")
        if any(key.startswith(_SPARSE) for key in pax):
            other = _DEVICES[ord("S")]
        long_name, pax = None, {}
        count += 1
        if count > limits.members:
            raise DamagedDump("", f"an archive of more than {limits.members} files", "", "unpack it yourself")
        part = _StreamMember(stream, size)
        name, fault = clean_name(raw)
        if other:
            damage.add(f"member {_shown(raw)}", f"{other}; it was not read")
        elif kind not in _NO_FILES and (size or not raw.endswith(b"/")):
            fault = fault or ("" if name else "a file without a name")
            if fault:
                damage.add(f"member {_shown(raw)}", f"{fault}; it was not read")
            else:
                yield Member(name, size, lambda part=part: part)  # type: ignore[misc]
        left = part.left + padding
        if stream.skip(left) < left:
            damage.add(f"member {_shown(raw)}", _ending(stream, "the archive breaks off in this file"))
            return
        position += size + padding


def _header_name(block: bytes) -> bytes:
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _ending(stream: UnpackedStream, what: str) -> str:
    return f"{what} ({stream.broken})" if stream.broken else what


# ---- zip


class _ZipFile:
    """The bytes of one file of a zip; they count towards the limit for all files."""

    def __init__(
        self, stream: IO[bytes], size: int, spend: Callable[[int], None], broke: Callable[[str], None]
    ) -> None:
        self._stream = stream
        self._left = size
        self._spend = spend
        self._broke = broke

    def read(self, size: int) -> bytes:
        try:
            block = self._stream.read(min(size, _COPY))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            self._left = 0
            self._broke(str(error) or type(error).__name__)
            return b""
        if not block and size and self._left:
            self._broke(f"{self._left} bytes are missing of what the list of files says")
            self._left = 0
        self._left -= len(block)
        self._spend(len(block))
        return block


def zip_members(name: str, path: Path, damage: DamageLog, limits: Limits | None = None) -> Iterator[Member]:
    """Yield the files of a zip, in the order of its directory.

    Raises:
        DamagedDump: Its directory cannot be read, or it expands past the limits.
    """
    limits = limits or Limits()
    total, given = 0, path.stat().st_size

    def spend(size: int) -> None:
        nonlocal total
        total += size
        if total > limits.expanded or (total > limits.ratio_from and total > limits.ratio * given):
            reason = f"expanded past {total} bytes (ratio {total // max(1, given)})"
            expected = f"at most {limits.expanded} bytes and {limits.ratio} for one"
            raise DamagedDump(name, reason, expected, "unpack it yourself if you trust it")

    try:
        count = _check_list(name, path, limits)
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise DamagedDump(name, f"a zip archive that cannot be read: {error}", "", "copy it again") from None
    with archive:
        listed = len(archive.infolist())
        if (listed - count) % (1 << 16):  # some tools write only the last two bytes of the number
            damage.add("list of files", f"it lists {listed} files, but its end record counts {count}")
        for info in archive.infolist():
            raw = info.orig_filename.encode("utf-8", "surrogateescape")
            cleaned, fault = clean_name(raw)
            if raw.endswith((b"/", b"\\")):
                continue
            where = f"member {_shown(raw)}"
            if (info.external_attr >> 28) & 0xF == 0xA:
                fault = "a symbolic link"
            if info.flag_bits & 1:
                fault = "an encrypted file"
            fault = fault or ("" if cleaned else "a file without a name")
            if fault:
                damage.add(where, f"{fault}; it was not read")
                continue
            try:
                stream = archive.open(info)
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as error:
                damage.add(where, f"{error}; it was not read")
                continue
            with stream:
                counted = _ZipFile(stream, info.file_size, spend, lambda reason, where=where: damage.add(where, reason))  # type: ignore[misc]
                yield Member(cleaned, info.file_size, lambda counted=counted: counted)  # type: ignore[misc]


def _check_list(name: str, path: Path, limits: Limits) -> int:
    """Check the size of the directory before the library reads it as a whole; return its number of entries."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(max(0, size - (1 << 16) - 22))
        tail = stream.read()
    offset = tail.rfind(b"PK\5\6")
    if offset < 0 or len(tail) < offset + 22:
        raise ValueError("no list of files at its end")
    count = int.from_bytes(tail[offset + 10 : offset + 12], "little")
    listed = int.from_bytes(tail[offset + 12 : offset + 16], "little")
    wide = tail.rfind(b"PK\6\6", 0, offset)
    if count == 0xFFFF or listed == 0xFFFFFFFF:  # it is in the 64-bit record
        count = int.from_bytes(tail[wide + 32 : wide + 40], "little") if wide >= 0 else limits.members + 1
        listed = int.from_bytes(tail[wide + 40 : wide + 48], "little") if wide >= 0 else 0
    if count > limits.members or listed > _MAX_DIRECTORY:
        raise DamagedDump(name, f"a zip archive of more than {limits.members} files", "", "unpack it yourself")
    return count


# ---- folder


def folder_members(root: Path, damage: DamageLog, limits: Limits | None = None) -> Iterator[Member]:
    """Yield the files below a folder, sorted by path; links that lead out of it are not followed."""
    limits = limits or Limits()
    for count, (name, path) in enumerate(files_below(root, damage)):
        if count >= limits.members:
            raise DamagedDump(str(root), f"a folder of more than {limits.members} files", "", "give a part of it")
        try:
            with path.open("rb") as stream:
                yield Member(name, path.stat().st_size, lambda stream=stream: stream, path)  # type: ignore[misc]
        except OSError as error:
            damage.add(f"member {name!r}", error.strerror or str(error))


def files_below(root: Path, damage: DamageLog) -> Iterator[tuple[str, Path]]:
    """Yield names and paths of the files below a folder, as `folder_members`."""

    def refused(error: OSError) -> None:
        damage.add(f"folder {os.path.relpath(error.filename, root)!r}", str(error.strerror))

    for directory, folders, names in os.walk(root, onerror=refused):
        folders.sort()
        for member in sorted((*names, *folders)):
            path = root.__class__(directory, member)
            name = path.relative_to(root).as_posix()
            if leads_out(path, root):
                damage.add(f"member {name!r}", LINK_OUT)
                continue
            if path.is_file():
                yield name, path
