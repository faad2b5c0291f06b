"""CRC-32C against its check value and a bit-by-bit reference."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.sources.etcd import crc32c as module
from auditor.sources.etcd.crc32c import crc32c


def reference(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_the_check_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(1, 60)), max_size=8))
@settings(deadline=None)
def test_pieces_give_the_checksum_of_the_whole(parts: list[tuple[bytes, int]]) -> None:
    data = [part * times for part, times in parts]
    value = 0
    for part in data:
        value = crc32c(part, value)
    assert value == reference(b"".join(data))
    assert crc32c(b"more", value) == reference(b"".join(data) + b"more")


def test_large_data_is_run_in_pieces_side_by_side(monkeypatch) -> None:
    monkeypatch.setattr(module, "_MOST_PIECES", 8)
    data = bytes(range(256)) * 130 + b"end"
    assert crc32c(data) == reference(data)
    assert crc32c(data[777:], crc32c(data[:777])) == reference(data)
