"""Unpacks valid gzip streams fast, by ISA-L if it is installed.

ISA-L and zlib report a broken stream with different messages, and not at the same byte. So on `Unsound` a caller drops
the unpacked bytes and reads the stream again with zlib, which finds the fault. Blocks of bgzip state their sizes, so
they are unpacked in parallel.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator


_FEED: Final = 1 << 18
_BLOCK: Final = 1 << 20
"""Bytes that are read at once, and limit of the bytes unpacked at once."""
_MAGIC: Final = b"\x1f\x8b\x08"
_RESERVED: Final = 0xE0
"""Flags of a header without meaning: zlib refuses them, ISA-L ignores them."""
_BGZIP: Final = _MAGIC + b"\x04"
_BGZIP_FIELD: Final = b"\x06\0BC\x02\0"
_BGZIP_HEADER: Final = 18
"""Pattern of the header of a bgzip block: its only extra field, which has its size, and its end."""
_BGZIP_MOST: Final = 1 << 16
"""Largest unpacked size of a bgzip block."""
_AT_ONCE: Final = 32
"""Number of bgzip blocks that a thread unpacks at once."""
_THREADS: Final = 8
"""Largest number of threads that unpack bgzip blocks."""


class Unsound(Exception):
    """The stream is invalid, or not as simple as the fast path needs it."""


def sound_blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the unpacked bytes of a gzip stream of one or more members; zeros after a member are padding.

    Args:
        read: Returns the next bytes of the stream, at most as many as requested; none at its end.

    Raises:
        Unsound: The stream must be read again with zlib, and the yielded bytes are invalid.
    """
    library = _library()
    rest = read(_FEED)
    while rest:
        rest = yield from (_bgzip if _size(rest) else _member)(library, read, rest)
        rest = rest.lstrip(b"\0")
        while not rest and (more := read(_FEED)):
            rest = more.lstrip(b"\0")


def _library() -> Any:
    """Return the module that unpacks: ISA-L, or the slower zlib, which has the same functions."""
    try:
        from isal import isal_zlib  # noqa: PLC0415 - only where needed, and not on every platform
    except ImportError:
        import zlib  # noqa: PLC0415

        return zlib
    return isal_zlib


def _member(library: Any, read: Callable[[int], bytes], rest: bytes) -> Generator[bytes, None, bytes]:
    """Yield the unpacked bytes of a member; return the bytes that were read after it."""
    while len(rest) < len(_BGZIP) and (more := read(_FEED)):
        rest += more
    if not rest.startswith(_MAGIC) or rest[3] & _RESERVED:
        raise Unsound
    decoder = library.decompressobj(31)
    while True:
        try:
            block = decoder.decompress(rest, _BLOCK)
        except library.error:
            raise Unsound from None
        if block:
            yield block
        if decoder.eof:
            behind: bytes = decoder.unused_data
            return behind
        rest = decoder.unconsumed_tail or read(_FEED)
        if not rest and not block:
            raise Unsound


def _bgzip(library: Any, read: Callable[[int], bytes], rest: bytes) -> Generator[bytes, None, bytes]:
    """Yield the unpacked bytes of bgzip blocks; return the bytes that were read after them."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(count, _THREADS)
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Any] = deque()
        while True:
            if len(rest) < _AT_ONCE * _BGZIP_MOST:
                rest += read(_AT_ONCE * _BGZIP_MOST)
            blocks: list[bytes] = []
            position = 0
            while len(blocks) < _AT_ONCE and (size := _size(rest, position)) and position + size <= len(rest):
                blocks.append(rest[position : position + size])
                position += size
            if not blocks and _size(rest):
                raise Unsound  # the stream ends in a block
            if not blocks:
                break
            rest = rest[position:]
            waiting.append(pool.submit(_unpacked, library, blocks))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    return rest


def _size(data: bytes, at: int = 0) -> int:
    """Return the size of the bgzip block at the position, 0 if there is none."""
    if not data.startswith(_BGZIP, at) or data[at + 10 : at + 16] != _BGZIP_FIELD or len(data) < at + _BGZIP_HEADER:
        return 0
    return int.from_bytes(data[at + 16 : at + _BGZIP_HEADER], "little") + 1


def _unpacked(library: Any, blocks: list[bytes]) -> bytes:
    out = []
    for block in blocks:
        decoder = library.decompressobj(31)
        try:
            out.append(decoder.decompress(block, _BGZIP_MOST))
            if not decoder.eof:  # the largest block ends after its last byte
                out.append(decoder.decompress(decoder.unconsumed_tail, 1))
        except library.error:
            raise Unsound from None
        if not decoder.eof or decoder.unused_data:
            raise Unsound
    return b"".join(out)
