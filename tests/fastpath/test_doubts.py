"""Values in doubt: only they are judged again, and the findings are those of the reference."""

import json

import pytest

from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from tests.documents import definition_of

ITEM = {
    "type": "object",
    "required": ["name", "port"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "port": {"type": "integer", "maximum": 9},
        "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 3},
    },
}
SPEC = {
    "type": "object",
    "required": ["size", "absent"],
    "properties": {
        "size": {"type": "integer", "minimum": 1},
        "absent": {"type": "string"},
        "wide": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20)}, "required": ["p0"]},
        "plain": {"type": "array", "items": ITEM},
        "keyed": {"type": "array", "items": ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "set": {"type": "array", "items": {"type": "string", "maxLength": 2}, "x-kubernetes-list-type": "set"},
        "map": {"type": "object", "additionalProperties": ITEM, "minProperties": 1},
        "nested": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1}},
        "one": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "any": {"anyOf": [{"type": "string"}, {"type": "integer"}], "x-kubernetes-int-or-string": True},
        "": {"type": "object", "properties": {"": {"type": "string"}, "x": {"type": "string"}}},
    },
}  # fmt: skip


def definition(spec):
    unnamed = {"type": "object", "properties": {"y": {"type": "string"}}}
    return parse_definition(
        definition_of({"type": "object", "required": ["spec"], "properties": {"spec": spec, "": unnamed}})
    )


THINGS = definition(SPEC)
GOOD = {"size": 1, "absent": "x"}
BAD_ITEM = {"name": "", "port": 10, "kinds": ["a", "c", "c", "b"]}

BODIES = {
    "nothing": {},
    "no map": {"spec": 5},
    "a list": {"spec": [1]},
    "all missing": {"spec": {}},
    "null where required": {"spec": {"size": None, "absent": None}},
    "two places": {"spec": {"size": 0, "absent": 7}},
    "wide": {"spec": {**GOOD, "wide": {"p3": 1, "p4": 2}}},
    "items": {"spec": {**GOOD, "plain": [BAD_ITEM, {"port": "x"}, BAD_ITEM]}},
    "item of another type": {"spec": {**GOOD, "plain": ["x", 1, "x", None, {"name": "a", "port": 1}]}},
    "keyed items": {"spec": {**GOOD, "keyed": [BAD_ITEM, {"name": "b", "port": 10}]}},
    "keyed items that repeat": {"spec": {**GOOD, "keyed": [BAD_ITEM, BAD_ITEM]}},
    "a keyed item of another type": {"spec": {**GOOD, "keyed": ["x"]}},
    "keyed items of another type": {"spec": {**GOOD, "keyed": [{"name": "a", "port": 1}, 5, 5]}},
    "a key that is a list": {"spec": {**GOOD, "keyed": [{"name": [], "port": 1}, {"name": [], "port": 1}]}},
    "items without a key": {"spec": {**GOOD, "keyed": [{"port": 1}, {"port": 2}]}},
    "a set": {"spec": {**GOOD, "set": ["abc", "abc", 5, 5, "x"]}},
    "a set of lists": {"spec": {**GOOD, "set": [[], []]}},
    "the same text twice": {"spec": {**GOOD, "plain": [{"name": "a", "port": 1, "kinds": ["c", "c"]}]}},
    "the same number twice": {"spec": {**GOOD, "set": [1, 2, 1]}},
    "an empty map": {"spec": {**GOOD, "map": {}}},
    "values of a map": {"spec": {**GOOD, "map": {"a.b": BAD_ITEM, "": {"name": 1}, ".": 3, "%d": "x"}}},
    "lists in lists": {"spec": {**GOOD, "nested": [[], [1, "x", "x"], [], "y"]}},
    "both branches": {"spec": {**GOOD, "one": {"a": "x", "b": 2}}},
    "no branch": {"spec": {**GOOD, "one": {}}},
    "neither number nor text": {"spec": {**GOOD, "any": True}},
    "no name": {"spec": {**GOOD, "": {"": 1, "x": 2}}},
    "no name at the root": {"spec": GOOD, "": {"y": 1}},
    "an unknown field beside": {"spec": {"size": 0, "unknown": 1, "absent": "x"}},
}


def object_of(body):
    metadata = {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z", "generation": 1}
    return json.dumps({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, **body}).encode()


@pytest.mark.parametrize("name", BODIES)
def test_findings_of_values_in_doubt_are_those_of_the_whole_walk(name):
    data = object_of(BODIES[name])
    version = THINGS.versions["v1"]
    exact = AuditProgram(THINGS, version, compiled=False).audit(data)
    quick = AuditProgram(THINGS, version).audit(data)
    assert exact.findings
    assert quick.findings == exact.findings
    assert quick.object == exact.object
    assert quick.pruned == exact.pruned


def test_an_object_leaves_no_doubts_to_the_next():
    version = THINGS.versions["v1"]
    program = AuditProgram(THINGS, version)
    for name, body in BODIES.items():
        exact = AuditProgram(THINGS, version, compiled=False).audit(object_of(body))
        assert program.audit(object_of(body)).findings == exact.findings, name
        assert program.audit(object_of({"spec": GOOD})).findings == ()
    assert program.proven == len(BODIES)


def test_values_in_doubt_of_a_node_that_is_decoded_as_it_is_are_not_taken_for_proven():
    spec = {
        **SPEC,
        "properties": {**SPEC["properties"], "kept": {**SPEC, "x-kubernetes-preserve-unknown-fields": True}},
    }
    things = definition(spec)
    typed = AuditProgram(things, things.versions["v1"], warm_up=0).typed(0)
    assert typed is not None
    assert typed.prove(object_of({"spec": {**GOOD, "kept": GOOD}})) is not None
    assert typed.prove(object_of({"spec": {**GOOD, "kept": {"size": 0, "absent": "x"}}})) is None
    assert typed.prove(object_of({"spec": {**GOOD, "kept": GOOD}})) is not None


BOUNDS_OUT_OF_RANGE = [
    (
        {"type": "integer", "format": "int32", "multipleOf": 2147483648},
        0,
        "MultipleOf value must be of type integer with format int32",
    ),
    (
        {"type": "number", "format": "float", "maximum": 1e39},
        1.5,
        "Maximum boundary value must be of type number with format float",
    ),
    (
        {"type": "number", "format": "float", "minimum": -1e39},
        1.5,
        "Minimum boundary value must be of type number with format float",
    ),
]


@pytest.mark.parametrize(("schema", "value", "text"), BOUNDS_OUT_OF_RANGE)
def test_any_value_is_in_doubt_where_a_bound_is_out_of_the_range_of_the_format(schema, value, text):
    things = definition({"type": "object", "properties": {"a": schema}})
    audited = AuditProgram(things, things.versions["v1"]).audit(object_of({"spec": {"a": value}}))
    assert [finding.message for finding in audited.findings] == [f'<nil>: Invalid value: "": {text} in spec.a']
