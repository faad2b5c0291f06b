"""CRC-32C (Castagnoli), the checksum of etcd, over large data with arrays.

A CRC is linear: pieces of equal length are run through side by side, two bytes a step, and put together in pairs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import mmap

    from numpy.typing import NDArray

    from auditor.sources.files.view import I64

__all__ = ["Crc32c", "crc32c_of_many"]

_POLYNOMIAL = 0x82F63B78
_PIECE = 512
_MOST_PIECES = 1 << 14
_BUFFER = _PIECE * _MOST_PIECES
_LONG = 1 << 14
"""Bytes from which on a span is run through alone."""


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
    """Return what two bytes do to the register, by the register's low half."""
    one = np.array(_byte_table(), dtype=np.uint32)
    halves = np.arange(1 << 16, dtype=np.uint32)
    first = one[halves & 0xFF] ^ (halves >> np.uint32(8))
    both: NDArray[np.uint32] = one[first & 0xFF] ^ (first >> np.uint32(8))
    return both


@cache
def _shift_table(pieces: int) -> NDArray[np.uint32]:
    """Return, for each byte of the register, what so many pieces of zero bytes make of it: shape (4, 256)."""
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


class Crc32c:
    """A running CRC-32C.

    Args:
        before: Checksum of what came before.
    """

    def __init__(self, before: int = 0) -> None:
        self._register = before ^ 0xFFFFFFFF
        self._waiting: list[bytes | memoryview] = []
        self._size = 0

    def update(self, data: bytes | memoryview) -> None:
        """Take more bytes; the object must not change until the value is asked for."""
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= _BUFFER:
            self._run()

    def value(self) -> int:
        """Return the checksum of everything so far."""
        self._run()
        return self._register ^ 0xFFFFFFFF

    def _run(self) -> None:
        data = b"".join(self._waiting)
        self._waiting, self._size = [], 0
        at = 0
        while len(data) - at >= _PIECE:
            pieces = min(_MOST_PIECES, 1 << ((len(data) - at) // _PIECE).bit_length() - 1)
            self._run_pieces(data, at, pieces)
            at += pieces * _PIECE
        table, register = _byte_table(), self._register
        for byte in data[at:]:
            register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
        self._register = register

    def _run_pieces(self, data: bytes, at: int, pieces: int) -> None:
        words = np.frombuffer(data, dtype="<u2", count=pieces * _PIECE // 2, offset=at).reshape(pieces, -1)
        register = np.zeros(pieces, dtype=np.uint32)
        register[0] = self._register
        pairs = _pair_table()
        for column in np.ascontiguousarray(words.T):
            register = pairs[(register ^ column) & 0xFFFF] ^ (register >> np.uint32(16))
        together = 1
        while len(register) > 1:
            register = _shift(_shift_table(together), register[0::2]) ^ register[1::2]
            together *= 2
        self._register = int(register[0])


def crc32c_of_many(data: bytes | mmap.mmap, starts: I64, sizes: I64, before: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the checksums of many spans of some bytes, taken side by side.

    Args:
        before: For each span, the checksum that it goes on from.
    """
    out = np.empty(len(starts), dtype=np.uint32)
    long = sizes > _LONG
    for index in np.flatnonzero(long).tolist():
        running = Crc32c(int(before[index]))
        running.update(data[int(starts[index]) : int(starts[index] + sizes[index])])
        out[index] = running.value()
    short = np.flatnonzero(~long)
    # Longest first, so that at each step the spans that go on are those in front.
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
