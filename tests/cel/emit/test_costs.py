"""Cost limits: no proof if one is or may be exceeded, and then the server's findings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cel.emit.proving import Judge, assert_sound
from tests.cel.emit.test_walk import audit, rule

NUMBER = {"type": "integer"}
PAIRS = "self.all(x, self.all(y, x + y > -1))"
NUMBERS = Judge({"type": "array", "items": NUMBER})


@pytest.mark.parametrize("count", [0, 1, 10, 100, 300])
def test_a_quadratic_rule_is_proven_while_it_is_cheap(count: int) -> None:
    found = NUMBERS.ask(PAIRS, list(range(count)))
    assert_sound(found)
    assert found.is_proven
    assert found.cost == 7 * count**2 + 5 * count + 2


@pytest.mark.parametrize("count", [377, 378])
def test_near_the_limit_of_a_call_the_verdict_is_the_interpreters(count: int) -> None:
    spec = {"type": "array", "items": NUMBER, **rule(PAIRS)}
    found, proven = audit(spec, list(range(count)))
    assert not proven
    assert [text for text in found if "actual cost limit exceeded" not in text] == []
    assert len(found) == (count == 378)


def test_the_limit_of_an_object_is_met_by_many_cheap_calls() -> None:
    spec = {"type": "array", "items": {"type": "array", "items": NUMBER, **rule(PAIRS)}}
    found, proven = audit(spec, [list(range(300))] * 17)
    assert not proven
    why = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert found == [f'spec[15]: Invalid value: "array": {why}']


def test_a_long_text_counts_for_its_length() -> None:
    texts = Judge({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
    found = texts.ask("!self.a.contains(self.b)", {"a": "x" * 3000, "b": "y" * 3000})
    assert_sound(found)
    assert found.is_proven
    found = texts.ask("!self.a.contains(self.b)", {"a": "x" * 20_000, "b": "y" * 20_000})
    assert not found.is_proven


def test_a_schema_that_bounds_its_lists_bounds_their_cost() -> None:
    item = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 63}}}
    judge = Judge({"type": "array", "maxItems": 16, "items": item})
    found = judge.ask("self.all(x, self.exists_one(y, x.name == y.name))", [{"name": "a"}, {"name": "b"}])
    assert_sound(found)
    assert found.bound is not None
    assert found.bound < 10_000


def many(text: str, value: Any) -> None:
    judge = Judge({"type": "object", "properties": {"s": {"type": "string"}, "l": {"type": "array", "items": NUMBER}}})
    assert_sound(judge.ask(text, value), text)


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 100, 999])
@pytest.mark.parametrize(
    "text",
    [
        "self.s == self.s",
        "self.s + self.s != self.s + 'x'",
        "(self.s + self.s).contains(self.s)",
        "self.s.matches('^x*$')",
        "self.s.replace('x', 'yy').size() >= 0",
        "self.s.split('').size() >= 0",
        "self.s.split('').join('').size() >= 0",
        "self.s.split('').map(x, x + x).join(self.s).size() >= 0",
        "self.s.split('').all(x, x == 'x')",
        "self.s.upperAscii().lowerAscii() == self.s",
        "self.s.find('x*') == self.s",
        "self.s.findAll('x').size() >= 0",
        "self.l.sum() >= 0",
        "self.l.map(x, x + 1).filter(x, x > 0).size() >= 0",
        "self.l.exists(x, x == 3) || true",
        "self.l.all(x, x in self.l)",
        "self.l.indexOf(3) >= -1",
        "self.l.reverse().distinct().sort().size() >= 0",
        "sets.equivalent(self.l, self.l)",
        "self.l.transformList(i, v, i + v).size() >= 0",
        "self.l.exists_one(x, x == 1) || true",
        "self.l.all(i, v, i >= 0 && v >= 0)",
        "self.l == self.l && self.l + self.l != [1]",
        "self.?l.orValue([]).size() >= 0",
        "strings.quote(self.s).size() > 0",
        "bytes(self.s) == bytes(self.s)",
        "string(self.l.size()) + self.s != ''",
    ],
)
def test_no_bound_is_below_the_cost(text: str, size: int) -> None:
    many(text, {"s": "x" * size, "l": list(range(min(size, 150)))})
    many(text, {"s": "é😀" * (size // 2), "l": [0] * min(size, 150)})
