"""What the server's libraries (k8s.io/apiserver v0.37.2, cel-go v0.29.2) answered to some 1,000 drawn expressions.

`recorded.jsonl` holds one case a line: the expression, its one variable `self` (dyn), the value or the error, and the
cost; the line with `SELF` gives the value of `self` of the cases that refer to it. Values are written in the notation
of `written`, in which no two kinds of value look the same.
"""

import base64
import functools
import json
import math
import struct
from pathlib import Path

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import DYN
from auditor.cel.cel_values import Duration, MapValue, Optional_, Timestamp, TypeValue, UInt
from auditor.cel.kubernetes import kubernetes_environment
from auditor.cel.library.cidr import Cidr
from auditor.cel.library.ip import IpAddress
from auditor.cel.library.named_formats import NamedFormat
from auditor.cel.library.quantity import Quantity
from auditor.cel.library.semver import Semver
from auditor.cel.library.urls import UrlValue
from tests.cases import of_each

ENVIRONMENT = kubernetes_environment({"self": DYN})


def read_cases():
    lines = (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    shared = next(case["SELF"] for case in cases if "SELF" in case)
    cases = [case for case in cases if "expr" in case]
    return [{**case, "self": shared if case["self"] == "SELF" else case["self"]} for case in cases]


def written(value):
    """Return a value in the notation of the recorded answers; quantities, whose spelling is not kept, as `quantity`."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case UInt():
            return f"{int(value)}u"
        case int():
            return str(value)
        case float():
            return f"double({struct.unpack('>Q', struct.pack('>d', value))[0]:x})"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        case bytes():
            return f"bytes({base64.b64encode(value).decode()})"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case dict():
            return _entries(value.items())
        case MapValue():
            return _entries((key, value.cel_find(key)) for key in value.cel_iter())
        case Duration():
            return f"duration({value.nanos})"
        case Timestamp():
            assert value.nanos % 10**9 == 0, "whole seconds are all that was drawn"
            return f"timestamp({value.nanos // 10**9})"
        case Optional_():
            return f"optional({written(value.value)})" if value.has else "optional.none"
        case TypeValue():
            return f"type({value.name})"
        case Quantity():
            return "quantity"
        case IpAddress():
            return f"ip({value})"
        case Cidr():
            return f"cidr({value})"
        case UrlValue():
            return f"url({written(str(value))})"
        case Semver():
            return f"semver({value})"
        case NamedFormat():
            return f"format({value.name})"
    raise AssertionError(f"a value of no known kind: {value!r}")


def _entries(entries):
    return f"{{{', '.join(sorted(f'{written(key)}: {written(value)}' for key, value in entries))}}}"


@functools.cache
def program(expression):
    return ENVIRONMENT.compile(expression)


@of_each("case", read_cases(), ids=lambda case: case["expr"][:60])
def test_the_answer_is_the_servers(case):
    value, cost = program(case["expr"]).evaluate({"self": case["self"]})
    if isinstance(value, CelError):
        assert value.text == case.get("error")
    else:
        assert written(value) == case.get("value")
    assert cost == case["cost"]


def test_the_notation_tells_kinds_apart():
    values = [1, UInt(1), 1.0, True, "1", b"1", None, [1], {"1": 1}, MapValue.of([(1, 1)]), Optional_.of(1), math.nan]
    assert len({written(value) for value in values}) == len(values)
