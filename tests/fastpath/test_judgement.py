"""A judgement says all of one value: a program holds nothing about the object that it judged last."""

from __future__ import annotations

import json
from typing import Any

import pytest

from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from tests.documents import definition_of

SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
FINE = {"name": "a", "namespace": "b", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}


def value(spec: Any, **metadata: Any) -> bytes:
    """Return a stored object."""
    made = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": FINE | metadata, "spec": spec}
    return json.dumps(made).encode()


CASES = {
    "valid": (value({"size": 3}), True, ""),
    "invalid": (value({"size": "3"}), False, ""),
    "dropped label": (value({"size": 3}, labels={"a": 5}), True, "loses-data"),
    "no object": (b"[]", False, ""),
}


@pytest.fixture(scope="module")
def program() -> AuditProgram:
    """Return a program that has generated code."""
    definition = parse_definition(definition_of(SCHEMA))
    return AuditProgram(definition, definition.versions["v1"])


@pytest.mark.parametrize("name", CASES)
def test_a_judgement(program: AuditProgram, name: str) -> None:
    data, proven, effect = CASES[name]
    judgement = program.judge(data)
    assert (judgement.proven, judgement.effect) == (proven, effect)
    assert judgement.unevaluated == judgement.audited.unevaluated_rules


def test_the_reference_has_the_same_result(program: AuditProgram) -> None:
    exact = AuditProgram(program.definition, program.version, compiled=False)
    for data, _, effect in CASES.values():
        judgement = exact.judge(data)
        assert (judgement.proven, judgement.effect) == (False, effect)
        assert judgement.effect == effect
        assert judgement.audited == program.audit(data)


def test_nothing_of_one_object_is_left_in_the_program(program: AuditProgram) -> None:
    first = program.judge(CASES["dropped label"][0])
    before = (first.effect, first.proven, first.audited.pruned)
    program.judge(CASES["valid"][0])
    assert (first.effect, first.proven, first.audited.pruned) == before
    assert not {"effect", "is_proven"} & vars(program).keys()
