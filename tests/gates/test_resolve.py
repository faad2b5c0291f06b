"""Which gates are on, and which fields."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.base.errors import PlanError
from auditor.gates import gate_config, parse_overrides, resolve
from auditor.gates.resolve import check_overrides
from tests.gates.support import definition, gate, resolved

ON, OFF = True, False


@pytest.mark.parametrize(
    ("stage", "default", "enabled", "overrides", "expected"),
    [
        ("stable", None, None, {}, ON),
        ("stable", None, False, {}, ON),
        ("stable", True, None, {"A": True}, ON),
        ("alpha", None, None, {}, OFF),
        ("alpha", False, None, {}, OFF),
        ("alpha", None, True, {}, ON),
        ("alpha", False, True, {}, ON),
        ("alpha", None, True, {"A": False}, OFF),
        ("alpha", None, None, {"A": True}, ON),
        ("alpha", None, None, {"AllAlpha": True}, ON),
        ("alpha", None, True, {"AllAlpha": False}, OFF),
        ("alpha", None, None, {"AllAlpha": True, "A": False}, OFF),
        ("alpha", None, None, {"AllBeta": True}, OFF),
        ("beta", True, None, {}, ON),
        ("beta", False, None, {}, OFF),
        ("beta", True, False, {}, OFF),
        ("beta", True, None, {"AllBeta": False}, OFF),
        ("beta", False, None, {"AllAlpha": True}, OFF),
        ("deprecated", None, None, {}, OFF),
        ("deprecated", True, None, {}, ON),
        ("deprecated", None, True, {}, ON),
        ("deprecated", True, None, {"AllBeta": False, "AllAlpha": False}, ON),
    ],
)
def test_resolution(stage: str, default: Any, enabled: Any, overrides: dict[str, bool], expected: bool) -> None:
    given = {"default": default, "enabled": enabled}
    one = gate("A", ".spec.rep", stage=stage, **{key: value for key, value in given.items() if value is not None})
    state = resolved(one, overrides=overrides).states[0]
    assert state.on is expected
    assert state.why


def test_why_a_gate_is_off_is_said() -> None:
    gates = resolved(gate("A", ".spec.rep", stage="deprecated"), gate("B", ".spec.foo", enabled=False))
    assert [state.why for state in gates.states] == ["deprecated, and no default", "enabled: false"]
    assert resolved(gate("A", ".spec.rep"), overrides={"A": True}).states[0].why == "--field-gates A=true"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("A=true", {"A": True}),
        ("A=true,B=false", {"A": True, "B": False}),
        (" A = T , B=0 ,", {"A": True, "B": False}),
        ("AllAlpha=true,AllBeta=false", {"AllAlpha": True, "AllBeta": False}),
        ("A=true,A=false", {"A": False}),
    ],
)
def test_the_flag_is_read_as_kubernetes_reads_it(text: str, expected: dict[str, bool]) -> None:
    assert parse_overrides(text) == expected


@pytest.mark.parametrize("text", ["A", "A=", "A=yes", "A=TrUe"])
def test_a_malformed_flag_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        parse_overrides(text)


def test_a_stable_gate_cannot_be_switched_off_and_an_unknown_one_not_at_all() -> None:
    config = gate_config(definition([gate("A", ".spec.rep", stage="stable"), gate("B", ".spec.foo")]))
    with pytest.raises(PlanError, match="cannot set feature gate A to false"):
        resolve(config, {"A": False})
    with pytest.raises(PlanError, match="cannot set feature gate A to false"):
        check_overrides([config], {"A": False})
    with pytest.raises(PlanError, match="unrecognized feature gate: C; expected one of: A, B"):
        check_overrides([config], {"C": True})
    check_overrides([config], {"A": True, "B": False, "AllAlpha": True})


@pytest.mark.parametrize(("parent", "child", "counts"), [(OFF, OFF, OFF), (OFF, ON, OFF), (ON, OFF, OFF), (ON, ON, ON)])
def test_a_child_counts_only_with_its_parents(parent: bool, child: bool, counts: bool) -> None:
    gates = resolved(gate("F", ".spec.foo", enabled=parent), gate("Q", ".spec.foo.qux", enabled=child))
    paths = {str(one.path): one for one in gates.paths}
    assert paths[".spec.foo"].on is parent
    assert paths[".spec.foo.qux"].on is counts
    assert (paths[".spec.foo.qux"].blocked_by is not None) is not parent


def test_a_name_that_only_begins_the_same_is_no_parent() -> None:
    gates = resolved(gate("A", ".spec.rep"), gate("B", ".spec.replicas", enabled=True))
    assert {str(one.path): one.on for one in gates.paths} == {".spec.rep": False, ".spec.replicas": True}


def test_what_is_published_says_what_is_on() -> None:
    gates = resolved(gate("A", ".spec.rep"), gate("B", ".spec.foo", ".spec['a.b']", stage="beta", default=True))
    assert gates.published() == [
        {"name": "A", "preRelease": "alpha", "enabled": False, "fieldPaths": [".spec.rep"]},
        {"name": "B", "preRelease": "beta", "enabled": True, "fieldPaths": [".spec.foo", ".spec['a.b']"]},
    ]
