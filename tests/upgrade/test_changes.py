"""Two reads of one object side by side: paths, values, and what is reported only once."""

import pytest

from auditor.base.paths import plain_path
from auditor.base.records import AuditedObject
from auditor.schema.structural import ABSENT
from auditor.upgrade import PathChange, compare_reads, compare_verdicts, is_below, value_at, worst_by_field


def read(obj, pruned=(), defaulted=(), selectable=None, **more):
    return AuditedObject(None, obj, tuple(pruned), tuple(defaulted), selectable=selectable or {}, **more)


def compared(old, new, stored=None):
    return compare_reads(old, new, lambda: stored)


@pytest.mark.parametrize(
    ("old", "new", "stored", "expected"),
    [
        (read({"a": 1}), read({"a": 1}), None, []),
        (read({"apiVersion": "g/v1"}), read({"apiVersion": "g/v2"}), None, []),
        (read({"a": 1}), read({}, ["a"]), {"a": 1}, [PathChange("pruned", "a", old=1)]),
        (read({}, ["a"]), read({}, ["a"]), None, []),
        # What the old read dropped already is no loss of the upgrade, also where more of it goes.
        (read({"o": {}}, ["o.k"]), read({}, ["o"]), {"o": {"k": 1}}, [PathChange("pruned", "o", old={"k": 1})]),
        (read({}, ["o"]), read({"o": {}}, ["o.k"]), None, [PathChange("pruned", "o", new={})]),
        (read({}, ["o"]), read({"o": {"k": 1}}), None, [PathChange("pruned", "o", new={"k": 1})]),
        # A default of the stored version that is pruned on the way to another was never stored.
        (read({"a": "x"}, (), ["a"]), read({}, ["a"]), {}, [PathChange("default-changed", "a", old="x")]),
        (read({}), read({"a": 1}, (), ["a"]), None, [PathChange("defaulted", "a", new=1)]),
        (read({"l": [{}]}), read({"l": [{"a": 1}]}, (), ["l[0].a"]), None, [PathChange("defaulted", "l[0].a", new=1)]),
        (read({"a": None}), read({"a": 1}, (), ["a"]), None, [PathChange("pruned", "a", old=None, new=1)]),
        (read({"a": None}, (), ["a"]), read({"a": 1}, (), ["a"]), None, [PathChange("default-changed", "a", None, 1)]),
        (read({"o": {"a": None}}, (), ["o"]), read({"o": {}}), None, [PathChange("default-changed", "o.a", None)]),
        (read({"l": [None]}), read({"l": [1]}, (), ["l[0]"]), None, [PathChange("pruned", "l[0]", None, 1)]),
        (read({}), read({"a": None}), None, [PathChange("pruned", "a", new=None)]),
        (read({"a": 1}, (), ["a"]), read({"a": 2}, (), ["a"]), None, [PathChange("default-changed", "a", 1, 2)]),
        (read({"a": 1}, (), ["a"]), read({"a": True}, (), ["a"]), None, [PathChange("default-changed", "a", 1, True)]),
        (read({"a": 1}, (), ["a"]), read({"a": 1.0}, (), ["a"]), None, []),
        (
            read({"a": [1]}, (), ["a"]),
            read({"a": [1, 2]}, (), ["a"]),
            None,
            [PathChange("default-changed", "a", [1], [1, 2])],
        ),
        (read({"a": None}), read({}), None, [PathChange("pruned", "a", old=None)]),
        (
            read({"m": {"x.y": {"k": 1}}}),
            read({"m": {"x.y": {}}}, ["m.x.y.k"]),
            {"m": {"x.y": {"k": 1}}},
            [PathChange("pruned", "m.x.y.k", old=1)],
        ),
        (
            read({}, (), (), {"spec.a": "1"}),
            read({}, (), (), {"spec.a": "2"}),
            None,
            [PathChange("selector", "spec.a", "1", "2")],
        ),
        (read({}, (), (), {"spec.a": "1"}), read({}, (), (), {"spec.b": "2"}), None, []),
        (read({}), read({}, select_error="bad"), None, [PathChange("selector", None, new="bad")]),
    ],
)
def test_differences_of_two_reads(old, new, stored, expected):
    assert compared(old, new, stored) == expected


def test_the_stored_value_is_asked_for_only_where_something_is_lost():
    def never():
        raise AssertionError("not asked for")

    assert compare_reads(read({"a": 1}), read({"a": 2}, (), ["a"]), never) == [PathChange("default-changed", "a", 1, 2)]


def test_nothing_and_null_are_distinguished():
    assert PathChange("pruned", "a", old=None).texts() == ("null", None)
    assert PathChange("pruned", "a", old=ABSENT, new="x").texts() == (None, '"x"')
    assert PathChange("pruned", "a", old=None).is_loss
    assert PathChange("pruned", "a", old=None, new=1).is_loss
    assert not PathChange("pruned", "a", new=None).is_loss
    assert not PathChange("pruned", "a", new=1).is_loss


def test_paths():
    assert is_below("a.b", ["a"])
    assert is_below("a[0]", ["a"])
    assert not is_below("ab", ["a"])
    assert plain_path("a[12].b[0]") == "a[*].b[*]"
    assert value_at({"m": {"x.y": [5]}}, "m.x.y[0]") == 5
    assert value_at({"m": {}}, "m.x") is ABSENT


def test_the_worst_verdict_of_a_field_counts():
    found = [("a", "tolerated-while-unchanged"), ("a", "blocks-every-update"), ("b", None), ("b", "tolerated-globally")]
    worst = worst_by_field(found)
    assert worst == {"a": "blocks-every-update", "b": "invalid"}
    assert compare_verdicts({"a": "invalid", "c": "invalid"}, worst) == [
        PathChange("verdict", "a", "invalid", "blocks-every-update"),
        PathChange("verdict", "b", new="invalid"),
        PathChange("verdict", "c", old="invalid"),
    ]
