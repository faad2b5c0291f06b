"""The tree of a schema: what every keyword becomes, what types cost the definition, what conversion refuses."""

import pytest

from auditor.base.errors import NotStructural, SchemaError
from auditor.schema.parse import check_structural, parse_schema
from auditor.schema.structural import ABSENT, ListType, Rule


def test_an_empty_schema_has_nothing():
    tree = parse_schema({})
    assert (tree.type, tree.default, tree.properties, tree.enum, tree.legacy) == ("", ABSENT, {}, None, None)
    assert tree.additional_properties is None
    assert tree.maximum is None


@pytest.mark.parametrize(
    ("keyword", "value", "attribute", "expected"),
    [
        ("type", "string", "type", "string"),
        ("format", "date", "format", "date"),
        ("nullable", True, "nullable", True),
        ("default", 0, "default", 0),
        ("default", {"a": None}, "default", {"a": None}),
        ("default", None, "default", ABSENT),
        ("enum", ["a", None, 1], "enum", ("a", None, 1)),
        ("enum", [], "enum", ()),
        ("enum", None, "enum", None),
        ("maximum", 3, "maximum", 3.0),
        ("minimum", 9007199254740993, "minimum", 9007199254740992.0),
        ("multipleOf", 0.5, "multiple_of", 0.5),
        ("exclusiveMaximum", True, "exclusive_maximum", True),
        ("maxLength", 5, "max_length", 5),
        ("minLength", -1, "min_length", -1),
        ("required", ["a", "a", None], "required", ("a", "a", "")),
        ("required", None, "required", ()),
        ("uniqueItems", True, "unique_items", True),
        ("additionalProperties", True, "additional_properties", True),
        ("additionalProperties", False, "additional_properties", False),
        ("additionalProperties", None, "additional_properties", None),
        ("items", 5, "items", None),
        ("items", None, "items", None),
        ("x-kubernetes-list-type", "map", "list_type", ListType.MAP),
        ("x-kubernetes-list-type", "odd", "list_type", None),
        ("x-kubernetes-list-map-keys", ["a", "b"], "list_map_keys", ("a", "b")),
        ("x-kubernetes-map-type", "atomic", "map_type", "atomic"),
        ("x-kubernetes-preserve-unknown-fields", True, "preserve_unknown_fields", True),
        ("x-kubernetes-embedded-resource", True, "embedded_resource", True),
        ("x-kubernetes-int-or-string", True, "int_or_string", True),
        ("const", 5, "enum", None),
        ("Type", "string", "type", ""),
    ],
)
def test_a_keyword_is_decoded_as_its_go_type(keyword, value, attribute, expected):
    found = getattr(parse_schema({keyword: value}), attribute)
    assert found == expected
    assert type(found) is type(expected)


def test_children_keep_the_order_of_the_definition():
    tree = parse_schema({"properties": {"z": {"type": "string"}, "a": {"items": {"type": "integer"}}}})
    assert list(tree.properties) == ["z", "a"]
    assert tree.properties["a"].items.type == "integer"


def test_null_as_a_schema_is_the_empty_schema():
    assert parse_schema({"properties": {"a": None}}).properties["a"].type == ""


def test_junctors_hold_whole_nodes():
    tree = parse_schema(
        {"anyOf": [{"type": "integer"}, {"properties": {"a": {"minimum": 1}}}], "not": {"required": ["b"]}}
    )
    assert tree.any_of[0].type == "integer"
    assert tree.any_of[1].properties["a"].minimum == 1.0
    assert tree.not_.required == ("b",)


def test_rules_are_records():
    rule = {"rule": "self.a", "messageExpression": "'x'", "reason": "FieldValueRequired", "optionalOldSelf": True}
    assert parse_schema({"x-kubernetes-validations": [rule]}).rules == (
        Rule("self.a", message_expression="'x'", reason="FieldValueRequired", optional_old_self=True),
    )


