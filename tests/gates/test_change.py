"""What an upgrade does to gates."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.gates import gate_changes
from tests.gates.support import gate, resolved


def reported(before: Any, after: Any) -> list[tuple[str, str, str, str]]:
    changes = gate_changes(resolved(*before), resolved(*after)).changes
    return [(one.gate, one.change, one.before, one.after) for one in changes]


ALPHA = gate("A", ".spec.replicas")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([ALPHA], [ALPHA], []),
        ([], [ALPHA], [("A", "added", "", "alpha, off")]),
        ([ALPHA], [], [("A", "removed", "alpha, off", "")]),
        (
            [ALPHA],
            [gate("A", ".spec.replicas", stage="beta", default=True)],
            [("A", "graduated", "alpha, off", "beta, on"), ("A", "switched-on", "alpha, off", "beta, on")],
        ),
        (
            [gate("A", ".spec.replicas", stage="beta", default=False)],
            [gate("A", ".spec.replicas", stage="stable")],
            [("A", "graduated", "beta, off", "stable, on"), ("A", "switched-on", "beta, off", "stable, on")],
        ),
        (
            [gate("A", ".spec.replicas", stage="beta", default=True)],
            [gate("A", ".spec.replicas", enabled=True)],
            [("A", "moved-back", "beta, on", "alpha, on")],
        ),
        (
            [gate("A", ".spec.replicas", stage="stable")],
            [gate("A", ".spec.replicas", stage="deprecated")],
            [
                ("A", "deprecated", "stable, on", "deprecated, off"),
                ("A", "switched-off", "stable, on", "deprecated, off"),
            ],
        ),
    ],
)
def test_each_change_is_named(before: Any, after: Any, expected: Any) -> None:
    assert reported(before, after) == expected


def test_fields_close_by_a_gate_a_switch_or_a_parent_and_open_again() -> None:
    none, off = None, resolved(ALPHA)
    on = resolved(gate("A", ".spec.replicas", enabled=True))
    for before, after in ((none, off), (on, off)):
        changes = gate_changes(before, after)
        assert [str(path) for path in changes.closed] == [".spec.replicas"]
        assert changes.opened == ()
        assert gate_changes(after, before).opened == changes.closed
    child = gate("Q", ".spec.foo.qux", enabled=True)
    changes = gate_changes(resolved(child), resolved(child, gate("F", ".spec.foo")))
    assert [str(path) for path in changes.closed] == [".spec.foo", ".spec.foo.qux"]


def test_no_gates_before_and_after_is_no_change() -> None:
    assert gate_changes(None, None).changes == ()
