"""The rules that a schema runs, and the results of those that do not compile."""

import pytest

from auditor.schema.parse import parse_schema
from auditor.schema.schema_path import FieldPathError
from auditor.validation.rules import compile_rules
from auditor.validation.rules.compile import resolve_field_path


def ruled(*texts, **more):
    return {"x-kubernetes-validations": [{"rule": text} for text in texts], **more}


def compiled(schema):
    node = compile_rules(parse_schema(schema))
    return [] if node is None else [rule for each in node.walk() for rule in each.rules]


def test_a_schema_without_rules_has_no_tree():
    assert compile_rules(parse_schema({"type": "object"})) is None
    assert compile_rules(None) is None


def test_rules_that_are_only_below_all_of_never_run():
    assert compiled({"type": "object", "allOf": [ruled("false")]}) == []
    beside = {"type": "object", "allOf": [ruled("false")], "properties": {"a": ruled("true", type="integer")}}
    assert [each.rule.rule for each in compiled(beside)] == ["false", "true"]


@pytest.mark.parametrize(
    "child",
    [
        ruled("true"),
        ruled("true", type="array"),
        {"x-kubernetes-preserve-unknown-fields": True, "properties": {"b": ruled("true", type="integer")}},
    ],
    ids=str,
)
def test_rules_on_what_expressions_cannot_see_never_run(child):
    assert compiled({"type": "object", "properties": {"a": child}}) == []


def test_rules_below_a_name_that_cannot_be_written_do_run():
    found = compiled({"type": "object", "properties": {"1st": ruled("self > 0", type="integer")}})
    assert [each.error for each in found] == [""]


ERRORS = [
    ("", None),
    ("  \n", None),
    ("self.x", "cel expression must evaluate to a bool"),
    ("int('x') == 1", "program instantiation failed: type conversion error from 'string' to 'int'"),
    ("self.y", "compilation failed: ERROR: <input>:1:5: undefined field 'y'\n | self.y\n | ....^"),
]


@pytest.mark.parametrize(("text", "error"), ERRORS)
def test_what_does_not_compile_is_an_error_in_the_servers_words(text, error):
    (rule,) = compiled(ruled(text, type="object", properties={"x": {"type": "integer"}}))
    assert rule.program is None
    assert rule.error == (error or "")


def test_only_expressions_that_read_old_self_are_transition_rules():
    schema = {"type": "integer", "x-kubernetes-validations": [
        {"rule": "self >= oldSelf"},
        {"rule": "self >= 0"},
        {"rule": "oldSelf.hasValue()", "optionalOldSelf": True},
        {"rule": "self >= 0", "messageExpression": "string(oldSelf)"},
    ]}  # fmt: skip
    found = compiled({"type": "object", "properties": {"a": schema}})
    assert [each.uses_old_self for each in found] == [True, False, True, False]
    assert [each.error for each in found] == [""] * 4


def test_a_bad_message_expression_is_ignored_and_takes_the_field_path_along():
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "x-kubernetes-validations": [
        {"rule": "true", "messageExpression": "self.x", "fieldPath": ".x"},
        {"rule": "true", "messageExpression": "'ok'", "fieldPath": ".x"},
        {"rule": "true", "fieldPath": ".y"},
    ]}  # fmt: skip
    first, second, third = compiled(schema)
    assert (first.message, first.field_path) == (None, "")
    assert first.message_error == "messageExpression must evaluate to a string"
    assert (second.message is None, second.field_path) == (False, "x")
    assert third.field_path == ""


SCHEMA = parse_schema({
    "type": "object",
    "properties": {
        "a": {"type": "object", "properties": {"b.c": {"type": "string"}, "it's": {"type": "string"}}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
    },
})  # fmt: skip
PATHS = [
    (".a", "a"),
    ("['a']", "a"),
    (".a['b.c']", "a.b.c"),
    (r".a['it\'s']", "a.it's"),
    (".m.foo", "m[foo]"),
    (".m['x.y']", "m[x.y]"),
    ("a", "expected [ or . but got: a"),
    (".", "unexpected end of JSON path"),
    (".b", "does not refer to a valid field"),
    (".a[b.c]", "expected single quoted string but got b"),
    (".a['b.c'", "unexpected end of JSON path"),
    (".a['b.c'.", "expected ] but got ."),
    (r".a['\x']", r"invalid string literal: invalid escape char \x"),
    (".m.foo.bar", "does not refer to a valid field"),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_field_paths_are_read_as_the_server_does(path, expected):
    try:
        found = resolve_field_path(path, SCHEMA)
    except FieldPathError as error:
        found = str(error)
    assert found == expected
