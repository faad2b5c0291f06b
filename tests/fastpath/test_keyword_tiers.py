"""Which generated code proves objects of a schema with a keyword: a table of every keyword of a structural schema.

A row has a node with the keyword, values that are valid, values that are not (a keyword that only describes has none),
and the tier that proves the valid ones:

- RECORD: the code that proves objects from their bytes, and the code below;
- OBJECT: only the code that proves decoded objects;
- EXACT: neither; only the exact path judges such objects.

No tier proves a value that is invalid, and all give the same verdicts.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

from auditor.crdcheck import check_crd
from auditor.crds.definition import parse_definition
from auditor.fastpath.dicts.fallbacks import Part, Reason
from auditor.program.program import AuditProgram
from auditor.schema.parse import schema_type
from tests.documents import definition_of

if TYPE_CHECKING:
    from auditor.fastpath.records.typed import TypedProgram


class Tier(Enum):
    """The fastest code that proves valid objects."""

    RECORD = "record"
    OBJECT = "object"
    EXACT = "exact"


RECORD, OBJECT, EXACT = Tier
TEXT, WHOLE, OBJ, LIST = ({"type": name} for name in ("string", "integer", "object", "array"))
TEXTS = {"type": "array", "items": TEXT}
PAIRS = {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT}}}
AB = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}

TABLE: list[tuple[str, dict[str, Any], list[Any], list[Any], Tier]] = [
    ("type", TEXT, ["a"], [1, {}, []], RECORD),
    ("type", WHOLE, [1], ["1", 1.5], RECORD),
    ("type", {"type": "number"}, [1, 1.5], ["1"], RECORD),
    ("type", {"type": "boolean"}, [True], ["true", 1], RECORD),
    ("title", {**TEXT, "title": "T"}, ["a"], [], RECORD),
    ("description", {**TEXT, "description": "D"}, ["a"], [], RECORD),
    ("example", {**TEXT, "example": "x"}, ["a"], [], RECORD),
    ("externalDocs", {**TEXT, "externalDocs": {"url": "http://a"}}, ["a"], [], RECORD),
    ("format", {**TEXT, "format": "date-time"}, ["2024-05-01T10:00:00Z"], ["soon"], RECORD),
    ("format", {**WHOLE, "format": "int32"}, [1], [2**40], RECORD),
    ("nullable", {**TEXT, "nullable": True}, [None, "a"], [1], RECORD),
    ("default", {**TEXT, "default": "d"}, ["a", ...], [1], RECORD),
    ("default", {"type": "object", "default": {}, "properties": {"a": {**TEXT, "default": "d"}}}, [{}, ...], [1], RECORD),
    ("enum", {**TEXT, "enum": ["a", "b"]}, ["a"], ["c"], RECORD),
    ("enum", {**WHOLE, "enum": [1, 2]}, [1], [3], RECORD),
    ("maximum", {**WHOLE, "maximum": 5}, [5], [6], RECORD),
    ("minimum", {**WHOLE, "minimum": 5}, [5], [4], RECORD),
    ("exclusiveMaximum", {**WHOLE, "maximum": 5, "exclusiveMaximum": True}, [4], [5], RECORD),
    ("exclusiveMinimum", {**WHOLE, "minimum": 5, "exclusiveMinimum": True}, [6], [5], RECORD),
    ("multipleOf", {**WHOLE, "multipleOf": 3}, [6], [7], RECORD),
    ("maxLength", {**TEXT, "maxLength": 2}, ["ab"], ["abc"], RECORD),
    ("minLength", {**TEXT, "minLength": 2}, ["ab"], ["a"], RECORD),
    ("pattern", {**TEXT, "pattern": "^a+$"}, ["aa"], ["b"], RECORD),
    ("maxItems", {**TEXTS, "maxItems": 1}, [["a"]], [["a", "b"]], RECORD),
    ("minItems", {**TEXTS, "minItems": 1}, [["a"]], [[]], RECORD),
    ("items", TEXTS, [["a"]], [[1]], RECORD),
    ("maxProperties", {**AB, "maxProperties": 1}, [{"a": "x"}], [{"a": "x", "b": "x"}], RECORD),
    ("minProperties", {**AB, "minProperties": 1}, [{"a": "x"}], [{}], RECORD),
    ("required", {**AB, "required": ["a"]}, [{"a": "x"}], [{}], RECORD),
    ("properties", AB, [{"a": "x"}], [{"a": 1}], RECORD),
    ("properties", AB, [{"z": 1}], [], OBJECT),  # the read drops z
    ("default", {"type": "array", "items": {**TEXT, "default": "d"}, "default": []}, [["a"]], [], RECORD),
    ("nullable", {"type": "array", "nullable": True, "items": {**TEXT, "default": "d"}}, [[None]], [], EXACT),
    ("x-kubernetes-preserve-unknown-fields", {**AB, "x-kubernetes-preserve-unknown-fields": True}, [{"z": 2**63}], [], EXACT),
    ("additionalProperties", {"type": "object", "additionalProperties": TEXT}, [{"a": "x"}], [{"a": 1}], RECORD),
    ("allOf", {**TEXT, "allOf": [{"maxLength": 2}]}, ["ab"], ["abc"], RECORD),
    ("anyOf", {**TEXT, "anyOf": [{"maxLength": 1}, {"minLength": 3}]}, ["a"], ["ab"], RECORD),
    ("oneOf", {**TEXT, "oneOf": [{"maxLength": 2}, {"minLength": 2}]}, ["a"], ["ab"], RECORD),
    ("not", {**TEXT, "not": {"enum": ["a"]}}, ["b"], ["a"], RECORD),
    ("x-kubernetes-preserve-unknown-fields", {**AB, "x-kubernetes-preserve-unknown-fields": True}, [{"z": {"y": 1}}], [{"a": 1}], RECORD),
    ("x-kubernetes-embedded-resource", {**OBJ, "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}, [POD], [{"kind": "Pod"}], RECORD),
    ("x-kubernetes-int-or-string", {"x-kubernetes-int-or-string": True}, [1, "a"], [True, []], RECORD),
    ("x-kubernetes-list-type", {**TEXTS, "x-kubernetes-list-type": "set"}, [["a", "b"]], [["a", "a"]], RECORD),
    ("x-kubernetes-list-type", {**TEXTS, "x-kubernetes-list-type": "atomic"}, [["a", "a"]], [[1]], RECORD),
    ("x-kubernetes-list-map-keys", {**PAIRS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}, [[{"k": "a"}, {"k": "b"}]], [[{"k": "a"}, {"k": "a"}]], RECORD),
    ("x-kubernetes-map-type", {**AB, "x-kubernetes-map-type": "atomic"}, [{"a": "x"}], [{"a": 1}], RECORD),
    ("x-kubernetes-validations", {**TEXT, "x-kubernetes-validations": [{"rule": "self != 'no'"}]}, ["yes"], ["no"], RECORD),
    ("uniqueItems", {**TEXTS, "uniqueItems": False}, [["a", "a"]], [[1]], RECORD),
]  # fmt: skip
"""Keyword, node, values that are valid, values that are not, tier. `...` in place of a value: the field is absent."""
LEGACY: list[tuple[str, dict[str, Any], list[Any], list[Any]]] = [
    ("id", {**TEXT, "id": "a"}, ["a"], [1]),
    ("$schema", {**TEXT, "$schema": "a"}, ["a"], [1]),
    ("$ref", {**TEXT, "$ref": "#/a"}, ["a"], [1]),
    ("definitions", {**TEXT, "definitions": {"a": {}}}, ["a"], [1]),
    ("dependencies", {**AB, "dependencies": {"a": ["b"]}}, [{"b": "x"}], [{"a": "x"}]),
    ("patternProperties", {**OBJ, "patternProperties": {"^a": TEXT}}, [{"a": "x"}], [{"a": 1}]),
    ("additionalItems", {**LIST, "items": [TEXT], "additionalItems": WHOLE}, [["a", 1]], [["a", "b"]]),
]
"""Keywords that no structural schema has; definitions of v1beta1 had them. All are for the exact path."""
ROOTS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], Tier]] = [
    ("x-kubernetes-preserve-unknown-fields", {"x-kubernetes-preserve-unknown-fields": True}, {"z": 1}, {"size": "1"}, OBJECT),
    ("x-kubernetes-validations", {"x-kubernetes-validations": [{"rule": "self.size > 1"}]}, {"size": 2}, {"size": 1}, OBJECT),
    ("maxProperties", {"maxProperties": 4}, {"size": 1}, {"size": 1, "other": 1}, OBJECT),
    ("required", {"required": ["size"]}, {"size": 1}, {}, RECORD),
    ("allOf", {"allOf": [{"required": ["size"]}]}, {"size": 1}, {}, OBJECT),
]  # fmt: skip
"""Keywords of the whole object, with a valid and an invalid object."""
HEAD = {"apiVersion": "x.example.com/v1", "kind": "X"}
FINE = {"name": "a", "namespace": "b", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}


def stored(value: Any) -> bytes:
    """Return an object with a value in the field."""
    spec = {} if value is ... else {"f": value}
    return json.dumps({**HEAD, "metadata": FINE, "spec": spec}).encode()


def program_of(node: dict[str, Any], *, legacy: bool = False) -> AuditProgram:
    """Return the program of a definition with a field of a schema."""
    return _program(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"f": node}}}}, legacy=legacy
    )


def _program(schema: dict[str, Any], *, legacy: bool = False) -> AuditProgram:
    document = definition_of(schema)
    if legacy:
        document["spec"]["preserveUnknownFields"] = True
    else:
        assert check_crd(document).findings == ()
    definition = parse_definition(document)
    return AuditProgram(definition, definition.versions["v1"])


def tier_of(program: AuditProgram, typed: TypedProgram | None, data: bytes) -> Tier:
    """Return the fastest code that proves an object."""
    by_record = typed is not None and typed.prove(data) is not None
    by_object = program.judge(data).proven
    return RECORD if by_record else OBJECT if by_object else EXACT


def check_verdicts(program: AuditProgram, exact: AuditProgram, valid: list[Any], invalid: list[Any]) -> None:
    """Assert that both paths say the same, which is what the table says."""
    for values, is_valid in ((valid, True), (invalid, False)):
        for value in values:
            judged = exact.audit(stored(value))
            assert program.audit(stored(value)) == judged
            assert (judged.object is not None and not judged.findings) is is_valid, value


@pytest.mark.parametrize(
    ("keyword", "node", "valid", "invalid", "tier"), TABLE, ids=[f"{row[0]}-{n}" for n, row in enumerate(TABLE)]
)
def test_a_keyword_is_proven_by_the_tier_of_the_table(
    keyword: str, node: dict[str, Any], valid: list[Any], invalid: list[Any], tier: Tier
) -> None:
    assert keyword in node
    program = program_of(node)
    exact = AuditProgram(program.definition, program.version, compiled=False)
    typed = program.typed(0)
    assert {tier_of(program, typed, stored(value)) for value in valid} == {tier}
    assert {tier_of(program, typed, stored(value)) for value in invalid} <= {EXACT}
    check_verdicts(program, exact, valid, invalid)


@pytest.mark.parametrize(("keyword", "node", "valid", "invalid", "tier"), ROOTS, ids=[row[0] for row in ROOTS])
def test_a_keyword_of_the_whole_object_is_proven_by_the_tier_of_the_table(
    keyword: str, node: dict[str, Any], valid: dict[str, Any], invalid: dict[str, Any], tier: Tier
) -> None:
    assert keyword in node
    program = _program({"type": "object", "properties": {"size": WHOLE, "other": WHOLE}, **node})
    exact = AuditProgram(program.definition, program.version, compiled=False)
    typed = program.typed(0)
    for fields, is_valid in ((valid, True), (invalid, False)):
        data = json.dumps({**HEAD, "metadata": FINE, **fields}).encode()
        assert tier_of(program, typed, data) is (tier if is_valid else EXACT)
        judged = exact.audit(data)
        assert program.audit(data) == judged
        assert (not judged.findings) is is_valid


@pytest.mark.parametrize(("keyword", "node", "valid", "invalid"), LEGACY, ids=[row[0] for row in LEGACY])
def test_a_keyword_that_no_structural_schema_has_is_for_the_exact_path(
    keyword: str, node: dict[str, Any], valid: list[Any], invalid: list[Any]
) -> None:
    assert keyword in node
    program = program_of(node, legacy=True)
    exact = AuditProgram(program.definition, program.version, compiled=False)
    typed = program.typed(0)
    assert {tier_of(program, typed, stored(value)) for value in (*valid, *invalid)} == {EXACT}
    reasons = {why[:2] for why, _ in program.fallbacks.counts if why[0] == Part.OBJECT}
    assert reasons == {(Part.OBJECT, Reason.DEFINITION)}
    check_verdicts(program, exact, valid, invalid)


def test_the_table_has_every_keyword() -> None:
    assert {row[0] for row in TABLE} | {row[0] for row in LEGACY} == schema_type().fields.keys()
