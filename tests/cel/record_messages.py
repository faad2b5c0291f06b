"""Expressions that make protobuf messages of values of every type, and what the server's libraries answer to each.

    python -m tests.cel.record_messages

Writes `messages.jsonl.gz`: a line is an expression and its value and cost, its error and cost, or why it does not compile.
Left out are expressions with several answers (of a map with two values that fail, Go takes any).
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from tests.reference.make import build

RECORDED = Path(__file__).parent / "messages.jsonl.gz"
DRAWN = 900
TEXT: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "i": INTEGER,
        "s": TEXT,
        "x": {"x-kubernetes-int-or-string": True},
        "time": {"type": "string", "format": "date-time"},
        "bytes": {"type": "string", "format": "byte"},
        "texts": {"type": "array", "items": TEXT},
        "numbers": {"type": "array", "items": INTEGER},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "map": {"type": "object", "additionalProperties": INTEGER},
        "object": {"type": "object", "properties": {"p": INTEGER, "q": TEXT}},
        "unknown": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
SELF: dict[str, Any] = {
    "i": 5, "s": "t", "x": 3, "time": "2020-01-01T00:00:00Z", "bytes": "YQ==", "texts": ["x", "y"], "numbers": [1, 2],
    "set": ["p"], "map": {"k": 7}, "object": {"p": 1, "q": "r"}, "unknown": {"a": 1},
}  # fmt: skip
FIELDS = {
    "Any": ("type_url", "value"),
    "Duration": ("seconds", "nanos"),
    "Timestamp": ("seconds", "nanos"),
    "Struct": ("fields",),
    "ListValue": ("values",),
    "Value": ("null_value", "number_value", "string_value", "bool_value", "struct_value", "list_value"),
    **{
        f"{name}Value": ("value",)
        for name in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
    },
}
VALUES = (
    "null", "true", "1", "-3", "4294967296", "9007199254740991", "-9007199254740992", "1u", "4294967296u",
    "18446744073709551615u", "1.5", "1e300", "16777217.0", "0.0/0.0", "'a'", "''", "b'a'", "b'\\xff'", "[]", "[1u, 255u]",
    "[1u] + [256u]", "['a']", "[[1]]", "[null]", "{}", "{'a': 1}", "{1: 2}", "{'a': null}", "{'a': b'b'}", "{true: 1}",
    "{'values': [1, 2]}", "{'Values': [1]}", "{'some_values': 1}", "duration('1.5s')", "duration('-1h')",
    "timestamp('2020-01-01T00:00:00.5+02:00')", "type(1)", "optional.of(1)", "optional.none()", "[optional.none()]",
    "[optional.of(1)]", "[type(1)]", "quantity('1000m')", "quantity('1Ki').add(1)", "{'q': quantity('1')}",
    "url('https://a/b?c=d')", "ip('10.0.0.1')", "cidr('10.0.0.0/8')", "semver('1.2.3')", "format.dns1123Label()",
    "self.i", "self.s", "self.x", "self.time", "self.bytes", "self.texts", "self.numbers", "self.set", "self.map",
    "self.object", "self.unknown", "self.set + ['b']", "self.numbers + [3]", "self.numbers.map(x, x)", "self.missing",
    "google.protobuf.Empty{}", "google.protobuf.Value{}", "google.protobuf.StringValue{}", "[google.protobuf.Empty{}]",
)  # fmt: skip
FORMS = (
    "google.protobuf.{}{{{}: dyn({})}}", "google.protobuf.{}{{?{}: optional.of(dyn({}))}}", "google.protobuf.{}{{{}: {}}}",
    "google.protobuf.Struct{{fields: {{'m': google.protobuf.{}{{{}: dyn({})}}}}}}",
)  # fmt: skip
GIVEN = (
    "Any{}", "Any{} == null", "type(Any{})", "Any{type_url: 'a'}", "Any{value: b'\\xff\\x00\\n\"'}", "Any{} + 1", "Any{}.a",
    "Any{type_url: 'é\\n\\t\"\\u0001\\u007f\\\\'}", "Any{nope: 1}", "[1, Any{}]", "[Any{}]", "true || Any{} == null",
    "self.texts.all(x, Any{} == x)", "has(Any{}.a)", "Any{} ? 1 : 2", "StringValue{} == Any{}", "Any{}.all(x, true)",
    "Int32Value{value: Any{}}", "Empty{}", "Empty{a: 1}", "type(Empty{})", "Empty{} == Empty{}", "Empty{}.a",
    "has(Empty{}.a)", "dyn(Empty{}).a", "has(dyn(Empty{}).a)", "string(Empty{})", "dyn(Empty{}) == 1", "Empty{} == null",
    "Empty", "type(Empty{}) == Empty", "Any", "NullValue{}", "FieldMask{}", "StringValue{value: 'a', value: 'b'}",
    "Struct{fields: {'a': 1}}.a", "Struct{fields: {'a': 1}}['a'] == 1", "type(Struct{fields: {'a': 1}}.a)",
    "ListValue{values: [1]}[0] == 1.0", "Value{number_value: 1.0} == 1", "Duration{seconds: 1, nanos: 5}",
    "Duration{nanos: 2147483648}", "Duration{seconds: 9223372036854775807}", "Duration{seconds: 1, nanos: -5}",
    "Duration{seconds: -9223372037}", "Timestamp{seconds: 253402300800}", "Timestamp{seconds: -62135596801}",
    "Timestamp{nanos: -1}", "Timestamp{seconds: 1, nanos: 2000000000}", "Value{null_value: 2147483648}",
    "Value{null_value: NullValue.NULL_VALUE}", "StringValue{value: StringValue{value: 'a'}}", "StringValue{value: null}",
    "BoolValue{?value: optional.none()}", "Int64Value{?value: 1}",
)  # fmt: skip

NAMES = re.compile(rf"\b(?:{'|'.join([*FIELDS, 'Empty', 'NullValue', 'FieldMask'])})\b")


def expressions() -> list[str]:
    """Return the expressions, always the same."""
    texts = [NAMES.sub(r"google.protobuf.\g<0>", text) for text in GIVEN]
    fields = [(message, name) for message, of_message in FIELDS.items() for name in of_message]
    drawn = [form.format(*place, value) for form, place, value in product(FORMS, fields, VALUES)]
    return [*texts, *Random(44).sample(drawn, DRAWN)]


def asked(program: Path, given: list[str]) -> list[dict[str, Any]]:
    """Return what the program answers to each expression."""
    lines = "".join(json.dumps({"expression": text, "self": SELF, "schema": SCHEMA}) + "\n" for text in given)
    done = subprocess.run([program, "cel"], input=lines, check=True, capture_output=True, text=True)
    return [_expected(json.loads(line)) for line in done.stdout.splitlines()]


def _expected(answer: dict[str, Any]) -> dict[str, Any]:
    if "compile" in answer:
        return {"compile": answer["compile"].removeprefix("program instantiation failed: ")}
    return {key: answer[key] for key in (("error", "cost") if "error" in answer else ("value", "cost"))}


def record() -> None:
    """Write the file."""
    program, given = build(), expressions()
    answers = [asked(program, given) for _ in range(6)]
    lines = [
        json.dumps({"expression": text, "expect": found[0]}, ensure_ascii=False)
        for text, found in zip(given, zip(*answers, strict=True), strict=True)
        if all(answer == found[0] for answer in found)
    ]
    RECORDED.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    record()
