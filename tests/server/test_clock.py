"""Times of objects: what is a time, when a deletion was requested, and how a time is printed."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.golang.times import unix_seconds
from auditor.server.clock import deletion_time, time_text


@pytest.mark.parametrize("text", ["", "soon", "0001-01-01T00:00:00Z", None, 3, "2026-02-30T00:00:00Z"])
def test_what_is_no_time_has_no_seconds(text: object) -> None:
    assert unix_seconds(text) is None


@pytest.mark.parametrize("text", ["2026-03-10T12:00:00Z", "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z"])
def test_a_time_is_printed_as_objects_have_it(text: str) -> None:
    seconds = unix_seconds(text)
    assert seconds is not None
    assert time_text(seconds) == time_text(seconds + 0.9) == text


@pytest.mark.parametrize(("grace", "before"), [(None, 0), (30, 30), ("30", 0)])
def test_a_deletion_was_requested_before_its_grace_period(grace: Any, before: int) -> None:
    metadata = {"deletionTimestamp": "1970-01-01T01:00:00Z", "deletionGracePeriodSeconds": grace}
    assert deletion_time(metadata) == 3600 - before
    assert deletion_time({}) is None
