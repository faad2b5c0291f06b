"""The object tells where a key of a field ends."""

import pytest

from auditor.updates.managed_fields import locate, owned_roots

OBJECT = {"spec": {"a": {"b": 1}, "a.b": {"c": 2}, "a[0]": 3, "x": [{"y": 4}], "long": 5}}


@pytest.mark.parametrize(
    ("field", "steps", "rest"),
    [
        ("spec.long", ["spec", "long"], ""),
        ("spec.a", ["spec", "a"], ""),
        ("spec.a.b.c", ["spec", "a.b", "c"], ""),
        ("spec.a[0]", ["spec", "a[0]"], ""),
        ("spec[a.b].c", ["spec", "a.b", "c"], ""),
        ("spec.x[0].y", ["spec", "x", 0, "y"], ""),
        ("spec.a.z", ["spec", "a"], "z"),
        ("spec.lon.g", ["spec"], "lon.g"),
        ("<nil>", [], ""),
    ],
)
def test_the_longest_key_that_is_there_is_a_step(field, steps, rest):
    assert locate(OBJECT, field) == (steps, rest)


def test_roots_are_those_of_all_managers_that_own_fields():
    entries = [{"fieldsV1": {"f:spec": {}, ".": {}}}, "broken", {"fieldsV1": None}, {"fieldsV1": {"f:status": {}}}]
    assert owned_roots({"metadata": {"managedFields": entries}}) == {"spec", "status"}
    assert owned_roots({"metadata": {"managedFields": "broken"}}) == owned_roots({}) == set()
