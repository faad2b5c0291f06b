"""Compiling and evaluating: the results in case of errors."""

from __future__ import annotations

import pytest

from auditor.cel.cel_errors import COST_LIMIT_EXCEEDED, CelError, CompileError, CostLimitExceeded
from auditor.cel.cel_types import BOOL, DYN, INT, STRING, ObjectType, list_of
from auditor.cel.environment import Environment
from auditor.cel.kubernetes import kubernetes_environment

ENVIRONMENT = kubernetes_environment(
    {"self": DYN, "l": list_of(INT), "ll": list_of(list_of(STRING)), "b": BOOL, "i": INT}
)


def test_what_fails_while_a_call_is_priced_ends_the_evaluation_as_a_value() -> None:
    program = ENVIRONMENT.compile("[l[9], 1].sort() == [1] || true")
    value, cost = program.evaluate({"l": [1, 2, 3]})
    assert isinstance(value, CelError)
    assert value.text == "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add"
    assert cost == 12


def test_the_cost_limit_is_never_absorbed() -> None:
    program = ENVIRONMENT.compile("self.all(x, self.all(y, x + y > -1)) || true")
    value, cost = program.evaluate({"self": list(range(700))})
    assert value == CostLimitExceeded()
    assert value.text == COST_LIMIT_EXCEEDED
    assert cost == 1_000_001


def test_nested_loops_cost_what_the_formula_says() -> None:
    program = ENVIRONMENT.compile("self.l.all(x, self.l.all(y, x + y > -1))")
    for count in (0, 1, 3, 10):
        _, cost = program.evaluate({"self": {"l": list(range(count))}})
        assert cost == (3 + 6 * count + 7 * count * count)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "ll[0].map(y, b, y == i ? -1 : y)",
            (
                "ERROR: <input>:1:19: found no matching overload for '_==_' applied to '(string, int)'\n"
                " | ll[0].map(y, b, y == i ? -1 : y)\n | ..................^\n"
                "ERROR: <input>:1:24: found no matching overload for '_?_:_' applied to '(!error!, int, string)'\n"
                " | ll[0].map(y, b, y == i ? -1 : y)\n | .......................^"
            ),
        ),
        (
            "l[?0] && []",
            (
                "ERROR: <input>:1:2: expected type 'bool' but found 'optional_type(int)'\n | l[?0] && []\n | .^\n"
                "ERROR: <input>:1:10: expected type 'bool' but found 'list(_var6)'\n | l[?0] && []\n | .........^"
            ),
        ),
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("self.matches('a') && l[", None),
    ],
)
def test_complaints_are_the_compilers(text: str, complaint: str | None) -> None:
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile(text)
    if complaint is not None:
        assert caught.value.text == complaint


@pytest.mark.parametrize("text", ["l.existsOne(i, true)", "{1: 2}.existsOne(k, true)"])
def test_exists_one_in_camel_case_is_a_macro_of_two_variables_only(text: str) -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'existsOne'"):
        ENVIRONMENT.compile(text)


@pytest.mark.parametrize(
    "name", ["timestamp", "duration", "google.protobuf.Value", "google.protobuf.Struct", "google.protobuf.Int64Value"]
)
def test_names_of_types_that_are_no_values_are_found_out_last(name: str) -> None:
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile(f"type(self) == {name}")
    assert caught.value.text == f"reference to undefined type: {name}"


def test_a_name_of_a_type_behind_a_variable_of_a_macro_is_no_value() -> None:
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile("[1].all(int, type(self) == .int)")
    assert caught.value.text == "reference to undefined type: .int"


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("int{value: 1}", ["1:4: 'int' is not a message type", "1:10: undefined field 'value'"]),
        ("map{value: 1}", ["1:4: 'map' is not a message type"]),
        ("type{a: 1}", ["1:5: 'type' is not a message type", "1:7: unexpected failed resolution of 'type'"]),
        ("null_type{a: 1}", ["1:12: unexpected failed resolution of 'google.protobuf.NullValue'"]),
        ("list{value: 1}", ["1:11: undefined field 'value'"]),
        ("self{}", ["1:5: undeclared reference to 'self' (in container '')"]),
    ],
)
def test_messages_of_types_that_are_none_are_refused(text: str, complaints: list[str]) -> None:
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile(text)
    assert [f"{each.line}:{each.column}: {each.text}" for each in caught.value.issues] == complaints


@pytest.mark.parametrize("name", ["list", "null_type", "timestamp", "duration"])
def test_messages_by_other_names_of_their_types_fail_as_values(name: str) -> None:
    value, _ = ENVIRONMENT.compile(f"{name}{{}} == dyn(1)").evaluate({})
    assert isinstance(value, CelError)
    assert value.text == f"unknown type '{name}'"


def test_fields_of_declared_objects_are_checked() -> None:
    spec = ObjectType("Spec", {"replicas": INT})
    environment = Environment({"self": spec.type}, object_types=[spec])
    assert environment.compile("self.replicas > 1").evaluate({"self": {"replicas": 2}}) == (True, 3)
    with pytest.raises(CompileError, match="undefined field 'missing'"):
        environment.compile("self.missing > 1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'%s %d'.format([google.protobuf.StringValue{value: 'b'}, google.protobuf.Int64Value{value: i}])", "b 3"),
        ("'%s'.format([[google.protobuf.UInt64Value{value: 5u}]])", "[5]"),
        ("'%x'.format([google.protobuf.BytesValue{value: b'a'}])", "61"),
    ],
)
def test_wrappers_are_formatted_as_what_they_wrap(text: str, shown: str) -> None:
    assert ENVIRONMENT.compile(text).evaluate({"i": 3})[0] == shown
