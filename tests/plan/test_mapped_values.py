"""A value that does not fit the memory is mapped, with the same bytes as if it were cut out."""

import base64

import pytest

from auditor.plan.dumps import cut_value, mapped_value


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100, 101, 102])
@pytest.mark.parametrize("encoding", [0, 1])
@pytest.mark.parametrize("block", [4, 64, 1 << 20])
def test_a_mapped_value_has_the_bytes_of_the_value(monkeypatch, size, encoding, block):
    monkeypatch.setattr("auditor.plan.dumps._BLOCK", block)
    plain = bytes(range(size))
    text = base64.b64encode(plain) if encoding else plain
    place = (3, len(text), encoding)
    values = b"..." + text + b"..."
    assert bytes(mapped_value(values, *place)) == cut_value(values, *place) == plain
