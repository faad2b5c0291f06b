"""An upgrade scan of a list of 100,000 items that lose a field each takes seconds, not the square of their number."""

from functools import partial

import pytest

from auditor.base.records import AuditedObject
from auditor.upgrade import compare_reads, is_below
from tests.timing import least_seconds


@pytest.mark.parametrize(
    ("path", "others", "expected"),
    [
        ("a.b", {"a"}, True),
        ("a[0].b", {"a"}, True),
        ("a[0].b", {"a[0]"}, True),
        ("a[0].b", {"a[1]"}, False),
        ("ab", {"a"}, False),
        ("a", {"a"}, False),
        ("a", {"a.b"}, False),
        ("a.b", set(), False),
        ("a.b.c", ("x", "a.b"), True),
    ],
)
def test_what_lies_below_a_path(path, others, expected):
    assert is_below(path, others) is expected


def comparison(count):
    def read(lost):
        rows = [{} if "b" in lost else {"b": 1} for _ in range(count)]
        return AuditedObject(
            object={"rows": rows}, pruned=tuple(f"rows[{at}].{key}" for key in lost for at in range(count))
        )

    stored = {"rows": [{"a": 1, "b": 1} for _ in range(count)]}
    return partial(compare_reads, read("a"), read("ab"), lambda: stored)


def test_every_item_that_loses_a_field_is_reported():
    assert [change.path for change in comparison(20_000)()] == sorted(f"rows[{at}].b" for at in range(20_000))


def test_time_grows_with_the_list_not_with_its_square():
    assert least_seconds(comparison(20_000)) < 20 * least_seconds(comparison(2_000)) + 0.1
