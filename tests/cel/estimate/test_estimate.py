"""Estimated costs, as the server's libraries (v0.37.2) gave them for the rules in recorded.json.

There are two schemas with the same fields, one with limits on everything, one with none. Recorded with `cel.Compile` of
apiextensions-apiserver pkg/apiserver/schema/cel: MaxCost of each rule on the root.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.cel.estimate import MAX_COST, Range, estimate_cost
from auditor.schema.parse import parse_schema
from auditor.schema.structural import Rule
from auditor.validation.rules import compile_node, declare
from auditor.validation.rules.rule_types import MAX_REQUEST_SIZE

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


def estimate(schema: dict[str, Any], *rules: str) -> list[Range]:
    node = parse_schema(schema)
    declared = declare(node, is_resource=True)
    assert declared is not None
    made = []
    for compiled in compile_node(node, tuple(map(Rule, rules)), declared):
        assert compiled.program is not None, compiled.error
        made.append(estimate_cost(compiled.program.checked, declared))
    return made


@pytest.mark.parametrize("case", RECORDED, ids=["limits", "no limits"])
def test_costs_are_those_of_the_server(case: dict[str, Any]) -> None:
    rules = [rule for rule, _ in case["costs"]]
    ours = estimate(case["schema"], *rules)
    assert len(ours) > 250
    wrong = {rule: (made.max, cost) for (rule, cost), made in zip(case["costs"], ours, strict=True) if made.max != cost}
    assert wrong == {}
    assert all(made.min <= made.max <= MAX_COST for made in ours)


def test_the_name_of_a_type_is_one_step_however_many_dots_it_has() -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string", "maxLength": 5}}}
    rules = ("type(self.s) == string", "type(self.s) == google.protobuf.Duration")
    assert [made.max for made in estimate(schema, *rules)] == [4, 4]


@pytest.mark.parametrize("case", RECORDED, ids=["limits", "no limits"])
def test_the_smallest_object_tells_how_often_a_rule_may_run(case: dict[str, Any]) -> None:
    declared = declare(parse_schema(case["schema"]), is_resource=True)
    assert declared is not None
    assert MAX_REQUEST_SIZE // (declared.min_size + 1) == case["cardinality"]


def test_a_limit_in_the_schema_bounds_the_cost() -> None:
    def cost(limit: int) -> int:
        items = {"type": "string", "maxLength": 10}
        schema = {"type": "object", "properties": {"l": {"type": "array", "maxItems": limit, "items": items}}}
        return estimate(schema, "self.l.all(x, x.matches('^a$'))")[0].max

    assert cost(10) < cost(20) < cost(1000)
    assert cost(20) - cost(10) == cost(30) - cost(20)


def test_has_is_free_and_the_path_to_it_is_not() -> None:
    schema = {"type": "object", "properties": {"o": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    assert [one.max for one in estimate(schema, "has(self.o)", "has(self.o.a)")] == [1, 2]


@given(st.integers(0, MAX_COST), st.integers(0, MAX_COST), st.integers(0, MAX_COST), st.integers(0, MAX_COST))
def test_arithmetic_stops_at_the_top(a: int, b: int, c: int, d: int) -> None:
    left, right = Range(min(a, b), max(a, b)), Range(min(c, d), max(c, d))
    for made in (left + right, left * right, left | right, left.scaled(0.1), left.scaled(32)):
        assert 0 <= made.min <= made.max <= MAX_COST
    assert (left | right).max == max(left.max, right.max)
    assert left + right == right + left
