"""Rows of `etcdctl get -w json` in their usual spelling."""

import binascii
import itertools
from pathlib import Path

import pytest

from auditor.sources.etcdctl import _USUAL, _USUAL_END, _check_base64, _check_value, open_etcdctl

KEY = b'{"key":"YQ=="'


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        (b',"create_revision":2,"mod_revision":3,"version":4,"value":"', (b"2", b"3", b"4")),
        (b',"mod_revision":3', (None, b"3", None)),
        (b',"create_revision":', None),
        (b',"create_revision":"2"', None),
        (b',"create_revision":-1', None),
    ],
)
def test_a_field_is_taken_whole_or_not_at_all(more, numbers):
    found = _USUAL.match(KEY + more)
    assert found.groups()[1:4] == (numbers or (None, None, None))
    assert found.end() == len(KEY + more) if numbers else found.end() == len(KEY)


@pytest.mark.parametrize(
    ("end", "fits"), [(b"}", True), (b',"lease":-5}', True), (b',"lease":}', False), (b',"lease":-}', False)]
)
def test_a_lease_has_a_number(end, fits):
    assert bool(_USUAL_END.match(end)) == fits


def test_a_dump_whose_first_row_is_broken_is_damaged_not_refused(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text('{"header": {"revision": 40}, "kvs": ["a"], "count": 5}')
    plan = open_etcdctl(str(dump), dump, number=0, workdir=tmp_path, sha256="")
    assert (plan.rows, plan.revision, plan.notes) == (0, 40, ())
    assert [(one.where, one.reason) for one in plan.damage] == [
        ("byte 37", "no row begins here; 0 keys were read before that")
    ]


def refusal(check, text: bytes) -> str:
    try:
        check(text)
    except binascii.Error as error:
        return str(error)
    return ""


@pytest.mark.parametrize("length", range(7))
def test_a_text_is_base64_if_it_decodes(length: int) -> None:
    for signs in itertools.product(b"Az/=-\n" if length > 4 else b"Az09+/=-_ \n", repeat=length):
        text = bytes(signs)
        assert refusal(_check_base64, text) == refusal(lambda one: binascii.a2b_base64(one, strict_mode=True), text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b"QUJD" * 7, ""),
        (b"QUJD" * 6 + b"QQ==", ""),
        (b"QUJD" * 2 + b"QQ==" + b"QUJD" * 4, "after padding"),
        (b"QUJD" * 3 + b"Q*JD" + b"QUJD" * 3, "base64"),
        (b"QUJD" * 6 + b"QQ", "padding"),
    ],
)
@pytest.mark.parametrize("block", [4, 8, 12, 1 << 20])
def test_a_value_is_checked_block_by_block_as_at_once(monkeypatch, text, wrong, block):
    monkeypatch.setattr("auditor.sources.etcdctl._BLOCK", block)
    if not wrong:
        _check_value(b"..." + text, 3, 3 + len(text))
        return
    with pytest.raises(binascii.Error, match=f"(?i){wrong}"):
        _check_value(b"..." + text, 3, 3 + len(text))
