from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.sources.yaml import YamlError
from auditor.sources.yaml.scalars import TAG_PREFIX, resolve_plain, resolve_tagged

PLAIN = [
    ("", None), ("~", None), ("y", True), ("No", False), ("yES", "yES"), ("nil", "nil"), ("017", 15), ("08", 8.0),
    ("018", 18.0), ("0o17", 15), ("0x1F", 31), ("0X1f", 31), ("-0b101", -5), ("+0x1F", 31), ("00", 0), ("0", 0),
    ("1_000", 1000), ("1__0", 10), ("1_", 1), ("-_1", -1), ("0_7", 7), ("0x_1F", 31), ("_1", "_1"), ("0x", "0x"),
    ("1e3", 1000.0), ("1.", 1.0), ("-.5", -0.5), ("1.e3", 1000.0), ("1_0.5", 10.5), (".5", 0.5), (".5_0", 0.5),
    ("._5", "._5"), (".", "."), (".5e400", ".5e400"), ("1e", "1e"), ("0x1p4", "0x1p4"), ("1e309", "1e309"),
    ("1e-400", 0.0), ("18446744073709551615", 2**64 - 1), ("18446744073709551616", 2.0**64),
    ("+9223372036854775808", 2.0**63), ("-9223372036854775809", -(2.0**63)), ("-9223372036854775808", -(2**63)),
    ("0x10000000000000000", "0x10000000000000000"), ("-0x8000000000000001", "-0x8000000000000001"),
    ("1:30", "1:30"), ("2001-12-14", "2001-12-14"), ("1Gi", "1Gi"), ("5%", "5%"), ("=", "="), ("<<", "<<"),
    (".inf", math.inf), ("-.Inf", -math.inf), ("+.INF", math.inf), (".Nan", ".Nan"), ("+", "+"), ("-", "-"),
    ("٣", "٣"), ("1\u0663", "1\u0663"), ("1\n", "1\n"), ("0" * 5000 + "7", 7),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PLAIN, ids=[ascii(text)[:30] for text, _ in PLAIN])
def test_a_plain_scalar_is_what_gos_table_says(text, expected):
    found = resolve_plain(text)
    assert (type(found), found) == (type(expected), expected)


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_of_64_bits_are_integers(number):
    assert resolve_plain(str(number)) == number
    assert type(resolve_plain(str(number))) is int


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_doubles(number):
    assert resolve_plain(repr(number)) == number


TIMES = [
    ("2001-1-2", True), ("2001-12-14t21:59:43.10Z", True), ("2001-12-14T21:59:43.10-05:00", True),
    ("2001-12-14 21:59:43.10", True), ("2001-12-14 21:59:43.10 -5", False), ("2001-12-14T21:59:43", False),
    ("2001-02-29", False), ("2004-02-29", True), ("2001-13-01", False), ("2001-00-01", False), ("2001-12-32", False),
    ("2001-12-14T24:00:00Z", False), ("2001-12-14T1:2:3Z", True), ("201-12-14", False), ("", False), ("1", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "good"), TIMES)
def test_a_timestamp_tag_wants_a_timestamp_and_keeps_its_text(text, good):
    if good:
        assert resolve_tagged(TAG_PREFIX + "timestamp", text) == text
    else:
        with pytest.raises(YamlError, match="as a !!timestamp"):
            resolve_tagged(TAG_PREFIX + "timestamp", text)


@given(st.binary())
def test_binary_keeps_text_and_replaces_each_bad_byte(data):
    import base64

    found = resolve_tagged(TAG_PREFIX + "binary", base64.b64encode(data).decode())
    try:
        assert found == data.decode()
    except UnicodeDecodeError:
        assert "\N{REPLACEMENT CHARACTER}" in found


def test_three_bad_bytes_are_three_replacements():
    assert resolve_tagged(TAG_PREFIX + "binary", "4oI=") == "\ufffd\ufffd"


@pytest.mark.parametrize("text", ["aGVs bG8=", "aGVsbG8", "é", "a===", "aGVsbG8=x"])
def test_binary_that_is_no_base64_is_an_error(text):
    with pytest.raises(YamlError, match="invalid base64 data"):
        resolve_tagged(TAG_PREFIX + "binary", text)
