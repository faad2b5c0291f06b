"""The recorded answers of the server's CEL environment: value and type, error, complaint, cost."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

from auditor.cel.cel_errors import CelError, CompileError
from auditor.cel.cel_types import DYN
from auditor.cel.cel_values import CelMap, Duration, Optional_, Timestamp, TypeValue, UInt, is_list
from auditor.cel.kubernetes import kubernetes_environment
from auditor.cel.operations.conversions import format_timestamp
from auditor.cel.operations.equality import find, type_of
from auditor.golang.go_text import float_v
from tests.cases import of_each
from tests.shared import beside, second_check

pytestmark = second_check("vectors/cel-expressions.json", by="tests/reference/test_vectors.py")

FILE = beside("vectors/cel-expressions.json")
VECTORS: dict[str, Any] = json.loads(FILE.read_bytes()) if FILE else {"cases": [], "self": {}}
ENVIRONMENT = kubernetes_environment({"self": DYN})


def encoded(value: Any) -> Any:
    if type(value) is float:
        return {"$double": float_v(value)}
    if type(value) is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if type(value) is Duration:
        return {"$duration": value.nanos}
    if type(value) is Timestamp:
        return {"$timestamp": format_timestamp(value)}
    if type(value) is TypeValue:
        return {"$type": value.name}
    if type(value) is Optional_:
        return {"$optional": encoded(value.value), "has": value.has}
    if is_list(value):
        return [encoded(item) for item in (value if type(value) is list else value.cel_iter())]
    if isinstance(value, CelMap):
        return {str(key): encoded(find(value, key)) for key in value.cel_iter()}
    if type(value) is dict:
        return {key: encoded(item) for key, item in value.items()}
    return int(value) if type(value) is UInt else value


def recorded(value: Any) -> Any:
    """A double may be recorded as a plain number where it has a fraction."""
    if type(value) is float:
        return {"$double": float_v(value)}
    if isinstance(value, list):
        return [recorded(item) for item in value]
    return value


def outcome(expression: str, self_: Any) -> dict[str, Any]:
    try:
        program = ENVIRONMENT.compile(expression)
    except CompileError as error:
        return {"compile": error.text}
    value, cost = program.evaluate({"self": self_})
    if isinstance(value, CelError):
        return {"cost": cost, "error": value.text}
    return {"cost": cost, "type": type_of(value).name, "value": encoded(value)}


def in_every_order(self_: dict[str, Any]) -> list[dict[str, Any]]:
    """The server walks maps in random order, which shows in the cost of a search: all orders of the labels."""
    return [self_ | {"labels": dict(items)} for items in itertools.permutations(self_["labels"].items())]


@of_each("case", VECTORS["cases"], ids=lambda case: case["expr"])
def test_expression_gives_what_the_server_gives(case: dict[str, Any]) -> None:
    expected = {key: value for key, value in case.items() if key != "expr"}
    if "value" in expected:
        expected["value"] = recorded(expected["value"])
    found = outcome(case["expr"], VECTORS["self"])
    if found != expected and "labels" in case["expr"]:
        assert expected in [outcome(case["expr"], self_) for self_ in in_every_order(VECTORS["self"])]
    else:
        assert found == expected
