"""Generated code of a predicate answers as the interpreter does, or does not answer."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.base.errors import SelectorError
from auditor.cel.cel_errors import CelError
from auditor.selectors.where import Failures, Where, compile_where
from auditor.selectors.where_code import WARM_UP

FEW = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))

SCALARS: list[Any] = [
    *(None, True, False, 0, 1, 2, -1, 3, 2**53 + 1, 2**63 - 1, 1.0, 1.5, -0.0, 1e300, "", "a", "ab", "é", "1", "true"),
    *("24h", "36h", "1m30s", "2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00", "kind-77", "\ud800", "10.0.0.0/8"),
]
KEYS = ("a", "b", "k", "name", "x-y")
LITERALS = (
    *("null", "true", "false", "0", "1", "-1", "1.5", "1.0", "2u", '"a"', '"ab"', '""', '"1"', '"é"', "[]", "[1, 2]"),
    *('["a", "b"]', "[1, true]", '["a", 1]', "{}", '{"a": 1}', 'duration("24h")', 'timestamp("2024-05-01T10:00:00Z")'),
)


class Drawer:
    """Draws objects and predicates on them."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.bound: list[str] = []

    def value(self, depth: int = 0) -> Any:
        """Return a JSON value."""
        roll = self.random.random() if depth < 3 else 0.0
        if roll < 0.5:
            return self.random.choice(SCALARS)
        if roll < 0.7:
            return [self.value(depth + 1) for _ in range(self.random.randint(0, 3))]
        return {key: self.value(depth + 1) for key in KEYS if self.random.random() < 0.6}

    def object(self) -> dict[str, Any]:
        """Return an object; most have a spec."""
        out: dict[str, Any] = {"metadata": {"name": "kind-77", "labels": {"a": "b"}}}
        if self.random.random() < 0.9:
            out["spec"] = {key: self.value() for key in KEYS if self.random.random() < 0.8}
        return out

    def path(self) -> str:
        """Return a chain of fields and indices."""
        random = self.random
        text = random.choice([*("spec", "self.spec", "metadata.labels", "spec.a", "spec.b"), *self.bound * 3])
        for _ in range(random.choice((0, 1, 1, 2))):
            key = random.choice(KEYS[:4])
            text += random.choice((f".{key}", f".{key}", f"[{key!r}]", "[0]", "[-1]", "[spec.k]", f".?{key}"))
        return text

    def term(self, depth: int) -> str:
        """Return an expression of any type."""
        random, roll = self.random, self.random.random()
        if roll < 0.45 or depth > 3:
            return self.path()
        if roll < 0.7:
            return random.choice(LITERALS)
        part = self.term(depth + 1)
        one = (
            "size({0}) string({0}) int({0}) timestamp({0}) duration({0}) dyn({0}) type({0}) -{0} double({0}) {0}.size()"
        )
        return random.choice(
            [
                *(form.format(part) for form in one.split(" ")),
                f"({part} {random.choice('+-*/%')} {self.term(depth + 1)})",
                f"({self.test(depth + 1)} ? {part} : {self.term(depth + 1)})",
                self.macro(random.choice(("filter", "map")), depth),
                f"[{part}, {self.term(depth + 1)}]",
                f"{part}.orValue({self.term(depth + 1)})",
                f"{part}.split('b')",
                f"{part}.lowerAscii()",
                f"{part}.join(',')",
            ]
        )

    def macro(self, name: str, depth: int) -> str:
        """Return a macro over something."""
        over = self.path()
        self.bound.append("v")
        body = self.term(depth + 1) if name == "map" else self.test(depth + 1)
        self.bound.pop()
        return f"{over}.{name}(v, {body})"

    def test(self, depth: int = 0) -> str:
        """Return an expression that is nearly always true or false."""
        random, roll = self.random, self.random.random()
        if depth < 3 and roll < 0.3:
            return f"({self.test(depth + 1)} {random.choice(('&&', '||'))} {self.test(depth + 1)})"
        if roll < 0.35:
            return f"!{self.test(depth + 1)}" if depth < 4 else "true"
        if roll < 0.45:
            return f"has({random.choice(('spec', 'spec.a', 'metadata.labels', *self.bound))}.{random.choice(KEYS[:4])})"
        if roll < 0.6 and depth < 3:
            return self.macro(random.choice(("all", "exists", "exists_one")), depth)
        left, right = self.term(depth + 1), self.term(depth + 1)
        if roll < 0.7:
            how = random.choice(("startsWith", "endsWith", "contains", "matches"))
            return f"{left}.{how}({random.choice((right, repr('a')))})"
        return f"{left} {random.choice(('==', '!=', '<', '<=', '>', '>=', 'in', '==', '=='))} {right}"


