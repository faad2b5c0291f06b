"""Drawn expressions over drawn objects: the interpreter agrees with each proof, at no higher cost than the bound."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cel.emit.drawing import SCHEMA, Drawer
from tests.cel.emit.proving import Judge, assert_sound

JUDGE = Judge(SCHEMA)


def check(random: Random, rules: int, objects: int, seen: Counter[str] | None = None) -> None:
    """Draw rules, and try each on several objects."""
    drawer = Drawer(random)
    for _ in range(rules):
        text = drawer.rule()
        rule = JUDGE.rule(text)
        for _ in range(objects):
            found = rule.on(drawer.object())
            assert_sound(found, text)
            if seen is not None:
                seen["compiles"] += found.compiled.program is not None
                seen["has code"] += found.compiled.program is not None and not found.reason
                seen["true"] += found.value is True and not found.reason
                seen["proven"] += found.is_proven
                seen["proven on records"] += found.record_bound is not None
                seen[found.reason] += 1


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**64))
def test_what_is_proven_holds_at_no_higher_cost(seed: int) -> None:
    check(Random(seed), 10, 4)


def test_drawn_rules_are_worth_drawing() -> None:
    seen: Counter[str] = Counter()
    check(Random(7), 250, 4, seen)
    assert seen["compiles"] >= 700, seen
    assert seen["has code"] >= 0.8 * seen["compiles"], seen
    assert seen["proven"] >= 0.85 * seen["true"], seen
    assert seen["proven"] >= 200, seen
    assert seen["proven on records"] >= 0.6 * seen["proven"], seen
