"""Mutations of dumps, and how their checksums are made right again, so that what is broken lies behind the door.

Each function takes the bytes of a sound dump and a random generator and returns broken ones. Those named `..._repaired`
repair what a reader looks at first: page numbers, meta checksums and the digest of a snapshot; headers of a tar; the
checksums of gzip, zip and of both kinds of write-ahead log.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
import zlib
from typing import TYPE_CHECKING

from auditor.sources.bolt.page import fnv64a
from tests.sources.archives.writing import zipped

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

NUMBERS = (0, 1, 2, 3, 7, 8, 15, 16, 17, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
           1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
WORDS = (b"{", b"}", b"[", b"]", b'"', b"\\", b"\\u0000", b"\\ud800", b":", b",", b"null", b"1e999", b"-", b"\0", b"\xff",
         b"\n", b"---\n", b"&a [*a]", b"? ", b"!!binary ", b"|", b"'", b"#", b"%YAML 9.9\n", b"\xef\xbb\xbf", b"\xff\xfe")  # fmt: skip


def flipped(data: bytes, draw: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


def cut(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] if draw.random() < 0.7 else data[:at] + data[min(len(data), at + draw.randrange(1, 3000)) :]


def numbered(data: bytes, draw: random.Random) -> bytes:
    """Write a number of some width somewhere."""
    out = bytearray(data)
    width = draw.choice((1, 2, 4, 8))
    at = draw.randrange(max(1, len(out) - width))
    order = draw.choice(("little", "big"))
    out[at : at + width] = (draw.choice(NUMBERS) & ((1 << 8 * width) - 1)).to_bytes(width, order)  # type: ignore[arg-type]
    return bytes(out[: len(data)])


def copied(data: bytes, draw: random.Random) -> bytes:
    """Copy a piece over another."""
    size = draw.choice((4, 16, 64, 512, 4096))
    start, to = draw.randrange(len(data)), draw.randrange(len(data))
    piece = data[start : start + size]
    return (data[:to] + piece + data[to + len(piece) :])[: len(data)]


def spliced(data: bytes, draw: random.Random) -> bytes:
    """Put words of texts in, take pieces out, or say a piece many times."""
    out = data
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(out) + 1)
        turn = draw.random()
        if turn < 0.6:
            out = out[:at] + draw.choice(WORDS) * draw.choice((1, 1, 1, 3)) + out[at:]
        elif turn < 0.8:
            out = out[:at] + out[at + draw.randrange(1, 40) :]
        else:
            out = out[:at] + out[at : at + draw.randrange(1, 60)] * draw.choice((2, 3, 50)) + out[at:]
    return out


def deepened(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice((b"[", b'{"a":', b"- ", b"a: {")) * draw.choice((50, 2000, 20_000)) + data[at:]


BYTES = (flipped, flipped, cut, numbered, numbered, copied)
TEXTS = (spliced, spliced, spliced, flipped, cut, deepened)


def any_of(functions: tuple[Callable[[bytes, random.Random], bytes], ...], data: bytes, draw: random.Random) -> bytes:
    return draw.choice(functions)(data, draw) if data else data


# ---- bolt

PAGE = 4096


def _pages(data: bytes, size: int) -> int:
    return len(data) // size


def bolt_mutated(data: bytes, draw: random.Random, size: int = PAGE) -> bytes:
    """Break a bolt file where it hurts: elements, counts, child pages, buckets, metas."""
    out = bytearray(data)
    pages = _pages(data, size)
    for _ in range(draw.choice((1, 1, 2, 4))):
        page = draw.randrange(pages)
        at = page * size
        count = struct.unpack_from("<H", out, at + 10)[0]
        flags = struct.unpack_from("<H", out, at + 8)[0]
        turn = draw.randrange(11)
        if turn == 0:  # the header of a page
            offset, width = draw.choice(((8, 2), (10, 2), (12, 4)))
            number = draw.choice((*NUMBERS, count + 1, count - 1, flags ^ 3))
            out[at + offset : at + offset + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        elif turn in {1, 2, 3} and page > 1 and count:  # an element
            element = at + 16 + 16 * draw.randrange(min(count, (size - 32) // 16))
            old = struct.unpack_from("<I", out, element + 4 * draw.randrange(4))[0]
            number = draw.choice((*NUMBERS, old + 1, old - 1, old + 16, old ^ 1, draw.randrange(pages)))
            struct.pack_into("<I", out, element + 4 * draw.randrange(4), number & 0xFFFFFFFF)
        elif turn == 4 and flags & 1 and count:  # a child: another page, an ancestor, itself
            element = at + 16 + 16 * draw.randrange(min(count, (size - 32) // 16))
            struct.pack_into("<Q", out, element + 8, draw.choice((page, draw.randrange(pages), *NUMBERS)))
        elif turn == 5:  # two pages change places, or one is written twice
            other = draw.randrange(pages)
            one, two = bytes(out[at : at + size]), bytes(out[other * size : (other + 1) * size])
            out[at : at + size] = two
            if draw.random() < 0.5:
                out[other * size : (other + 1) * size] = one
        elif turn == 6:  # a field of a meta page
            field = draw.choice((8, 12, 16, 24, 32, 40, 48))
            width = 4 if field < 16 else 8
            number = draw.choice((*NUMBERS, *range(2, min(pages, 40)), pages - 1, pages + 1, 1024, 16384))
            for meta in (0, 1) if draw.random() < 0.7 else (draw.randrange(2),):
                where = meta * size + 16 + field
                out[where : where + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        elif turn in {7, 8}:  # the content of a page: keys, messages, buckets
            for _ in range(draw.choice((1, 3, 10))):
                out[at + draw.randrange(16, size)] = draw.choice(
                    (0, 1, 0x5F, 0x74, 0x0A, 0x80, 0xFF, draw.randrange(256))
                )
        elif turn == 9:
            noise = draw.randbytes(draw.choice((8, 64, 512)))
            start = at + draw.randrange(size - len(noise))
            out[start : start + len(noise)] = noise
        else:
            out = bytearray(any_of(BYTES, bytes(out), draw)) or out
            pages = _pages(bytes(out), size)
            if pages < 3:
                break
    return bytes(out)


def bolt_repaired(data: bytes, draw: random.Random, size: int = PAGE) -> bytes:
    """Break a bolt file and make its metas, page numbers and digest right again."""
    out = bytearray(bolt_mutated(data, draw, size))
    if len(out) < 2 * size:
        return bytes(out)
    for meta in (0, 1):
        at = meta * size + 16
        struct.pack_into("<III", out, at, 0xED0CDAED, 2, size)
        struct.pack_into("<Q", out, at + 56, fnv64a(bytes(out[at : at + 56])))
    if draw.random() < 0.9:
        for page in range(_pages(bytes(out), size)):
            at = page * size
            if (
                struct.unpack_from("<H", out, at + 8)[0] in {1, 2, 4, 16}
                and struct.unpack_from("<H", out, at + 10)[0] < 4096
            ):
                struct.pack_into("<Q", out, at, page)
    if draw.random() < 0.6:
        out = out[: len(out) // 512 * 512]
        out += hashlib.sha256(out).digest()
    return bytes(out)


# ---- containers


def tar_repaired(data: bytes, draw: random.Random) -> bytes:
    """Break headers of a tar, and make their checksums right again."""
    out = bytearray(any_of((*BYTES, _tar_field, _tar_field, _tar_field), data, draw))
    for at in range(0, len(out) - 511, 512):
        block = out[at : at + 512]
        if block[257:262] == b"ustar":
            block[148:156] = b"        "
            out[at + 148 : at + 156] = b"%06o\0 " % sum(block)
    return bytes(out)


def _tar_field(data: bytes, draw: random.Random) -> bytes:
    heads = [at for at in range(0, len(data) - 511, 512) if data[at + 257 : at + 262] == b"ustar"]
    if not heads:
        return data
    out = bytearray(data)
    at = draw.choice(heads)
    turn = draw.randrange(4)
    if turn == 0:
        out[at + 124 : at + 136] = draw.choice(
            (
                b"77777777777\0",
                b"00000000001\0",
                b"-0000000001\0",
                b"\x80" + bytes(10) + b"\xff",
                b"\xff" * 12,
                b"garbage1234\0",
            )
        )
    elif turn == 1:
        out[at + 156] = draw.choice(b"01234567LKxgSD\0Z")
    elif turn == 2:
        name = draw.choice(
            (b"../../x.json", b"/etc/x.json", b"a\\b.json", b"C:/x.json", b"./", b"", b"\xff\xfe.json", b"x" * 100)
        )
        out[at : at + 100] = name.ljust(100, b"\0")[:100]
    else:
        out[at + 345 : at + 500] = draw.choice((b"..", b"/", b"p" * 155)).ljust(155, b"\0")
    return bytes(out)


def gzip_repaired(data: bytes, draw: random.Random, inside: Callable[[bytes, random.Random], bytes]) -> bytes:
    """Break what is inside a gzip; its own checksum is right."""
    body = gzip.decompress(data)
    if draw.random() < 0.05:
        return gzip.compress(body + bytes(draw.choice((1 << 20, 3 << 20))))  # bombs, small ones
    return gzip.compress(inside(body, draw), compresslevel=1)


def zip_repaired(data: bytes, draw: random.Random, files: dict[str, bytes]) -> bytes:
    """Break a file in a zip, or its names; all checksums are right."""
    changed = dict(files)
    name = draw.choice(sorted(changed))
    if draw.random() < 0.3:
        bad = draw.choice(("../../x.json", "/x.json", "C:\\x.json", "a/../b.json", "\u202ex.json", "x" * 300))
        changed[bad] = changed.pop(name)
    else:
        changed[name] = any_of((*TEXTS, *BYTES), changed[name] or b"x", draw)
    out = zipped(changed)
    if draw.random() < 0.5:  # the list of files, which no checksum covers
        at = out.index(b"PK\1\2")
        out = out[:at] + any_of(BYTES, out[at:], draw)
    return out


# ---- write-ahead logs


def sqlite_log_repaired(data: bytes, draw: random.Random) -> bytes:
    """Break pages in SQLite's log and make the checksums of its frames right again."""
    out = bytearray(data)
    order = ">" if out[3] & 1 else "<"
    size = struct.unpack_from(">I", out, 8)[0]
    frame = size + 24
    frames = (len(out) - 32) // frame
    for _ in range(draw.choice((1, 2, 5))):
        at = 32 + frame * draw.randrange(max(1, frames)) + draw.choice((0, 4, 24 + draw.randrange(size)))
        out[at : at + 4] = struct.pack(">I", draw.choice((*NUMBERS, 1, 2, 3, 4, 5)) & 0xFFFFFFFF)
    out = out[: 32 + frames * frame]

    def summed(piece: bytes, one: int, two: int) -> tuple[int, int]:
        words = struct.unpack(f"{order}{len(piece) // 4}I", piece)
        for first, second in zip(words[::2], words[1::2], strict=True):
            one = (one + first + two) & 0xFFFFFFFF
            two = (two + second + one) & 0xFFFFFFFF
        return one, two

    one, two = summed(bytes(out[:24]), 0, 0)
    struct.pack_into(">II", out, 24, one, two)
    for number in range(frames):
        at = 32 + number * frame
        out[at + 8 : at + 16] = out[16:24]
        one, two = summed(bytes(out[at : at + 8]), one, two)
        one, two = summed(bytes(out[at + 24 : at + frame]), one, two)
        struct.pack_into(">II", out, at + 16, one, two)
    return bytes(out)


def crc_of(data: bytes) -> int:
    return zlib.crc32(data)
