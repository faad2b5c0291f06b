"""Protobuf messages made of values of every type, held against the server's libraries (`record_messages.py`)."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

import pytest

from auditor.cel.cel_errors import CelError, CompileError, GaveUp
from auditor.cel.cel_values import Message
from auditor.cel.kubernetes import kubernetes_environment
from auditor.schema.parse import parse_schema
from auditor.validation.rules.adapters import Adapters
from auditor.validation.rules.rule_types import cel_type, declare
from tests.cel.record_messages import RECORDED, SCHEMA, SELF
from tests.reference.test_vectors import latest, shown

CASES = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).decode().splitlines()]


def environment() -> tuple[Any, Any]:
    """Return the environment of a rule of the schema, and self."""
    schema = parse_schema(SCHEMA)
    declared, objects = cel_type(declare(schema, is_resource=False), latest())
    return kubernetes_environment({"self": declared}, objects), Adapters().of(schema)(SELF)


def plain(value: Any) -> Any:
    if type(value) is Message:
        return {f"${value.name}": ""}
    if type(value) is list:
        return [plain(item) for item in value]
    if type(value) is dict:
        return {key: plain(item) for key, item in value.items()}
    return {"$bytes": None} if value == b"" else shown(value)


def answer(text: str, environment: Any, self_: Any) -> dict[str, Any]:
    try:
        value, cost = environment.compile(text).evaluate({"self": self_})
    except CompileError as error:
        return {"compile": error.text}
    if isinstance(value, CelError):
        return {"error": value.text, "cost": cost}
    return {"value": plain(value), "cost": cost}


def no_bytes(value: Any) -> Any:
    """Return an answer in which no bytes are always shown alike: the program has them as null or as an empty text."""
    return json.loads(json.dumps(value).replace('{"$bytes": ""}', '{"$bytes": null}'))


def test_messages_are_made_as_by_the_server() -> None:
    env, self_ = environment()
    wrong, counts = {}, Counter[str]()
    for case in CASES:
        text, expect = case["expression"], no_bytes(case["expect"])
        expect = (
            {**expect, "compile": expect["compile"].replace("selfType1", "selfType")} if "compile" in expect else expect
        )
        got = no_bytes(answer(text, env, self_))
        counts[next(iter(expect))] += 1
        if json.dumps(got, sort_keys=True) != json.dumps(expect, sort_keys=True):
            wrong[text] = (got, expect)
    assert wrong == {}
    assert min(counts[key] for key in ("value", "error", "compile")) > 90


@pytest.mark.parametrize("url", ["type.googleapis.com/google.protobuf.Int64Value", "google.protobuf.Empty"])
def test_a_message_that_the_server_may_know_is_no_answer(url: str) -> None:
    env, self_ = environment()
    value, _ = env.compile(f"google.protobuf.Any{{type_url: '{url}'}}").evaluate({"self": self_})
    assert value == GaveUp(f"the message in a google.protobuf.Any is not read here: {url}")
