"""Guarded fields that stored objects have."""

from __future__ import annotations

from auditor.gates import fields_in_use
from tests.gates.support import gate, loaf, resolved


def test_a_field_whose_gate_is_off_is_in_use() -> None:
    gates = resolved(gate("A", ".spec.replicas"), gate("B", ".spec.rep", enabled=True))
    (one,) = fields_in_use(gates, loaf({"replicas": 3, "rep": 1}))
    assert (one.field, one.type, one.bad_value, one.check) == ("spec.replicas", "GatedFieldInUse", 3, "gate")
    assert one.message == (
        "spec.replicas: Gated: 3: gate A (alpha) is off (alpha, and no default): a write that makes the object anew "
        "loses the field"
    )


def test_nothing_is_said_of_fields_that_no_object_has() -> None:
    gates = resolved(gate("A", ".spec.replicas"))
    assert fields_in_use(gates, loaf({"rep": 1})) == []
    assert fields_in_use(gates, loaf()) == []
    assert fields_in_use(gates, None) == []


def test_a_deprecated_gate_is_named_with_its_warning_on_or_off() -> None:
    on = resolved(gate("A", ".spec.rep", stage="deprecated", default=True, deprecatedWarning="use replicas"))
    (one,) = fields_in_use(on, loaf({"rep": 1}))
    assert (one.type, one.detail) == ("DeprecatedFieldInUse", "use replicas; gate A (deprecated) is on")
    off = resolved(gate("A", ".spec.rep", stage="deprecated"))
    (one,) = fields_in_use(off, loaf({"rep": 1}))
    assert one.type == "DeprecatedFieldInUse"
    assert "is off (deprecated, and no default)" in one.detail


def test_a_child_of_a_parent_that_is_off_is_in_use_too() -> None:
    gates = resolved(gate("F", ".spec.foo"), gate("Q", ".spec.foo.qux", enabled=True))
    found = fields_in_use(gates, loaf({"foo": {"qux": 1}}))
    assert [one.field for one in found] == ["spec.foo", "spec.foo.qux"]
    assert "because .spec.foo is off" in found[1].detail


def test_every_item_of_a_list_is_named() -> None:
    gates = resolved(gate("A", ".spec.list.size"))
    found = fields_in_use(gates, loaf({"list": [{"size": 1}, {"name": "x"}, {"size": 2}]}))
    assert [one.field for one in found] == ["spec.list[0].size", "spec.list[2].size"]
