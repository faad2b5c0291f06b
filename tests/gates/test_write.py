"""What a write stores: the tables of the notes, and what they leave open."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.gates import fields_in_use, gate_config, resolve
from tests.gates.support import definition, gate, loaf, resolved, write


@pytest.mark.parametrize(
    ("before", "on", "stored"),
    [
        (None, False, None),
        (None, True, 5),
        (loaf({}), False, None),
        (loaf({}), True, 5),
        (loaf({"replicas": 1}), False, 1),
        (loaf({"replicas": 1}), True, 5),
    ],
    ids=["create-off", "create-on", "no-off", "no-on", "yes-off", "yes-on"],
)
def test_the_table_of_one_field(before: Any, on: bool, stored: int | None) -> None:
    gates = resolved(gate("ReplicasFeatureGate", ".spec.replicas", enabled=on))
    made = write(gates, loaf({"replicas": 5}), before)
    assert made.stored["spec"].get("replicas") == stored
    assert made.dropped == (() if stored is not None else (("spec.replicas", 5),))
    assert made.kept == ((("spec.replicas", 5, 1),) if stored == 1 else ())


@pytest.mark.parametrize(
    ("number", "had", "parent", "child", "stored"),
    [
        (1, False, False, False, {}),
        (2, False, False, True, {}),
        (3, False, True, False, {"foo": {"baz": 2}}),
        (4, False, True, True, {"foo": {"baz": 2, "qux": 3}}),
        (5, True, False, False, {"foo": {"qux": 1}}),
        (6, True, False, True, {"foo": {"qux": 1}}),
        (7, True, True, False, {"foo": {"baz": 2, "qux": 1}}),
        (8, True, True, True, {"foo": {"baz": 2, "qux": 3}}),
    ],
)
def test_the_table_of_a_parent_and_its_child(
    number: int, had: bool, parent: bool, child: bool, stored: dict[str, Any]
) -> None:
    gates = resolved(gate("F", ".spec.foo", enabled=parent), gate("Q", ".spec.foo.qux", enabled=child))
    old = loaf({"foo": {"qux": 1}} if had else {})
    new = loaf({"foo": {"baz": 2, "qux": 3}})
    sent = copy.deepcopy(new)
    assert write(gates, new, old).stored["spec"] == stored, number
    assert new == sent


def test_replicas_enabled_max_available_unset_max_unavailable_enabled() -> None:
    number = {"type": "integer"}
    replicas = {"type": "object", "properties": {"maxAvailable": number, "maxUnavailable": number}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"replicas": replicas}}}}
    config = gate_config(
        definition(
            [
                gate("ReplicasFeatureGate", ".spec.replicas", enabled=True),
                gate("MaxAvailableFeatureGate", ".spec.replicas.maxAvailable"),
                gate("MaxUnavailableFeatureGate", ".spec.replicas.maxUnavailable", enabled=True),
            ],
            schema,
        )
    )
    assert (config.findings, config.warnings) == ((), ())
    made = write(resolve(config), loaf({"replicas": {"maxAvailable": 100, "maxUnavailable": 5}}))
    assert made.stored["spec"]["replicas"] == {"maxUnavailable": 5}


def test_a_new_gate_on_a_field_that_objects_have() -> None:
    gates = resolved(gate("New", ".spec.replicas"))
    stored = loaf({"replicas": 3})
    assert write(gates, loaf({"replicas": 7}), stored).stored == stored
    assert write(gates, loaf({}), stored).stored == stored
    assert [one.field for one in fields_in_use(gates, stored)] == ["spec.replicas"]
    assert "spec" in write(gates, copy.deepcopy(stored)).stored
    assert write(gates, copy.deepcopy(stored)).stored["spec"] == {}


# -- lists -------------------------------------------------------------------------------------------------------------


def test_items_of_a_map_list_are_paired_by_their_keys() -> None:
    gates = resolved(gate("A", ".spec.map.size"))
    old = loaf({"map": [{"name": "a", "size": 1}, {"name": "b"}, {"name": "c", "size": 3}]})
    new = loaf({"map": [{"name": "c", "size": 9}, {"name": "a"}, {"name": "b", "size": 8}, {"name": "d", "size": 7}]})
    made = write(gates, new, old)
    assert made.stored["spec"]["map"] == [
        {"name": "c", "size": 3},
        {"name": "a", "size": 1},
        {"name": "b"},
        {"name": "d"},
    ]
    assert made.dropped == (("spec.map[2].size", 8), ("spec.map[3].size", 7))
    assert made.kept == (("spec.map[0].size", 9, 3), ("spec.map[1].size", None, 1))


def test_items_of_other_lists_are_paired_by_position() -> None:
    gates = resolved(gate("A", ".spec.list.size"))
    old = loaf({"list": [{"name": "a", "size": 1}, {"name": "b"}]})
    new = loaf({"list": [{"name": "b", "size": 5}, {"name": "a", "size": 6}, {"size": 7}]})
    assert write(gates, new, old).stored["spec"]["list"] == [{"name": "b", "size": 1}, {"name": "a"}, {}]


def test_items_that_are_gone_take_their_fields_with_them() -> None:
    gates = resolved(gate("A", ".spec.map.size"))
    old = loaf({"map": [{"name": "a", "size": 1}]})
    assert write(gates, loaf({"map": []}), old).stored["spec"] == {"map": []}
    assert write(gates, loaf({}), old).stored["spec"] == {}


# -- parents that are not sent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [{}, {"foo": None}, {"foo": {}}], ids=["absent", "null", "empty"])
def test_a_field_that_is_kept_brings_back_its_parents(sent: dict[str, Any]) -> None:
    gates = resolved(gate("Q", ".spec.foo.qux"))
    made = write(gates, loaf(sent), loaf({"foo": {"baz": 2, "qux": 1}}))
    assert made.stored["spec"] == {"foo": {"qux": 1}}
    assert made.kept == (("spec.foo.qux", None, 1),)


def test_nothing_comes_back_that_was_not_there() -> None:
    gates = resolved(gate("Q", ".spec.foo.qux"))
    assert write(gates, loaf({"foo": None}), loaf({"foo": {"baz": 2}})).stored["spec"] == {"foo": None}
    assert "spec" not in write(gates, loaf(), loaf({"foo": {"baz": 2}})).stored
    assert write(gates, loaf({"foo": 5}), loaf({"foo": {"qux": 1}})).stored["spec"] == {"foo": 5}


# -- generation --------------------------------------------------------------------------------------------------------


def test_an_update_whose_only_change_was_dropped_changes_no_generation() -> None:
    gates = resolved(gate("A", ".spec.replicas"))
    old = loaf({"rep": 1})
    assert write(gates, loaf({"rep": 1, "replicas": 5}), old).generation_changes is False
    assert write(gates, loaf({"rep": 2, "replicas": 5}), old).generation_changes is True
    assert write(gates, loaf({"rep": 1}), loaf({"rep": 1, "replicas": 5})).generation_changes is False
    assert write(gates, loaf({"rep": 1})).generation_changes is None


def test_status_counts_only_where_it_is_no_subresource_and_metadata_never() -> None:
    gates = resolved(gate("A", ".spec.replicas"))
    old, new = loaf({"rep": 1}, status={"seen": 1}), loaf({"rep": 1}, status={"seen": 2})
    assert write(gates, new, old).generation_changes is True
    assert write(gates, new, old, has_status=True).generation_changes is False
    new = {**old, "metadata": {**old["metadata"], "labels": {"x": "y"}}}
    assert write(gates, new, old).generation_changes is False


def test_the_last_applied_annotation_is_left_alone() -> None:
    gates = resolved(gate("A", ".spec.replicas"))
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"replicas":5}}'}
    new = loaf({"replicas": 5})
    new["metadata"]["annotations"] = dict(annotation)
    made = write(gates, new, loaf({}))
    assert made.stored["metadata"]["annotations"] == annotation
    assert made.stored["spec"] == {}


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 2),
        "foo": st.one_of(
            st.none(), st.fixed_dictionaries({}, optional={"baz": st.integers(0, 1), "qux": st.integers(0, 1)})
        ),
        "list": st.lists(st.fixed_dictionaries({}, optional={"size": st.integers(0, 1)}), max_size=2),
    },
)


@given(SPECS, SPECS, st.booleans(), st.booleans(), st.booleans())
def test_writing_again_what_was_stored_changes_nothing(
    old: dict[str, Any], new: dict[str, Any], first: bool, second: bool, third: bool
) -> None:
    gates = resolved(
        gate("A", ".spec.foo", enabled=first),
        gate("B", ".spec.foo.qux", enabled=second),
        gate("C", ".spec.list.size", enabled=third),
    )
    before = loaf(old)
    once = write(gates, loaf(new), before)
    again = write(gates, once.stored, before)
    assert again.stored == once.stored
    assert again.dropped == ()
    assert again.kept == ()
    if first and second and third:
        assert once.stored == loaf(new)
