"""Turns the conformance tests of the CEL specification into JSON that the tests here read.

The tests are text-format messages in the Go module `cel.dev/expr`, below `tests/simple/testdata`. Run as

    python tests/cel/convert_conformance.py FOLDER

with that folder; writes `conformance/*.json`, one per file. Tests that need messages other than the well-known types
are left out there, and counted in `conformance/left_out.json` under "files" with the reason; what is converted but does
not pass is there under "tests" (written by hand, and checked by `test_conformance.py`).
"""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "conformance"
SKIPPED_FILES = {
    "bindings_ext": "cel.bind is not in the server's environment",
    "block_ext": "cel.block is not in the server's environment",
    "encoders_ext": "base64 functions are not in the server's environment",
    "math_ext": "math functions are not in the server's environment",
    "proto2": "protobuf messages",
    "proto2_ext": "protobuf messages",
    "proto3": "protobuf messages",
    "unknowns": "holds no tests",
}
WELL_KNOWN = ("Duration", "Timestamp", "BoolValue", "BytesValue", "DoubleValue", "FloatValue", "Int32Value", "Int64Value",
              "StringValue", "UInt32Value", "UInt64Value", "Struct", "Value", "ListValue")  # fmt: skip

TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<any>\[[\w./]+\])"""
    r"""|(?P<word>[\w.+\-]+)|(?P<sign>[{}<>\[\]:,;])""",
    re.DOTALL,
)
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
SIMPLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Unsupported(Exception):
    """A test that cannot be converted, and why."""


def tokens(text: str) -> list[tuple[str, str]]:
    found = []
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        assert match, text[position : position + 40]
        position = match.end()
        if match.lastgroup:
            found.append((match.lastgroup, match.group()))
    return found


def unescaped(literal: str) -> bytes:
    def replace(match: re.Match[bytes]) -> bytes:
        part = match[1]
        if part[:1] == b"x":
            return bytes([int(part[1:], 16)])
        if part[:1] in b"01234567":
            return bytes([int(part, 8)])
        if part[:1] in b"uU" and len(part) > 1:
            return chr(int(part[1:], 16)).encode()
        return SIMPLE.get(part, part)

    return ESCAPE.sub(replace, literal[1:-1].encode())


class Reader:
    """Reads a text-format message as a list of (name, value); values are bytes, words, or such lists."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.position = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("", "")

    def next(self) -> tuple[str, str]:
        self.position += 1
        return self.tokens[self.position - 1]

    def message(self, end: str = "") -> list[tuple[str, Any]]:
        fields: list[tuple[str, Any]] = []
        while self.peek()[1] != end:
            name = self.next()[1]
            if self.peek()[1] == ":":
                self.next()
            fields += [(name, value) for value in self.values()]
            if self.peek()[1] in (",", ";"):
                self.next()
        if end:
            self.next()
        return fields

    def values(self) -> list[Any]:
        kind, text = self.peek()
        if text == "[" or (kind == "any" and self.tokens[self.position + 1][1] not in ("{", ":")):
            return self.list()
        return [self.value()]

    def list(self) -> list[Any]:
        self.next()
        found = []
        while self.peek()[1] != "]":
            found.append(self.value())
            if self.peek()[1] == ",":
                self.next()
        self.next()
        return found

    def value(self) -> Any:
        kind, text = self.next()
        if text in ("{", "<"):
            return self.message("}" if text == "{" else ">")
        if kind != "string":
            return text
        data = unescaped(text)
        while self.peek()[0] == "string":
            data += unescaped(self.next()[1])
        return data


def one(message: list[tuple[str, Any]], name: str, default: Any = None) -> Any:
    return next((value for key, value in message if key == name), default)


def many(message: list[tuple[str, Any]], name: str) -> list[Any]:
    return [value for key, value in message if key == name]


def well_known(message: list[tuple[str, Any]]) -> Any:
    ((url, fields),) = message
    name = url.strip("[]").rpartition(".")[2]
    if "google.protobuf." not in url or name not in WELL_KNOWN:
        raise Unsupported("protobuf messages")
    if name in ("Duration", "Timestamp"):
        return {name.lower(): [int(one(fields, "seconds", "0")), int(one(fields, "nanos", "0"))]}
    if name in ("Struct", "Value", "ListValue"):
        raise Unsupported("protobuf messages")
    raw = one(fields, "value")
    kind = {"Bool": "bool", "Bytes": "bytes", "Double": "double", "Float": "double", "Strin": "string"}
    family = next((target for prefix, target in kind.items() if name.startswith(prefix)), None)
    if family is None:
        family = "uint64" if name.startswith("UInt") else "int64"
    return plain(family, raw)


DEFAULTS = {"bool": "false", "bytes": b"", "double": "0", "string": b"", "int64": "0", "uint64": "0"}


def plain(kind: str, raw: Any) -> Any:
    raw = DEFAULTS[kind] if raw is None else raw
    match kind:
        case "bool":
            return raw == "true"
        case "bytes":
            return {"bytes": base64.b64encode(raw).decode()}
        case "string":
            return raw.decode()
        case "int64":
            return int(raw, 0)
        case "uint64":
            return {"uint": int(raw, 0)}
    return {"double": str(float(raw))}


