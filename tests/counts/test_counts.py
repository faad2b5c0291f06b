"""No object takes more calls, decoded bytes, arrays or files than the table says; where it takes fewer, the table follows."""

from __future__ import annotations

import json
import sys

import pytest

from tests.counts.work import TABLE, counted
from tests.shared import second_check

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="the table is that of Python 3.11: others inline comprehensions and count other calls",
)
KNOWN = json.loads(TABLE.read_text())
AGAIN = "python -m tests.counts.work"
COMMANDS = ("a manifest, a file each", "an object of ", "an object, one field")
"""Beginnings of the rows that open a dump, which reports progress by the clock: a slow machine adds a call or two for each object."""


def differences(group: str) -> list[str]:
    """Return a line for each count that is not that of the table."""
    lines = []
    for name, row in counted(group).items():
        for what, count in row.items():
            known = KNOWN.get(name, {}).get(what)
            if known is None:
                lines.append(f"{name}: {what} are not in the table: {AGAIN} adds them")
            elif name.startswith(COMMANDS) and abs(count - known) <= 5:
                continue
            elif count > known:
                lines.append(f"{name}: {what} grew from {known} to {count}")
            elif count < known:
                lines.append(f"{name}: {what} fell from {known} to {count}: {AGAIN} lowers them in the table")
    return lines


def test_the_counts_of_the_vectors_are_those_of_the_table() -> None:
    assert differences("own") == []


@second_check("corpus/crds", by="tests/counts/test_counts.py")
def test_the_counts_of_real_kinds_are_those_of_the_table() -> None:
    assert differences("real") == []


def test_the_table_has_thirty_real_kinds() -> None:
    assert sum(name.startswith("real ") for name in KNOWN) == 30