def made(text: str) -> Where:
    """Return a predicate whose code is made."""
    where = compile_where(text)
    for _ in range(WARM_UP):
        assert where.code.decide({}) is None
    return where


def answers(random: Random) -> tuple[int, int]:
    """Ask a drawn predicate of drawn objects; return how often its code decided, and how often it was asked."""
    drawer = Drawer(random)
    text = drawer.test()
    try:
        where = made(text)
    except SelectorError:  # it does not compile
        return 0, 0
    decided = 0
    for _ in range(8):
        obj = drawer.object()
        answer = where.code.decide(obj)
        if answer is not None:
            decided += 1
            value = where.value(obj)
            assert (answer, type(value)) == (value, bool), (text, obj)
    return decided, 8


@FEW
@given(st.randoms(use_true_random=False))
def test_code_and_interpreter_agree(random: Random) -> None:
    answers(random)


@pytest.mark.slow
@MANY
@given(st.randoms(use_true_random=False))
def test_code_and_interpreter_agree_on_many(random: Random) -> None:
    answers(random)


def test_the_code_decides_many() -> None:
    counts = [answers(Random(seed)) for seed in range(400)]
    assert sum(asked for _, asked in counts) > 800
    assert sum(decided for decided, _ in counts) > 300


USUAL = (
    *('spec.a == "a"', "spec.k > 1", "size(spec.a) < 2", 'has(spec.a) && spec.a.startsWith("k")', "spec.k in [1, 2]"),
    *('duration(spec.a) < duration("24h")', 'spec.b.exists(v, v.name == "x")', 'metadata.name.matches("^k.*7$")'),
    *('metadata.creationTimestamp < timestamp("2024-05-01T10:00:00Z")', 'string(spec.k) == "3"', "spec.a != null"),
    '"a" in metadata.labels && metadata.labels["a"] in ["b", "c"]',
)


@pytest.mark.parametrize("text", USUAL)
def test_usual_predicates_have_code(text: str) -> None:
    where = made(text)
    obj = {
        "metadata": {"name": "k-7", "labels": {"a": "b"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"a": "23h", "k": 2, "b": [{"name": "x"}]},
    }
    answer = where.code.decide(obj)
    assert answer is where.value(obj)
    assert answer is not None


@pytest.mark.filterwarnings("error")
def test_a_constant_beside_null_has_no_code() -> None:
    assert made('duration("24h") == null').code.decide({}) is None


def test_errors_are_left_to_the_interpreter_and_counted() -> None:
    where, failures = made("spec.a > 1"), Failures()
    for value in ("text", 2, None, True, 1.5):
        where.test({"metadata": {"name": "x"}, "spec": {"a": value}}, failures)
    assert (failures.tried, failures.failed) == (5, 3)
    assert isinstance(where.value({"spec": {}}), CelError)
    assert where.code.decide({"spec": {}}) is None


def test_an_object_that_may_cost_too_much_is_left_to_the_interpreter() -> None:
    where = made("spec.a.exists(v, spec.a.exists(w, v.b == w))")
    assert where.code.decide({"spec": {"a": [{"b": 1}]}}) is False
    assert where.code.decide({"spec": {"a": [{"b": 1}] * 4000}}) is None