def value(message: list[tuple[str, Any]]) -> Any:
    ((name, raw),) = message
    match name:
        case "null_value":
            return None
        case "list_value":
            return {"list": [value(item) for item in many(raw, "values")]}
        case "map_value":
            return {"map": [[value(one(entry, "key")), value(one(entry, "value"))] for entry in many(raw, "entries")]}
        case "type_value":
            return {"type": raw.decode()}
        case "object_value":
            return well_known(raw)
        case "enum_value":
            raise Unsupported("protobuf enumerations")
    return plain(name.removesuffix("_value"), raw)


PRIMITIVES = {
    "BOOL": "bool",
    "INT64": "int",
    "UINT64": "uint",
    "DOUBLE": "double",
    "STRING": "string",
    "BYTES": "bytes",
}
WRAPPED = {
    "TIMESTAMP": "google.protobuf.Timestamp",
    "DURATION": "google.protobuf.Duration",
    "ANY": "google.protobuf.Any",
}


def kind(message: list[tuple[str, Any]]) -> Any:
    ((name, raw),) = message
    match name:
        case "primitive":
            return PRIMITIVES[raw]
        case "well_known":
            return WRAPPED[raw]
        case "wrapper":
            return ["wrapper", PRIMITIVES[raw]]
        case "null":
            return "null_type"
        case "dyn":
            return "dyn"
        case "list_type":
            return ["list", kind(one(raw, "elem_type"))]
        case "map_type":
            return ["map", kind(one(raw, "key_type")), kind(one(raw, "value_type"))]
        case "type":
            return ["type", kind(raw)] if raw else "type"
        case "type_param":
            return "dyn"
        case "abstract_type":
            return [one(raw, "name").decode(), *map(kind, many(raw, "parameter_types"))]
        case "message_type":
            short = raw.decode().removeprefix("google.protobuf.")
            if short in ("Timestamp", "Duration"):
                return raw.decode()
            if short.removesuffix("Value") in ("Bool", "Bytes", "Double", "Int64", "String", "UInt64"):
                return ["wrapper", short.removesuffix("Value").lower().removesuffix("64")]
    raise Unsupported("protobuf messages")


NEEDS_MESSAGES = re.compile(
    r"TestAllTypes|NestedTestAllTypes|GlobalEnum|NestedEnum|cel\.expr\.conformance|TestRequired"
)


def test_case(section: str, message: list[tuple[str, Any]]) -> dict[str, Any]:
    expression = one(message, "expr").decode()
    container = one(message, "container", b"").decode()
    if NEEDS_MESSAGES.search(expression):
        raise Unsupported("protobuf messages")
    if one(message, "disable_macros") == "true":
        raise Unsupported("parses without macros")
    case: dict[str, Any] = {"name": f"{section}/{one(message, 'name').decode()}", "expr": expression}
    if container:
        case["container"] = container
    if one(message, "disable_check") == "true":
        case["unchecked"] = True
    variables = {}
    for declaration in many(message, "type_env"):
        ident = one(declaration, "ident")
        if ident is None:
            raise Unsupported("declares functions")
        variables[one(declaration, "name").decode()] = kind(one(ident, "type"))
    if variables:
        case["variables"] = variables
    bindings = {
        one(entry, "key").decode(): value(one(one(entry, "value"), "value")) for entry in many(message, "bindings")
    }
    if bindings:
        case["bindings"] = bindings
    return case | expected(message)


def expected(message: list[tuple[str, Any]]) -> dict[str, Any]:
    typed = one(message, "typed_result")
    if typed is not None:
        found: dict[str, Any] = {"deduced": kind(one(typed, "deduced_type"))}
        result = one(typed, "result")
        if one(message, "check_only") != "true" and result is not None:
            found["value"] = value(result)
        return found
    if one(message, "eval_error") is not None or one(message, "any_eval_errors") is not None:
        errors = many(one(message, "eval_error") or [], "errors")
        return {"error": one(errors[0], "message").decode() if errors and one(errors[0], "message") else ""}
    if one(message, "unknown") is not None or one(message, "any_unknowns") is not None:
        raise Unsupported("unknown values")
    given = one(message, "value")
    return {"value": True if given is None else value(given)}


def number_repeated(cases: list[dict[str, Any]]) -> None:
    """Make names unique."""
    seen: dict[str, int] = {}
    for case in cases:
        name = case["name"]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            case["name"] = f"{name}#{seen[name]}"


def convert(folder: Path) -> None:
    left_out: dict[str, Any] = {}
    for path in sorted(folder.glob("*.textproto")):
        suite = Reader(path.read_text(encoding="utf-8")).message()
        tests = [
            (one(section, "name").decode(), test)
            for section in many(suite, "section")
            for test in many(section, "test")
        ]
        reasons: dict[str, int] = {}
        cases = []
        for section, test in tests:
            reason = SKIPPED_FILES.get(path.stem)
            if reason is None:
                try:
                    cases.append(test_case(section, test))
                    continue
                except Unsupported as why:
                    reason = str(why)
            reasons[reason] = reasons.get(reason, 0) + 1
        left_out[path.stem] = {"tests": len(tests), "converted": len(cases), "left_out": reasons}
        number_repeated(cases)
        if cases:
            lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
            (HERE / f"{path.stem}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    target = HERE / "left_out.json"
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {"tests": {}}
    target.write_text(json.dumps({"files": left_out, "tests": known["tests"]}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    convert(Path(sys.argv[1]))
