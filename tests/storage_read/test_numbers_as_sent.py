"""Numbers that a client spells otherwise than they are stored."""

import pytest

from auditor.golang.jsontext import decode, encode
from auditor.storage_read.numbers_as_sent import as_sent, has_respelled, may_be_respelled

CASES = [
    ("1.0", True), ("-0.0", True), ("1e3", True), ("1.5e1", True), ("12E0", True), ("1.00", True), ("-7.0e+2", True),
    ("1", False), ("-0", False), ("1.5", False), ("1e-3", False), ("9223372036854775808", False), ("1e21", False),
    ("1.00000000000000000001", True), ("9007199254740993.5", True), ("9223372036854774784.0", True),
    ("-9223372036854775808", False), ("-9223372036854775809", False),
    ("9.3e18", False), ("9.2e18", True), ('"1.0"', False), ("true", False), ("null", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "changes"), CASES)
@pytest.mark.parametrize("around", ['{"a":%s}', "[%s]", '{"a":[0, %s ,2]}', '{"a":{"b" :\t%s\n}}'])
def test_a_number_changes_where_its_go_spelling_reads_as_another_type(text, changes, around):
    data = (around % text).encode()
    value = decode(data)
    sent = as_sent(value)
    assert has_respelled(value) == changes
    assert (repr(sent) != repr(value)) == changes
    assert repr(sent) == repr(decode(encode(value).encode()))
    assert may_be_respelled(data) or not changes


def test_what_looks_like_a_number_in_a_string_or_key_is_only_suspected():
    assert not has_respelled({"1.0": ["1.0", "[1.0]"]})
    assert not may_be_respelled(b'{"1.0":"2.0","image":"nginx:1.0"}')


def test_values_deeper_than_frames_are_copied_by_their_text():
    value = 1.0
    for _ in range(3000):
        value = [value]
    sent = as_sent(value)
    while type(sent) is list:
        sent = sent[0]
    assert type(sent) is int
    assert has_respelled(value)
