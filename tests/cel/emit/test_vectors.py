"""Recorded expressions over a typed object: the interpreter agrees with each proof, at no higher cost than the bound."""

from __future__ import annotations

import json
from typing import Any

from tests.cases import of_each
from tests.cel.emit.proving import Judge, assert_sound
from tests.shared import beside, second_check

pytestmark = second_check("vectors/cel-expressions.json", by="tests/cel/emit/test_walk.py")

FILE = beside("vectors/cel-expressions.json")
VECTORS: dict[str, Any] = json.loads(FILE.read_bytes()) if FILE else {"cases": [], "self": {}}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
SCHEMA = {
    "type": "object",
    "properties": {
        **dict.fromkeys(["name", "image", "host", "url", "ip", "cidr", "cpu", "mem", "ver", "ts", "dur", "b64"], TEXT),
        **dict.fromkeys(["portName", "uni", "__namespace__"], TEXT),
        **dict.fromkeys(["replicas", "minReplicas", "maxReplicas", "port", "neg", "big"], NUMBER),
        "ratio": {"type": "number"},
        "enabled": {"type": "boolean"},
        "nil": {"type": "string", "nullable": True},
        "tags": {"type": "array", "items": TEXT},
        "nums": {"type": "array", "items": NUMBER},
        "floats": {"type": "array", "items": {"type": "number"}},
        "empty": {"type": "array", "items": TEXT},
        "emptyMap": {"type": "object", "additionalProperties": TEXT},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "ports": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "port"],
                "properties": {"name": TEXT, "port": NUMBER, "protocol": TEXT, "missing": NUMBER},
            },
        },
        "spec": {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {"b": {"type": "object", "properties": {"c": NUMBER}}, "missing": TEXT},
                },
                "opt": {"type": "string", "nullable": True},
            },
        },
        "missing": TEXT,
    },
}
JUDGE = Judge(SCHEMA)


def rules_of(case: dict[str, Any]) -> list[str]:
    """Return rules that say what the expression gives, and the contrary."""
    expression, value = case["expr"], case.get("value")
    if case.get("type") == "bool" or "error" in case:
        return [expression, f"!({expression})"]
    if isinstance(value, dict) and "$duration" in value:
        literal = f"duration('{value['$duration']}ns')"
    elif isinstance(value, dict) and "$double" in value:
        literal = f"double('{value['$double']}')"
    elif isinstance(value, int | str) or (
        isinstance(value, list) and all(isinstance(each, int | str) for each in value)
    ):
        literal = json.dumps(value)
    else:
        return []
    return [f"({expression}) == {literal}", f"({expression}) != {literal}"]


CASES = [(case, rule) for case in VECTORS["cases"] if "compile" not in case for rule in rules_of(case)]


@of_each("rule", [rule for _, rule in CASES])
def test_what_is_proven_holds_at_no_higher_cost(rule: str) -> None:
    assert_sound(JUDGE.ask(rule, VECTORS["self"]))


def test_most_that_holds_is_proven() -> None:
    holding = proven = 0
    reasons: list[str] = []
    for _, rule in CASES:
        found = JUDGE.ask(rule, VECTORS["self"])
        if found.value is True:
            holding += 1
            proven += found.is_proven
            if not found.is_proven:
                reasons.append(f"{found.reason}: {rule}")
    assert holding >= 170, holding
    assert proven >= 0.85 * holding, "\n".join([f"{proven} of {holding}", *reasons])
