"""Rows of `etcdctl get -w json` in their usual spelling."""

import pytest

from auditor.sources.etcdctl import _USUAL, _USUAL_END

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
