"""Spans cut out of a file are its bytes at those positions, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from auditor.sources.files.view import FileView

DATA = bytes(range(256)) * 4


@given(st.lists(st.tuples(st.integers(0, len(DATA)), st.integers(0, 300)), max_size=30))
def test_spans_may_overlap_and_come_in_any_order(spans: list[tuple[int, int]]) -> None:
    """In a damaged file they do, and together they may be longer than the file."""
    cut = [(start, min(length, len(DATA) - start)) for start, length in spans]
    offsets = np.array([start for start, _ in cut], dtype=np.int64)
    lengths = np.array([length for _, length in cut], dtype=np.int64)
    assert FileView(DATA).binary(offsets, lengths).to_pylist() == [DATA[a : a + b] for a, b in cut]