def test_keywords_of_legacy_schemas_are_kept_apart():
    legacy = parse_schema(
        {
            "items": [{"type": "string"}, {"type": "integer"}],
            "additionalItems": False,
            "patternProperties": {"^a": {"type": "string"}},
            "dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": None},
            "$ref": "#/definitions/x",
            "definitions": {"x": {"type": "string"}},
        }
    ).legacy
    assert [item.type for item in legacy.items] == ["string", "integer"]
    assert legacy.additional_items is False
    assert legacy.pattern_properties["^a"].type == "string"
    assert legacy.dependencies["a"] == ("b",)
    assert legacy.dependencies["c"].required == ("d",)
    assert legacy.dependencies["e"] == ()
    assert legacy.ref == "#/definitions/x"
    assert legacy.definitions["x"].type == "string"


@pytest.mark.parametrize(
    ("props", "text"),
    [
        (
            {"type": ["string"]},
            "json: cannot unmarshal array into Go struct field JSONSchemaProps.type of type string",
        ),
        (
            {"properties": {"a": {"maxLength": "5"}}},
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.properties.maxLength of type int64",
        ),
        (
            {"maxLength": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field JSONSchemaProps.maxLength of type int64",
        ),
        (
            {"items": {"exclusiveMinimum": 0}},
            "json: cannot unmarshal number into Go struct field JSONSchemaProps.items.exclusiveMinimum of type bool",
        ),
        ({"additionalProperties": "x"}, "boolean or JSON schema expected"),
        (
            {"properties": ["a"]},
            "json: cannot unmarshal array into Go struct field JSONSchemaProps.properties of type map[string]v1.JSONSchemaProps",
        ),
    ],
)
def test_a_keyword_of_the_wrong_type_is_no_schema(props, text):
    with pytest.raises(SchemaError) as caught:
        parse_schema(props)
    assert caught.value.found == text


@pytest.mark.parametrize(
    ("props", "where", "text"),
    [
        ({"id": "x"}, "", "OpenAPIV3Schema 'id' is not supported"),
        ({"$schema": "x"}, "", "OpenAPIV3Schema 'schema' is not supported"),
        ({"$ref": "x"}, "", "OpenAPIV3Schema '$ref' is not supported"),
        ({"items": {"patternProperties": {"a": {}}}}, ".items", "OpenAPIV3Schema 'patternProperties' is not supported"),
        ({"anyOf": [{}, {"dependencies": {"a": []}}]}, ".anyOf[1]", "OpenAPIV3Schema 'dependencies' is not supported"),
        ({"not": {"additionalItems": False}}, ".not", "OpenAPIV3Schema 'additionalItems' is not supported"),
        ({"definitions": {"a": {}}}, "", "OpenAPIV3Schema 'definitions' is not supported"),
        (
            {"properties": {"a": {"items": [{}]}}},
            ".properties[a]",
            "OpenAPIV3Schema 'items' must be a schema, but is an array",
        ),
        (
            {"additionalProperties": {"x-kubernetes-preserve-unknown-fields": False}},
            ".additionalProperties",
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
    ],
)
def test_what_does_not_convert_is_not_structural(props, where, text):
    with pytest.raises(NotStructural) as caught:
        check_structural(props)
    assert (caught.value.where, caught.value.found) == (where, text)


@pytest.mark.parametrize(
    "props",
    [
        {},
        {"id": "", "$ref": "", "patternProperties": {}, "definitions": None, "dependencies": {}},
        {"items": []},
        {"items": "x"},
        {"properties": {"a": {"properties": {"b": {}}, "additionalProperties": {"type": "string"}}}},
        {"type": "nonsense", "pattern": "("},
    ],
)
def test_what_only_breaks_rules_for_new_definitions_converts(props):
    check_structural(props)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (100.0, 100),
        (-0.0, 0),
        (1.5, 1.5),
        (1e21, 1e21),
        (6.528798165488349e18, 6528798165488349000),
        (2**63, 2.0**63),
        ({"a": [2.0]}, {"a": [2]}),
    ],
)
def test_floats_without_fraction_are_integers_once_a_server_kept_the_definition(value, kept):
    tree = parse_schema({"default": value, "enum": [value]})
    assert repr(tree.default) == repr(kept)
    assert repr(tree.enum) == repr((kept,))
