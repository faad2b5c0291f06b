"""The work of an upgrade scan of a list whose items lose a field each grows as their number, not as its square."""

from functools import partial

import pytest

from auditor.base.records import AuditedObject
from auditor.upgrade import compare_reads, is_below
from tests.counting import calls_of


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


class Path(str):
    """A path whose comparisons are calls."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        return str.__eq__(self, other)


def comparison(count):
    def read(lost):
        rows = [{} if "b" in lost else {"b": 1} for _ in range(count)]
        return AuditedObject(
            object={"rows": rows}, pruned=tuple(Path(f"rows[{at}].{key}") for key in lost for at in range(count))
        )

    stored = {"rows": [{"a": 1, "b": 1} for _ in range(count)]}
    return partial(compare_reads, read("a"), read("ab"), lambda: stored)


def test_every_item_that_loses_a_field_is_reported():
    assert [change.path for change in comparison(2000)()] == sorted(f"rows[{at}].b" for at in range(2000))


def test_work_grows_with_the_list_not_with_its_square():
    assert calls_of(comparison(1600)) < 12 * calls_of(comparison(200))
