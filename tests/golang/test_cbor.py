"""CBOR values as the API server reads them."""

import pytest

from auditor.golang.cbor import CborError, decode

VALUES = [
    ("d9d9f7a0", {}),
    ("d9d9f7a16161" + "04", {"a": 4}),
    ("a16161" + "3903e7", {"a": -1000}),
    ("a16161" + "fb401c000000000000", {"a": 7.0}),
    ("a16161" + "f93c00", {"a": 1.0}),
    ("a16161" + "4568656c6c6f", {"a": "hello"}),
    ("a14161" + "f6", {"a": None}),
    ("a16161" + "d64568656c6c6f", {"a": "aGVsbG8="}),
    ("bf6161" + "9f0102ff" + "ff", {"a": [1, 2]}),
    ("a16161" + "7f61626163ff", {"a": "bc"}),
    ("8301f5f4", [1, True, False]),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[case[0] for case in VALUES])
def test_reads_what_json_has(text, value):
    got = decode(bytes.fromhex(text))
    assert got == value
    assert repr(got) == repr(value)


BROKEN = [
    "",
    "d9d9f7",
    "a1",
    "a16161",
    "a10102",
    "a261610161" + "6102",
    "0001",
    "ff",
    "a16161f97e00",
    "1bffffffffffffffff",
    "62ff",
]


@pytest.mark.parametrize("text", BROKEN)
def test_refuses_what_is_no_value(text):
    with pytest.raises(CborError):
        decode(bytes.fromhex(text))


def test_depth_is_bounded():
    with pytest.raises(CborError, match="max nested level"):
        decode(b"\x81" * 50_000 + b"\x00")
