"""What schemas are in expressions: types, names, sizes."""

import pytest

from auditor.cel.cel_types import BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, list_of, map_of, object_type
from auditor.cel.kubernetes import latest
from auditor.schema.parse import parse_schema
from auditor.validation.rules import cel_type, declare
from auditor.validation.rules.escaping import escape, unescape

ESCAPED = {
    "a": "a",
    "namespace": "__namespace__",
    "in": "__in__",
    "Type": "Type",
    "a-b": "a__dash__b",
    "a.b/c": "a__dot__b__slash__c",
    "a__b": "a__underscores__b",
    "___": "__underscores___",
    "_": "_",
    "-": "__dash__",
    "": None,
    "1st": None,
    "a b": None,
    "ä": None,
    "a\n": None,
}


@pytest.mark.parametrize(("name", "identifier"), ESCAPED.items())
def test_names_are_escaped_as_the_server_does(name, identifier):
    assert escape(name) == identifier


@pytest.mark.parametrize("name", [name for name, identifier in ESCAPED.items() if identifier is not None])
def test_what_was_escaped_is_found_again(name):
    assert unescape(escape(name)) == name


@pytest.mark.parametrize("identifier", ["__x__", "a__in__", "__dash__in__if__"])
def test_identifiers_that_no_name_escapes_to_are_nobodys(identifier):
    assert unescape(identifier) is None


TYPES = [
    ({"type": "integer"}, INT),
    ({"type": "number"}, DOUBLE),
    ({"type": "string"}, STRING),
    ({"type": "string", "format": "byte"}, BYTES),
    ({"type": "string", "format": "date"}, TIMESTAMP),
    ({"type": "string", "format": "date-time"}, TIMESTAMP),
    ({"type": "string", "format": "datetime"}, STRING),
    ({"type": "string", "format": "duration"}, DURATION),
    ({"x-kubernetes-int-or-string": True}, DYN),
    ({"type": "array", "items": {"type": "integer"}}, list_of(INT)),
    ({"type": "object", "additionalProperties": {"type": "string"}}, map_of(STRING, STRING)),
    ({"type": "object", "additionalProperties": True}, object_type("selfType")),
    ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, object_type("selfType")),
    ({"type": "array", "items": {"type": "object"}}, list_of(object_type("selfType.@idx"))),
]


@pytest.mark.parametrize(("schema", "expected"), TYPES, ids=[str(schema) for schema, _ in TYPES])
def test_each_schema_has_its_type(schema, expected):
    declared = declare(parse_schema(schema), is_resource=False)
    assert cel_type(declared, latest())[0] == expected


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array"},
        {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
        {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
    ],
    ids=str,
)
def test_what_has_no_known_items_cannot_be_seen(schema):
    assert declare(parse_schema(schema), is_resource=False) is None


def fields_of(schema, *, is_resource=False, version=(1, 37)):
    _, objects = cel_type(declare(parse_schema(schema), is_resource=is_resource), version)
    return {each.name: dict(each.fields) for each in objects}


def test_a_resource_always_has_the_names_of_its_metadata():
    fields = fields_of({"type": "object", "properties": {"metadata": {"type": "object"}}}, is_resource=True)
    assert fields["selfType.metadata"] == {"name": STRING, "generateName": STRING}
    assert set(fields["selfType"]) == {"apiVersion", "kind", "metadata"}


def test_a_field_is_also_its_keyword_since_1_31():
    schema = {"type": "object", "properties": {"namespace": {"type": "string"}}}
    assert set(fields_of(schema)["selfType"]) == {"namespace", "__namespace__"}
    assert set(fields_of(schema, version=(1, 30))["selfType"]) == {"__namespace__"}


SIZES = [
    ({"type": "string"}, 3145726, 2),
    ({"type": "string", "maxLength": 10}, 40, 2),
    ({"type": "string", "enum": ["a", "äb"]}, 3, 2),
    ({"type": "string", "format": "byte", "maxLength": 10}, 10, 2),
    ({"type": "string", "format": "date"}, 12, 12),
    ({"type": "array", "items": {"type": "boolean"}}, (3145728 - 2) // 5, 2),
    ({"type": "array", "maxItems": 7, "items": {"type": "boolean"}}, 7, 2),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, (3145728 - 2) // 7, 2),
    ({"type": "object", "required": ["ab"], "properties": {"ab": {"type": "string"}}}, 0, 2 + 2 + 2 + 4),
    ({"type": "object", "required": ["ab"], "properties": {"ab": {"type": "string", "default": ""}}}, 0, 2),
]


@pytest.mark.parametrize(("schema", "most", "smallest"), SIZES, ids=[str(schema) for schema, *_ in SIZES])
def test_sizes_are_those_of_the_estimate(schema, most, smallest):
    declared = declare(parse_schema(schema), is_resource=False)
    assert (declared.max_elements, declared.min_size) == (most, smallest)
