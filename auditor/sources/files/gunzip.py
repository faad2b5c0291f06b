"""Unpacks gzip streams fast, by ISA-L where it is installed; it may only find that a stream is sound.

ISA-L reports a broken stream in other words than zlib, and not at the same byte. So a caller that meets `Unsound`
forgets what came out and reads the stream again with zlib, which says what is wrong with it.
Blocks of bgzip state their sizes, so they are unpacked side by side.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

__all__ = ["Unsound", "sound_blocks"]

_FEED: Final = 1 << 18
_BLOCK: Final = 1 << 20
"""Bytes that are read at once, and that come out at once at most."""
_MAGIC: Final = b"\x1f\x8b\x08"
_RESERVED: Final = 0xE0
"""Flags of a header that have no meaning: zlib refuses them, ISA-L does not look."""
_BGZIP: Final = _MAGIC + b"\x04"
_BGZIP_FIELD: Final = b"\x06\0BC\x02\0"
_BGZIP_HEADER: Final = 18
"""How a block of bgzip begins, its only extra field, which has its size, and where that ends."""
_BGZIP_MOST: Final = 1 << 16
"""Bytes that a block of bgzip unpacks to at most."""
_AT_ONCE: Final = 32
"""Blocks of bgzip that a thread is given at once."""
_THREADS: Final = 8
"""Threads that unpack blocks of bgzip, at most."""


class Unsound(Exception):
    """The stream is not sound, or not as simple as the fast path needs it."""


def sound_blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield what a gzip stream of one or more members holds; zeros behind a member are padding.

    Args:
        read: Returns the next bytes of the stream, at most as many as asked; none at its end.

    Raises:
        Unsound: The stream has to be read again with zlib, and nothing that was yielded counts.
    """
    library = _library()
    rest = read(_FEED)
    while rest:
        rest = yield from (_bgzip if _size(rest) else _member)(library, read, rest)
        rest = rest.lstrip(b"\0")
        while not rest and (more := read(_FEED)):
            rest = more.lstrip(b"\0")


def _library() -> Any:
    """Return the module that unpacks; both have the same functions. Without ISA-L it takes more time, no more."""
    try:
        from isal import isal_zlib  # noqa: PLC0415 - only where needed, and not on every platform
    except ImportError:
        import zlib  # noqa: PLC0415

        return zlib
    return isal_zlib


def _member(library: Any, read: Callable[[int], bytes], rest: bytes) -> Generator[bytes, None, bytes]:
    """Yield what a member holds; return the bytes that were read behind it."""
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
    """Yield what blocks of bgzip hold; return the bytes that were read behind them."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(count, _THREADS)
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Any] = deque()
        while True:
            if len(rest) < _AT_ONCE * _BGZIP_MOST:
                rest += read(_AT_ONCE * _BGZIP_MOST)
            blocks: list[bytes] = []
            at = 0
            while len(blocks) < _AT_ONCE and (size := _size(rest, at)) and at + size <= len(rest):
                blocks.append(rest[at : at + size])
                at += size
            if not blocks and _size(rest):
                raise Unsound  # the stream ends in a block
            if not blocks:
                break
            rest = rest[at:]
            waiting.append(pool.submit(_unpacked, library, blocks))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    return rest


def _size(data: bytes, at: int = 0) -> int:
    """Return the size of the block of bgzip that is there, 0 if there is none."""
    if not data.startswith(_BGZIP, at) or data[at + 10 : at + 16] != _BGZIP_FIELD or len(data) < at + _BGZIP_HEADER:
        return 0
    return int.from_bytes(data[at + 16 : at + _BGZIP_HEADER], "little") + 1


def _unpacked(library: Any, blocks: list[bytes]) -> bytes:
    out = []
    for block in blocks:
        decoder = library.decompressobj(31)
        try:
            out.append(decoder.decompress(block, _BGZIP_MOST))
            if not decoder.eof:  # a block of the greatest size ends behind its last byte
                out.append(decoder.decompress(decoder.unconsumed_tail, 1))
        except library.error:
            raise Unsound from None
        if not decoder.eof or decoder.unused_data:
            raise Unsound
    return b"".join(out)
