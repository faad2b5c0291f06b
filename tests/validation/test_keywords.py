"""The schema keywords: every example is what the server's validator printed."""

from __future__ import annotations

import pytest

from auditor.schema.parse import parse_schema
from auditor.validation.node import compile_schema, validate_value
from tests.validation.support import lines, messages, value

BEST = '{"anyOf":[{"required":["zz"]},{"properties":{"k":{"enum":["y"]},"v":{"minimum":10}},"required":["k","v"]}]}'

OF_PROPERTY_A = [
    ('{"type":"string"}', "1", 'a: Invalid value: "integer": a in body must be of type string: "integer"'),
    ('{"type":"string"}', "null", 'a: Invalid value: "null": a in body must be of type string: "null"'),
    ('{"type":"string","nullable":true,"enum":["x"]}', "null", 'a: Unsupported value: null: supported values: "x"'),
    (
        '{"type":"string","enum":["x"]}',
        "null",
        """a: Invalid value: "null": a in body must be of type string: "null"
        a: Unsupported value: null: supported values: "x\"""",
    ),
    (
        '{"type":"string","nullable":true,"enum":["x",null]}',
        "null",
        'a: Unsupported value: null: supported values: "x", "null"',
    ),
    (
        '{"x-kubernetes-int-or-string":true}',
        "null",
        'a: Invalid value: "null": a in body must be of type integer,string: "null"',
    ),
    (
        '{"x-kubernetes-int-or-string":true}',
        "1.5",
        'a: Invalid value: "number": a in body must be of type integer,string: "number"',
    ),
    ('{"x-kubernetes-int-or-string":true}', "1.0", ""),
    (
        '{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}',
        "true",
        """a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"
        <nil>: Invalid value: "": "a" must validate at least one schema (anyOf)
        a: Invalid value: "boolean": a in body must be of type integer: "boolean\"""",
    ),
    (
        '{"type":"integer"}',
        "1.5",
        """a: Invalid value: "number": a in body must be of type integer: "number"
        <nil>: Invalid value: "": Checked value must be of type integer (default format) in a""",
    ),
    (
        '{"type":"integer"}',
        "9007199254740992.0",
        'a: Invalid value: "number": a in body must be of type integer: "number"',
    ),
    ('{"type":"integer"}', "1.0", ""),
    ('{"type":"integer"}', "1e3", ""),
    (
        '{"type":"integer"}',
        "1234567890.5",
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
    ),
    (
        '{"type":"integer","format":"int32"}',
        "2147483648",
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a',
    ),
    (
        '{"type":"integer","format":"int32"}',
        "1.5",
        """a: Invalid value: "float64": a in body must be of type int32: "float64"
        <nil>: Invalid value: "": Checked value must be of type integer with format int32 in a""",
    ),
    (
        '{"type":"integer","format":"int32"}',
        "true",
        'a: Invalid value: "": a in body must be of type int32: ""',
    ),
    (
        '{"type":"integer","format":"int64"}',
        "[]",
        'a: Invalid value: "array": a in body must be of type integer: "array"',
    ),
    (
        '{"type":"number","format":"float"}',
        "1e39",
        '<nil>: Invalid value: "": Checked value must be of type number with format float in a',
    ),
    ('{"type":"string","format":"date"}', "5", 'a: Invalid value: "int64": a in body must be of type date: "int64"'),
    ('{"type":"string","format":"date"}', "[]", ""),
    ('{"type":"string","format":"date"}', "{}", 'a: Invalid value: "": a in body must be of type date: ""'),
    (
        '{"type":"string","format":"date-time"}',
        '"nope"',
        'a: Invalid value: "nope": a in body must be of type date-time: "nope"',
    ),
    ('{"type":"string","format":"unheard-of"}', '"nope"', ""),
    (
        '{"type":"array","items":{"type":"string"}}',
        '["x",1,null]',
        """a[1]: Invalid value: "integer": a[1] in body must be of type string: "integer"
        a[2]: Invalid value: "null": a[2] in body must be of type string: "null\"""",
    ),
    ('{"type":"string","maxLength":2}', '"ééé"', "a: Too long: may not be more than 2 bytes"),
    ('{"type":"string","maxLength":1}', '"éé"', "a: Too long: may not be more than 1 byte"),
    (
        '{"type":"string","minLength":2}',
        '"é"',
        'a: Invalid value: "é": a in body should be at least 2 chars long',
    ),
    (
        '{"type":"string","pattern":"^[a-z]+$"}',
        r'"A\"\né"',
        r"""a: Invalid value: "A\"\né": a in body should match '^[a-z]+$'""",
    ),
    ('{"type":"string","pattern":"^a$"}', r'"a\n"', r"""a: Invalid value: "a\n": a in body should match '^a$'"""),
    (
        '{"type":"string","pattern":"(?=x)"}',
        '"a"',
        (
            """a: Invalid value: "a": a in body should match '(?=x), but pattern is invalid: error parsing regexp: """
            "invalid or unsupported Perl syntax: `(?=`'"
        ),
    ),
    (
        '{"type":"string","minLength":5,"maxLength":1,"pattern":"x","enum":["z"],"format":"ipv4"}',
        '"abc"',
        """a: Too long: may not be more than 1 byte
        a: Invalid value: "abc": a in body must be of type ipv4: "abc"
        a: Unsupported value: "abc": supported values: "z\"""",
    ),
    ('{"type":"integer","enum":[1,2]}', "3", 'a: Unsupported value: 3: supported values: "1", "2"'),
    ('{"type":"number","enum":[1,2.5]}', "1.9", ""),
    ('{"type":"number","enum":[1,-1]}', "-1.5", ""),
    ('{"x-kubernetes-int-or-string":true,"enum":["A"]}', "65", ""),
    ('{"x-kubernetes-int-or-string":true,"enum":["A"]}', "66", 'a: Unsupported value: 66: supported values: "A"'),
    ('{"enum":[1],"x-kubernetes-preserve-unknown-fields":true}', "1.0", ""),
    (
        '{"enum":[{"b":1}],"x-kubernetes-preserve-unknown-fields":true}',
        '{"b":2}',
        r'a: Unsupported value: {"b":2}: supported values: "{\"b\":1}"',
    ),
    (
        '{"enum":[[1]],"x-kubernetes-preserve-unknown-fields":true}',
        "[1.0]",
        'a: Unsupported value: [1]: supported values: "[1]"',
    ),
    (
        '{"type":"number","multipleOf":0.1}',
        "0.35",
        "a: Invalid value: 0.35: a in body should be a multiple of 0.1",
    ),
    ('{"type":"number","multipleOf":0.1}', "0.3", ""),
    (
        '{"type":"number","multipleOf":0.1}',
        "3",
        "a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0",
    ),
    ('{"type":"number","multipleOf":2.5}', "5", "a: Invalid value: 5: a in body should be a multiple of 2"),
    ('{"type":"number","multipleOf":2.5}', "7.5", ""),
    ('{"type":"integer","multipleOf":3}', "-4", "a: Invalid value: -4: a in body should be a multiple of 3"),
    (
        '{"type":"integer","multipleOf":2.5}',
        "5",
        '<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in a',
    ),
    (
        '{"type":"integer","maximum":3.5}',
        "4",
        """<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in a
        a: Invalid value: 4: a in body should be less than or equal to 3.5""",
    ),
    (
        '{"type":"integer","maximum":3.5}',
        "10000000",
        """<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in a
        a: Invalid value: 1e+07: a in body should be less than or equal to 3.5""",
    ),
    (
        '{"type":"number","maximum":3.5,"minimum":1.5}',
        "4",
        "a: Invalid value: 4: a in body should be less than or equal to 3",
    ),
    ('{"type":"number","maximum":3.5,"minimum":1.5}', "1", ""),
    (
        '{"type":"number","maximum":3,"exclusiveMaximum":true}',
        "3",
        "a: Invalid value: 3: a in body should be less than 3",
    ),
    (
        '{"type":"number","minimum":3,"exclusiveMinimum":true}',
        "3.0",
        "a: Invalid value: 3: a in body should be greater than 3",
    ),
    (
        '{"type":"number","maximum":1e19}',
        "5",
        "a: Invalid value: 5: a in body should be less than or equal to -9223372036854775808",
    ),
    (
        '{"type":"number","maximum":123456789.25}',
        "223456789.5",
        "a: Invalid value: 2.234567895e+08: a in body should be less than or equal to 1.2345678925e+08",
    ),
    ('{"additionalProperties":{"required":["x"]}}', '{"k.y/z w":{}}', "a.k.y/z w.x: Required value"),
    ('{"minProperties":2}', '{"a":1}', "a: Invalid value: 1: a in body should have at least 2 properties"),
    ('{"maxItems":1}', '["a","b"]', "a: Too many: 2: must have at most 1 item"),
    ('{"minItems":2}', '["a"]', "a: Invalid value: 1: a in body should have at least 2 items"),
    ('{"uniqueItems":true}', "[1,1]", 'a: Invalid value: "": a in body shouldn\'t contain duplicates'),
    ('{"uniqueItems":true}', "[1,1.0,true,[1],[1.0],{}]", ""),
    (
        '{"additionalProperties":false}',
        '{"a":1}',
        'a: Invalid value: "a": a.a in body is a forbidden property',
    ),
    (
        '{"oneOf":[{"required":["x"]},{"required":["y"]}]}',
        "{}",
        """<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found none valid
        a.x: Required value""",
    ),
    (
        '{"oneOf":[{"required":["x"]},{"required":["y"]}]}',
        '{"x":1,"y":2}',
        '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ),
    (
        '{"type":"string","allOf":[{"minLength":3},{"pattern":"^z"}]}',
        '"b"',
        """a: Invalid value: "b": a in body should be at least 3 chars long
        a: Invalid value: "b": a in body should match '^z'
        <nil>: Invalid value: "": "a" must validate all the schemas (allOf). None validated""",
    ),
    (
        '{"type":"string","allOf":[{"minLength":3},{"pattern":"^b"}]}',
        '"b"',
        """a: Invalid value: "b": a in body should be at least 3 chars long
        <nil>: Invalid value: "": "a" must validate all the schemas (allOf)""",
    ),
    (
        '{"not":{"enum":["bad"]}}',
        '"bad"',
        '<nil>: Invalid value: "": "a" must not validate the schema (not)',
    ),
    (
        BEST,
        '{"k":"x","v":1}',
        """<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)
        a.k: Unsupported value: "x": supported values: "y"
        a.v: Invalid value: 1: a.v in body should be greater than or equal to 10""",
    ),
    (
        '{"type":"integer","anyOf":[{"format":"ipv4"}]}',
        "1",
        """<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)
        a: Invalid value: "int64": a in body must be of type ipv4: "int64\"""",
    ),
]


@pytest.mark.parametrize(("schema", "text", "printed"), OF_PROPERTY_A)
def test_a_property_is_judged_as_the_server_does(schema, text, printed):
    root = parse_schema({"type": "object", "properties": {"a": value(schema)}})
    assert messages(validate_value(compile_schema(root)[0], {"a": value(text)})) == lines(printed)


@pytest.mark.parametrize(
    ("schema", "text", "printed"),
    [
        ('{"type":"object"}', "[1]", '<nil>: Invalid value: "array":  in body must be of type object: "array"'),
        (
            '{"required":["a","b"],"properties":{"s":{"required":["x"]}}}',
            '{"s":{}}',
            """s.x: Required value
            a: Required value
            b: Required value""",
        ),
        (
            '{"additionalProperties":{"type":"string"}}',
            '{"a":1}',
            'a: Invalid value: "integer": .a in body must be of type string: "integer"',
        ),
        (
            '{"additionalProperties":{"additionalProperties":{"type":"string"}}}',
            '{"a":{"b":1}}',
            'a.b: Invalid value: "integer": .a.b in body must be of type string: "integer"',
        ),
        ('{"maxProperties":2}', '{"a":1,"b":2,"c":3}', "<nil>: Too many: 3: must have at most 2 items"),
        (
            '{"properties":{"a":{"additionalProperties":{"type":"integer"}},"a.b":{"type":"integer"}}}',
            '{"a":{"b":"x"},"a.b":"y"}',
            'a.b: Invalid value: "string": a.b in body must be of type integer: "string"',
        ),
        ('{"required":[""]}', "{}", "<nil>: Required value"),
        ('{"additionalProperties":true,"properties":{"a":{"type":"string"}}}', '{"a":"x","b":1}', ""),
    ],
)
def test_the_root_is_judged_as_the_server_does(schema, text, printed):
    root = compile_schema(parse_schema(value(schema)))[0]
    assert messages(validate_value(root, value(text))) == lines(printed)


def test_null_meets_only_type_and_enum():
    schema = parse_schema({"nullable": True, "not": {}, "anyOf": [{"enum": [1]}], "minLength": 3})
    assert validate_value(compile_schema(schema)[0], None) == []


def test_of_branches_with_equal_match_counts_the_first_is_shown():
    branches = [{"required": ["x"]}, {"required": ["y"]}]
    root = compile_schema(parse_schema({"anyOf": branches}))[0]
    assert [finding.field for finding in validate_value(root, {})] == ["<nil>", "x"]
    root = compile_schema(parse_schema({"anyOf": branches[::-1]}))[0]
    assert [finding.field for finding in validate_value(root, {})] == ["<nil>", "y"]


def test_failures_of_two_branches_with_one_text_are_reported_once():
    branch = {"maxLength": 1}
    root = compile_schema(parse_schema({"allOf": [branch, branch], "maxLength": 1}))[0]
    assert [finding.type for finding in validate_value(root, "ab")] == ["FieldValueTooLong", "FieldValueInvalid"]


@pytest.mark.parametrize(
    ("schema", "text", "printed"),
    [
        (
            '{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}',
            '["a","b",1]',
            """[1]: Invalid value: "string": [1] in body must be of type integer: "string"
            <nil>: Invalid value: "": array doesn't allow for additional items""",
        ),
        (
            '{"items":[{"type":"string"}],"additionalItems":{"type":"integer"}}',
            '["a","b"]',
            '[1]: Invalid value: "string": [1] in body must be of type integer: "string"',
        ),
        (
            '{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}',
            '{"xa":1,"b":1}',
            """xa: Invalid value: "integer": .xa in body must be of type string: "integer"
            <nil>: Invalid value: "b": .b in body is a forbidden property""",
        ),
        (
            '{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"integer"}}',
            '{"xa":1,"b":"c"}',
            """xa: Invalid value: "integer": .xa in body must be of type string: "integer"
            b: Invalid value: "string": .b in body must be of type integer: "string\"""",
        ),
        (
            '{"dependencies":{"a":["b","c"],"d":{"required":["e"]}}}',
            '{"a":1,"c":1,"d":1}',
            """<nil>: Invalid value: "": "" has a dependency on b
            d.e: Required value""",
        ),
    ],
)
def test_keywords_of_legacy_definitions_still_count(schema, text, printed):
    root = compile_schema(parse_schema(value(schema)))[0]
    assert messages(validate_value(root, value(text))) == lines(printed)


def test_positions_below_branches_are_not_among_the_nodes():
    schema = parse_schema({"anyOf": [{"properties": {"a": {"type": "string"}}}], "items": {"not": {"type": "string"}}})
    nodes = compile_schema(schema)[1]
    assert set(nodes) == {schema, schema.items}
