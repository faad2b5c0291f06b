"""Unpackers: compressed bytes in, plain bytes out, in blocks. Truncated streams give the bytes before the end."""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import TYPE_CHECKING, Final

from auditor.base.progress import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_BLOCK: Final = 1 << 18
_ZSTD_FEED: Final = 4 << 10
"""Input given to zstd at once: a call has no limit of output, but one block of input gives at most 128 KiB."""
_XZ_MEMORY: Final = 128 << 20


class Broken(Exception):
    """The compressed stream is truncated or broken."""


def compression_of(head: bytes) -> str:
    """Return the compression of some first bytes; empty if there is none."""
    if head[:3] == b"\x1f\x8b\x08":
        return "gzip"
    if head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    if head[:6] == b"\xfd7zXZ\0":
        return "xz"
    if head[:3] == b"BZh" and head[3:4].isdigit() and head[4:10] == b"1AY&SY":
        return "bzip2"
    return ""


def _gunzip(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the unpacked bytes of a gzip stream of one or more members; zeros after it are padding."""
    rest = read(_BLOCK)
    while True:
        decoder = zlib.decompressobj(31)
        while not decoder.eof:
            try:
                block = decoder.decompress(rest, _BLOCK)
            except zlib.error as error:
                raise Broken(f"gzip stream broken: {error}") from None
            if block:
                yield block
            rest = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            if not decoder.eof and not rest and not (rest := read(_BLOCK)):
                raise Broken("gzip stream ends early")
        rest = rest.lstrip(b"\0")
        while not rest and (more := read(_BLOCK)):
            rest = more.lstrip(b"\0")
        if not rest:
            return
        if len(rest) < 3:
            rest += read(_BLOCK)
        if compression_of(rest) != "gzip":
            raise Broken("data that is not gzip follows the gzip stream")


def _unzstd(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the unpacked bytes of the frames of a zstd stream."""
    import zstandard  # noqa: PLC0415 - only where needed

    unpacker = zstandard.ZstdDecompressor()
    rest = read(_ZSTD_FEED)
    while rest:
        decoder = unpacker.decompressobj()
        while not decoder.eof:
            try:
                block = decoder.decompress(rest)
            except zstandard.ZstdError as error:
                if "too much memory" in str(error):
                    raise Broken("zstd with a window of more than 128 MiB; unpack it with zstd -d --long=31") from None
                raise Broken(f"zstd stream broken: {error}") from None
            if block:
                yield block
            rest = decoder.unused_data if decoder.eof else b""
            if not decoder.eof and not (rest := read(_ZSTD_FEED)):
                raise Broken("zstd stream ends early")
        rest = rest or read(_ZSTD_FEED)


def _undo(
    read: Callable[[int], bytes], make: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor], name: str
) -> Iterator[bytes]:
    """Yield the unpacked bytes of the streams of an xz or bzip2 file."""
    rest = read(_BLOCK)
    while rest:
        decoder = make()
        while not decoder.eof:
            try:
                block = decoder.decompress(rest, _BLOCK)
            except (lzma.LZMAError, OSError, ValueError) as error:
                raise Broken(f"{name} stream broken: {error}") from None
            if block:
                yield block
            rest = decoder.unused_data if decoder.eof else b""
            if not decoder.eof and decoder.needs_input and not (rest := read(_BLOCK)):
                raise Broken(f"{name} stream ends early")
        rest = (rest or read(_BLOCK)).lstrip(b"\0")


def blocks_of(read: Callable[[int], bytes], kind: str) -> Iterator[bytes]:
    """Yield the unpacked bytes of a stream.

    Args:
        read: Returns the next bytes of it, at most as many as requested; none at its end.
        kind: Its compression, a name from `compression_of`.

    Raises:
        Broken: It is truncated or broken; the bytes before were yielded.
    """
    count = 0

    def counted(size: int) -> bytes:
        nonlocal count
        block = read(size)
        count += len(block)
        tell("opening", count, None, "B")
        return block

    if kind == "gzip":
        return _gunzip(counted)
    if kind == "zstd":
        return _unzstd(counted)
    if kind == "xz":
        return _undo(counted, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY), kind)
    return _undo(counted, bz2.BZ2Decompressor, kind)
