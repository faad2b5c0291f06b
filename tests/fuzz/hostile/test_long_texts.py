"""Messages and what repeats in them: the server's words, and not once for each finding in memory."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor.base.longtext import LongText, bounded_join, cut
from auditor.ratcheting import canonical_text, deep_equal, has_equal_pair
from auditor.validation.field_errors import NOT_SUPPORTED, finding, unique
from tests.command import auditor
from tests.fuzz.hostile.bounded import dump

if TYPE_CHECKING:
    from pathlib import Path

LISTED = "supported values: " + ", ".join(f'"e{number}"' for number in range(1000))


def test_a_long_message_is_what_a_short_one_would_be() -> None:
    made = finding("schema", "spec.a", NOT_SUPPORTED, "z", LISTED)
    assert made.message == f'spec.a: Unsupported value: "z": {LISTED}'
    assert made.sort_key()[:2] == ("spec.a", NOT_SUPPORTED)
    moved = replace(made, field="spec.b", message="spec.b: moved")
    assert (moved.message, moved.detail) == ("spec.b: moved", LISTED)
    assert pickle.loads(pickle.dumps(made)).message == made.message


def test_findings_with_one_long_detail_share_it() -> None:
    tracemalloc.start()
    found = [finding("schema", f"spec.l[{number}]", NOT_SUPPORTED, "z", LISTED) for number in range(2000)]
    assert len(unique(found + found)) == 2000
    assert min(found, key=lambda one: one.sort_key()).field == "spec.l[0]"
    assert tracemalloc.get_traced_memory()[1] < 2000 * len(LISTED) / 4
    tracemalloc.stop()


@pytest.mark.parametrize(
    "others", ["a", "ab", "b", "a: y", LongText("a", ": z"), LongText("aa", "x"), LongText("a", "")]
)
def test_long_texts_sort_as_the_texts_they_are(others: Any) -> None:
    long = LongText("a", ": x")
    assert (long < others) == (str(long) < str(others))
    assert (long > others) == (str(long) > str(others))


def test_what_is_cut_says_how_long_it_was() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 2) == "ab… (cut: 2 of 6 characters)"
    assert bounded_join(["ab", "cd"], 100) == "ab, cd"
    assert bounded_join(["abc", "cd", "ef"], 2) == "abc, … (cut: 1 of 3 messages)"


VALUES = [1, 1.0, True, None, "1", 0.0, -0.0, 0, [], {}, [[]], [1, 2], [2, 1], {"a": 1}, {"a": 1.0}, {"a": -0.0}]
VALUES += [
    {"a": 0.0},
    {"a": 1, "b": [None]},
    {"b": [None], "a": 1},
    {"a": {"b": 1}},
    {"a": 1, "b": 1},
    "\ud800",
    ["a", "b"],
]
VALUES += [["a\nb"], ["a', 'b"], {"a', 'b": 1}, 1e22, 10**18, float(10**18)]


@pytest.mark.parametrize("one", VALUES, ids=repr)
def test_canonical_texts_are_equal_exactly_for_deeply_equal_values(one: Any) -> None:
    for other in VALUES:
        assert (canonical_text(one) == canonical_text(other)) == deep_equal(one, other)
        assert has_equal_pair([one, other]) == deep_equal(one, other)


def test_messages_in_a_report_are_whole_until_an_object_has_megabytes_of_them(tmp_path: Path) -> None:
    enum = {"type": "string", "enum": [f"e{number}" for number in range(1000)]}
    path = dump(tmp_path / "dump.ndjson", {"type": "object", "properties": {"l": {"type": "array", "items": enum}}},
                {"l": ["z"] * 2000}, {"l": ["z"]})  # fmt: skip
    ended = auditor("audit", path, "--report", tmp_path / "report", "--fail-on", "never", "--jobs", 1)
    assert ended.code == 0, ended.output
    rows = pa.concat_tables(pq.read_table(part) for part in sorted((tmp_path / "report/findings").glob("*.parquet")))
    whole = f'spec.l[0]: Unsupported value: "z": {LISTED}'
    messages = {(row["name"], row["field"]): row["message"] for row in rows.to_pylist()}
    assert messages["a0", "spec.l[0]"] == messages["a1", "spec.l[0]"] == whole
    assert messages["a0", "spec.l[1999]"].endswith(f"… (cut: 256 of {len(whole) + 3} characters)")
    assert len(messages) == 2001
