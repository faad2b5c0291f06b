"""CRC-32C against its check value and a bit-by-bit reference."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.sources.etcd import crc32c
from auditor.sources.etcd.crc32c import Crc32c


def reference(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_the_check_value() -> None:
    crc = Crc32c()
    crc.update(b"123456789")
    assert crc.value() == 0xE3069283


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(1, 60)), max_size=8))
@settings(deadline=None)
def test_pieces_give_the_checksum_of_the_whole(parts: list[tuple[bytes, int]]) -> None:
    data = [part * times for part, times in parts]
    crc = Crc32c()
    for part in data:
        crc.update(part)
    assert crc.value() == reference(b"".join(data))
    crc.update(b"more")
    assert crc.value() == reference(b"".join(data) + b"more")


def test_large_data_is_run_in_pieces_side_by_side(monkeypatch) -> None:
    monkeypatch.setattr(crc32c, "_MOST_PIECES", 8)
    monkeypatch.setattr(crc32c, "_BUFFER", 8 * 512)
    data = bytes(range(256)) * 130 + b"end"
    crc = Crc32c()
    for start in range(0, len(data), 777):
        crc.update(data[start : start + 777])
    assert crc.value() == reference(data)
