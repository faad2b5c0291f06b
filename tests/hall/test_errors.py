"""Errors are values that survive pickling."""

import pickle

import pytest

from auditor import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_compares_by_value_and_survives_pickling(error):
    one = error("dump.db", "3 pages", "4 pages", "take another snapshot")
    assert one == error("dump.db", "3 pages", "4 pages", "take another snapshot")
    assert one != error("dump.db", "2 pages", "4 pages", "take another snapshot")
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert type(again) is error


def test_says_where_what_expected_and_what_to_do():
    text = str(errors.UnknownDump("x.bin", "first bytes 00 01", "an etcd snapshot", "see `auditor sources`"))
    assert text == "x.bin: first bytes 00 01; expected an etcd snapshot; see `auditor sources`"
    assert str(errors.PlanError("", "no dump given")) == "no dump given"


def test_different_kinds_are_never_equal():
    assert errors.PlanError("a", "b") != errors.SourceError("a", "b")
