"""CRC-32C (Castagnoli), the checksum of etcd, computed with arrays for large data.

A CRC is linear: parts of equal length are processed in parallel, two bytes per step, and combined in pairs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import mmap

    from numpy.typing import NDArray

    from auditor.sources.files.view import I64

__all__ = ["crc32c", "crc32c_of_many"]

_POLYNOMIAL = 0x82F63B78
_PIECE = 512
_MOST_PIECES = 1 << 14
_LONG = 1 << 14
"""Spans with at least this many bytes are processed separately."""


@cache
def _byte_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


@cache
def _pair_table() -> NDArray[np.uint32]:
    """Return the effect of two bytes on the register, by the low half of the register."""
    one = np.array(_byte_table(), dtype=np.uint32)
    halves = np.arange(1 << 16, dtype=np.uint32)
    first = one[halves & 0xFF] ^ (halves >> np.uint32(8))
    both: NDArray[np.uint32] = one[first & 0xFF] ^ (first >> np.uint32(8))
    return both


@cache
def _shift_table(pieces: int) -> NDArray[np.uint32]:
    """Return, for each byte of the register, the effect of a number of parts of zero bytes: shape (4, 256)."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    if pieces == 1:
        pairs = _pair_table()
        for _ in range(_PIECE // 2):
            bits = pairs[bits & 0xFFFF] ^ (bits >> np.uint32(16))
    else:
        half = _shift_table(pieces // 2)
        bits = _shift(half, _shift(half, bits))
    table = np.zeros((4, 256), dtype=np.uint32)
    for bit in range(32):
        column = np.arange(256)
        table[bit // 8] ^= np.where(column >> (bit % 8) & 1, bits[bit], np.uint32(0))
    return table


def _shift(table: NDArray[np.uint32], register: NDArray[np.uint32]) -> NDArray[np.uint32]:
    out: NDArray[np.uint32] = table[0][register & 0xFF]
    for byte in (1, 2, 3):
        out = out ^ table[byte][(register >> np.uint32(8 * byte)) & 0xFF]
    return out


def crc32c(data: bytes, before: int = 0) -> int:
    """Return the checksum of bytes.

    Args:
        data: The bytes.
        before: Checksum of the preceding bytes.
    """
    at, register = 0, before ^ 0xFFFFFFFF
    while len(data) - at >= _PIECE:
        pieces = min(_MOST_PIECES, 1 << ((len(data) - at) // _PIECE).bit_length() - 1)
        register = _after_pieces(register, data, at, pieces)
        at += pieces * _PIECE
    table = _byte_table()
    for byte in data[at:]:
        register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
    return register ^ 0xFFFFFFFF


def _after_pieces(before: int, data: bytes, at: int, pieces: int) -> int:
    """Return the register after a number of parts of some bytes."""
    words = np.frombuffer(data, dtype="<u2", count=pieces * _PIECE // 2, offset=at).reshape(pieces, -1)
    register = np.zeros(pieces, dtype=np.uint32)
    register[0] = before
    pairs = _pair_table()
    for column in np.ascontiguousarray(words.T):
        register = pairs[(register ^ column) & 0xFFFF] ^ (register >> np.uint32(16))
    together = 1
    while len(register) > 1:
        register = _shift(_shift_table(together), register[0::2]) ^ register[1::2]
        together *= 2
    return int(register[0])


def crc32c_of_many(data: bytes | mmap.mmap, starts: I64, sizes: I64, before: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the checksums of many spans of some bytes, computed in parallel.

    Args:
        before: For each span, the checksum of the preceding bytes.
    """
    out = np.empty(len(starts), dtype=np.uint32)
    long = sizes > _LONG
    for index in np.flatnonzero(long).tolist():
        out[index] = crc32c(data[int(starts[index]) : int(starts[index] + sizes[index])], int(before[index]))
    short = np.flatnonzero(~long)
    # Longest first, so that at each step the spans that continue are at the front.
    order = short[np.argsort(-sizes[short], kind="stable")]
    raw = np.frombuffer(data, dtype=np.uint8)
    start, pairs = starts[order], sizes[order] // 2
    register = before[order] ^ np.uint32(0xFFFFFFFF)
    table = _pair_table()
    left = len(order)
    for step in range(int(pairs[0]) if len(order) else 0):
        while left and pairs[left - 1] <= step:
            left -= 1
        at = start[:left] + 2 * step
        word = raw[at].astype(np.uint32) | (raw[at + 1].astype(np.uint32) << np.uint32(8))
        now = register[:left]
        register[:left] = table[(now ^ word) & 0xFFFF] ^ (now >> np.uint32(16))
    one = np.array(_byte_table(), dtype=np.uint32)
    odd = np.flatnonzero(sizes[order] % 2)
    last = raw[start[odd] + sizes[order][odd] - 1].astype(np.uint32)
    register[odd] = one[(register[odd] ^ last) & 0xFF] ^ (register[odd] >> np.uint32(8))
    out[order] = register ^ np.uint32(0xFFFFFFFF)
    return out
