"""The conformance tests of the CEL specification, as far as a Kubernetes server has what they need.

`conformance/*.json` is made by `convert_conformance.py`; `conformance/left_out.json` names, with the reason, every test
that does not pass, and the test here fails if one of them does.
"""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from typing import Any

from auditor.cel.cel_errors import CelError, CompileError
from auditor.cel.cel_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    opaque,
    wrapper_of,
)
from auditor.cel.cel_types import (
    type_of as type_type,
)
from auditor.cel.cel_values import MISSING, Duration, MapValue, Timestamp, TypeValue, UInt, is_list, is_map
from auditor.cel.environment import Environment
from auditor.cel.kubernetes import kubernetes_libraries
from auditor.cel.operations.equality import find, size_of, type_of
from tests.cases import of_each

FOLDER = Path(__file__).resolve().parent / "conformance"
LEFT_OUT = json.loads((FOLDER / "left_out.json").read_text(encoding="utf-8"))
SIMPLE = {kind.name: kind for kind in (BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, TYPE, UINT)}


def all_cases() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        if path.stem != "left_out":
            cases = json.loads(path.read_text(encoding="utf-8"))
            found += [(f"{path.stem}/{case['name']}", case) for case in cases]
    return found


CASES = all_cases()


def decoded_type(form: Any) -> Type:
    if isinstance(form, str):
        return SIMPLE[form]
    name, *parameters = form
    inner = [decoded_type(each) for each in parameters]
    match name:
        case "list":
            return list_of(inner[0])
        case "map":
            return map_of(*inner)
        case "type":
            return type_type(inner[0])
        case "wrapper":
            return wrapper_of(inner[0])
    return opaque(name, *inner)


def decoded(form: Any) -> Any:
    if not isinstance(form, dict):
        return form
    ((kind, raw),) = form.items()
    match kind:
        case "bytes":
            return base64.b64decode(raw)
        case "uint":
            return UInt(raw)
        case "double":
            return float(raw)
        case "type":
            return TypeValue(raw)
        case "duration":
            return Duration(raw[0] * 10**9 + raw[1])
        case "timestamp":
            return Timestamp(raw[0] * 10**9 + raw[1])
        case "list":
            return [decoded(item) for item in raw]
    return MapValue.of([(decoded(key), decoded(item)) for key, item in raw])


def same(left: Any, right: Any) -> bool:
    """Equal and of one type, as protobuf messages are compared; NaN is NaN."""
    if is_list(left) and is_list(right):
        return size_of(left) == size_of(right) and all(map(same, left, right))
    if is_map(left) and is_map(right):
        keys = left if type(left) is dict else left.cel_iter()
        pairs = [(find(left, key), find(right, key)) for key in keys]
        return size_of(left) == size_of(right) and all(
            theirs is not MISSING and same(mine, theirs) for mine, theirs in pairs
        )
    if type(left) is float and type(right) is float and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and bool(left == right)


def complaint(case: dict[str, Any]) -> str | None:
    """What is wrong with the outcome of a test; None if nothing is."""
    variables = {name: decoded_type(form) for name, form in case.get("variables", {}).items()}
    bindings = {name: decoded(form) for name, form in case.get("bindings", {}).items()}
    if case.get("unchecked"):
        variables = dict.fromkeys(bindings, DYN) | variables
    environment = Environment(variables, kubernetes_libraries(), checks_literals=False)
    try:
        program = environment.compile(case["expr"])
    except CompileError as error:
        if "error" in case and not error.issues:
            return None  # the server computes constant parts beforehand: the error is the same, but comes earlier
        return f"does not compile: {error}"
    if "deduced" in case and program.checked.type != decoded_type(case["deduced"]):
        return f"has type {program.checked.type}"
    if not {"value", "error"} & case.keys():
        return None
    value, _ = program.evaluate(bindings)
    if "error" in case:
        return None if isinstance(value, CelError) else f"gives {value!r}, no error"
    if isinstance(value, CelError):
        return f"fails: {value}"
    return None if same(value, decoded(case["value"])) else f"gives {value!r} of type {type_of(value).name}"


@of_each("name, case", CASES)
def test_specification_holds(name: str, case: dict[str, Any]) -> None:
    wrong = complaint(case)
    if name in LEFT_OUT["tests"]:
        assert wrong is not None, "passes, though listed as left out"
    else:
        assert wrong is None, f"{case['expr']} {wrong}"


def test_every_test_of_the_specification_is_accounted_for() -> None:
    assert set(LEFT_OUT["tests"]) <= {name for name, _ in CASES}
    for file, counts in LEFT_OUT["files"].items():
        converted = sum(name.startswith(f"{file}/") for name, _ in CASES)
        assert converted == counts["converted"]
        assert converted + sum(counts["left_out"].values()) == counts["tests"]
