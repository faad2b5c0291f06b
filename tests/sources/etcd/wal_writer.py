"""Writes write-ahead logs as etcd does: frames, running checksums, files that go on from each other."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import google_crc32c

if TYPE_CHECKING:
    from pathlib import Path


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def message(*fields: tuple[int, int | bytes]) -> bytes:
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def put(key: bytes) -> bytes:
    return message((100, message((1, 7))), (4, message((1, key), (2, b"value"))))


def delete(key: bytes, end: bytes = b"") -> bytes:
    return message((5, message((1, key), (2, end)) if end else message((1, key))))


def transaction(*success: bytes) -> bytes:
    return message((6, message((1, b""), *((2, one) for one in success))))


class WalWriter:
    """Files in a folder; `cut` begins the next one."""

    def __init__(self, folder: Path, *, sequence: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.sequence = sequence - 1
        self.crc = 0
        self.index = 0
        self.path = folder
        self.cut()

    def cut(self) -> None:
        self.sequence += 1
        self.path = self.folder / f"{self.sequence:016x}-{self.index:016x}.wal"
        self.path.write_bytes(b"")
        self._frame(message((1, 4), (2, self.crc)))
        self.record(1, b"meta")

    def _frame(self, record: bytes) -> None:
        padding = -len(record) % 8
        length = len(record) | ((0x80 | padding) << 56 if padding else 0)
        with self.path.open("ab") as stream:
            stream.write(struct.pack("<Q", length) + record + bytes(padding))

    def record(self, kind: int, data: bytes) -> None:
        self.crc = google_crc32c.extend(self.crc, data)
        self._frame(message((1, kind), (2, self.crc), (3, data)))

    def entry(self, request: bytes, *, index: int | None = None, kind: int = 0) -> None:
        self.index = self.index + 1 if index is None else index
        self.record(2, message((1, kind), (2, 1), (3, self.index), (4, request)))

    def state(self, commit: int) -> None:
        self.record(3, message((1, 1), (2, 9), (3, commit)))
