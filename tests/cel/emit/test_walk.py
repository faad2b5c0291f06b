"""Rules on whole objects: the generated walk and the interpreter have the same findings, at the same paths."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cel.emit.definitions import audits_of, definition_of, draw_definition, draw_text, reported
from tests.typed import typed_difference

TEXT = {"type": "string"}


def compare(random: Random, objects: int, *, wild: float, most: float = 1.0, seen: Counter[str] | None = None) -> None:
    fast, exact = audits_of(draw_definition(random, most))
    for _ in range(objects):
        data = draw_text(random, wild=wild).encode()
        one, other = fast.audit(data), exact.audit(data)
        assert reported(one) == reported(other), data
        assert one.unevaluated_rules == other.unevaluated_rules, data
        difference = typed_difference(fast, other, data)
        assert not difference, data
        if seen is not None:
            seen["with findings"] += bool(other.findings)
            seen["typed"] += difference == ""
    if seen is not None:
        seen["proven"] += fast.proven


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**64), st.sampled_from([0.0, 0.0, 0.02]), st.sampled_from([1.0, 0.15]))
def test_both_find_the_same(seed: int, wild: float, most: float) -> None:
    compare(Random(seed), 6, wild=wild, most=most)


def test_drawn_definitions_are_worth_drawing() -> None:
    seen: Counter[str] = Counter()
    for seed in range(15):
        compare(Random(seed), 6, wild=0.01, seen=seen)
    assert seen["with findings"] >= 40, seen


def test_of_few_rules_some_hold() -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        compare(Random(seed), 6, wild=0.0, most=0.08, seen=seen)
    assert seen["with findings"] >= 40, seen
    assert seen["proven"] >= 20, seen
    assert seen["typed"] >= 20, seen


def audit(spec: dict[str, Any], value: Any) -> tuple[list[str], int]:
    """Return the messages about a value, the same both ways, and whether it was proven."""
    fast, exact = audits_of(definition_of(spec))
    data = orjson.dumps({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x", "namespace": "y", "uid": "u", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}, "spec": value})  # fmt: skip
    one, other = fast.audit(data), exact.audit(data)
    assert reported(one) == reported(other)
    assert not (fast.proven and one.findings)
    assert not typed_difference(fast, other, data)
    return [finding.message for finding in one.findings], fast.proven


def rule(text: str) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": text}]}


def test_what_holds_is_proven() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer", **rule("self > 1")}}, **rule("has(self.a)")}
    assert audit(spec, {"a": 2}) == ([], 1)


def test_what_is_broken_is_not_proven() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer", **rule("self > 1")}}}
    assert audit(spec, {"a": 1}) == (["spec.a: Invalid value: 1: failed rule: self > 1"], 0)


def test_only_the_failing_items_are_named() -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}}, **rule("self.n > 0")}
    spec = {"type": "object", "properties": {"l": {"type": "array", "items": item}}}
    found, _ = audit(spec, {"l": [{"n": 1}, {"n": 0}, {"n": 0}, {}]})
    assert [text.partition(":")[0] for text in found] == ["spec.l[1]", "spec.l[2]", "spec.l[3]"]


def test_equal_scalars_have_places_of_their_own() -> None:
    spec = {"type": "array", "items": {"type": "integer", **rule("self > 0")}}
    found, _ = audit(spec, [0, 5, 0, 0])
    assert [text.partition(":")[0] for text in found] == ["spec[0]", "spec[2]", "spec[3]"]


def test_map_values_are_named_by_their_keys() -> None:
    spec = {"type": "object", "additionalProperties": {"type": "string", **rule("self != ''")}}
    assert audit(spec, {"k.x": "", "b": "c"})[0] == ["spec[k.x]: Invalid value: \"\": failed rule: self != ''"]


def test_a_rule_that_fails_with_an_error_is_reported_as_an_error() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}, **rule("self.a > 0 || false")}
    (text,), proven = audit(spec, {})
    assert "no such key: a" in text
    assert not proven


def test_logic_absorbs_what_the_code_cannot() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}, **rule("self.a > 0 || true")}
    assert audit(spec, {}) == ([], 0)  # the interpreter had to say so


def test_a_float_without_fraction_is_no_integer_to_a_rule() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer", **rule("self > 0")}}}
    fast, exact = audits_of(definition_of(spec))
    data = b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"y","uid":"u","creationTimestamp":"2024-01-01T00:00:00Z"},"spec":{"a":1.0}}'
    one = fast.audit(data)
    assert reported(one) == reported(exact.audit(data))
    assert "expected int, got float64" in one.findings[0].message


def test_null_is_absent() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "string", "nullable": True, **rule("self != ''")}},
            **rule("!has(self.a)")}  # fmt: skip
    assert audit(spec, {"a": None}) == ([], 1)
    assert len(audit(spec, {"a": "b"})[0]) == 1


def test_transition_rules_are_left_out_and_optional_ones_run() -> None:
    rules = [{"rule": "self == oldSelf"}, {"rule": "!oldSelf.hasValue()", "optionalOldSelf": True}]
    spec = {"type": "object", "properties": {"a": {"type": "integer", "x-kubernetes-validations": rules}}}
    assert audit(spec, {"a": 1})[0] == []


def test_a_rule_that_does_not_compile_is_reported_on_every_object() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer", **rule("self.x")}}}
    (text,), proven = audit(spec, {"a": 1})
    assert "compilation failed" in text
    assert not proven
    assert audit(spec, {}) == ([], 1)


def test_a_rule_below_allof_is_run_beside_the_others() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer", **rule("self > 1"), "allOf": [rule("self > 2")]}}}
    assert len(audit(spec, {"a": 0})[0]) == 2
    assert audit(spec, {"a": 3}) == ([], 1)


@pytest.mark.parametrize("depth", [3, 9, 20])
def test_lists_of_lists_are_walked_to_the_bottom(depth: int) -> None:
    spec: dict[str, Any] = {"type": "integer", **rule("self > 0")}
    good: Any = 1
    bad: Any = 0
    for _ in range(depth):
        spec, good, bad = {"type": "array", "items": spec}, [good], [bad, good]
    assert audit(spec, good) == ([], 1)
    assert audit(spec, bad)[0][0].startswith("spec" + "[0]" * depth)


def test_positions_that_say_the_same_are_judged_each_at_its_place() -> None:
    port = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", **rule("self > 0")},
            "s": {"type": "string", **rule("self != 'a'")}, "t": {"type": "string", **rule("self != 'b'")}}, **rule("!has(self.s) || self.n < 9")}  # fmt: skip
    box = {"type": "object", "properties": {"one": port, "more": {"type": "array", "items": port}}}
    spec = {"type": "object", "properties": {"a": box, "b": box, "c": {"type": "array", "items": box}}}
    good = {"one": {"n": 1, "s": "b"}, "more": [{"n": 2}, {"n": 3, "t": "a"}]}
    assert audit(spec, {"a": good, "b": good, "c": [good, good]}) == ([], 1)
    for name, value in (("one", {"n": 9, "s": "b"}), ("one", {"n": 0}), ("more", [{"n": 1}, {"n": 1, "t": "b"}])):
        bad = {**good, name: value}
        for place, obj in (("a", {"a": bad}), ("b", {"a": good, "b": bad}), ("c[1]", {"b": good, "c": [good, bad]})):
            (found,), proven = audit(spec, obj)
            assert found.startswith(f"spec.{place}.{name}")
            assert not proven


def test_optional_old_self_is_empty_on_a_create() -> None:
    rules = [{"rule": "oldSelf.hasValue() || self > 0", "optionalOldSelf": True},
             {"rule": "oldSelf.orValue(5) == 5", "optionalOldSelf": True}]  # fmt: skip
    spec = {"type": "object", "properties": {"a": {"type": "integer", "x-kubernetes-validations": rules}}}
    assert audit(spec, {"a": 1}) == ([], 1)
    assert len(audit(spec, {"a": 0})[0]) == 1


def test_the_source_shows_the_rules() -> None:
    fast, _ = audits_of(definition_of({"type": "object", **rule("has(self.a) || true"), "properties": {"a": TEXT}}))
    assert "'a' in v" in fast.source


@pytest.mark.parametrize("depth", [10, 50, 59, 60, 65, 100])
def test_a_rule_too_deep_for_python_is_the_interpreters(depth: int) -> None:
    text = "self.a" + " + 1" * depth + " > 0"
    spec = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}, **rule(text)}
    found, proven = audit(spec, {"a": 1})
    assert found == []
    assert proven == (depth < 58)


@pytest.mark.parametrize("depth", [1, 10, 25, 40])
def test_comprehensions_inside_each_other(depth: int) -> None:
    text = "self.l.all(x, " * depth + "true" + ")" * depth
    spec = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}, **rule(text)}
    for items in ([1], []):
        found, proven = audit(spec, {"l": items})
        assert found == []
        assert proven == (depth <= 10)  # twice as many crash the compiler of CPython 3.12 and 3.13


@pytest.mark.parametrize("depth", [1, 10, 11, 30])
def test_names_given_inside_each_other(depth: int) -> None:
    text = "true"
    for at in range(depth):
        text = f"optional.of({at}).optMap(b, b == {at} && {text}).orValue(false)"
    spec = {"type": "object", "properties": {"l": {"type": "integer"}}, **rule(text)}
    found, proven = audit(spec, {"l": 1})
    assert found == []
    assert proven == (depth <= 10)


def test_lists_made_of_lists_are_not_inside_each_other() -> None:
    text = "self.l" + ".filter(x, x > 0)" * 30 + ".size() == 1"
    spec = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}, "maxItems": 5}}}
    assert audit(spec | rule(text), {"l": [1]}) == ([], 1)
