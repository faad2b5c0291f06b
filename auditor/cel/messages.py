"""Protobuf messages that every environment knows: the well-known types. Each is a plain value in CEL.

For example, ``google.protobuf.Int64Value{value: 1}`` in a rule is the number 1.
Source: cel-go common/types/provider.go (NewValue), common/types/pb.
"""

from __future__ import annotations

from typing import Any, Final

from auditor.cel.cel_errors import CelError, GaveUp
from auditor.cel.cel_types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    wrapper_of,
)
from auditor.cel.cel_values import Duration, Message, Timestamp, UInt, is_list, is_map
from auditor.cel.operations.arithmetic import MAX_INT, MIN_INT
from auditor.cel.operations.native import BYTES_FIELD, ENUM, LIST, STRUCT, entries, items, native, run_time_type

_SECOND = 10**9
_STRUCT = map_of(STRING, DYN)
_WRAPPERS: Final[dict[str, tuple[Type, str, Any]]] = {
    "BoolValue": (BOOL, "bool", False),
    "BytesValue": (BYTES, BYTES_FIELD, b""),
    "DoubleValue": (DOUBLE, "float64", 0.0),
    "FloatValue": (DOUBLE, "float32", 0.0),
    "Int32Value": (INT, "int32", 0),
    "Int64Value": (INT, "int64", 0),
    "StringValue": (STRING, "string", ""),
    "UInt32Value": (UINT, "uint32", UInt(0)),
    "UInt64Value": (UINT, "uint64", UInt(0)),
}
"""Name to the type that is wrapped, the Go type of the field, and its default."""
_TARGETS: Final[dict[str, dict[str, str]]] = {
    **{name: {"value": target} for name, (_, target, _) in _WRAPPERS.items()},
    "Any": {"type_url": "string", "value": BYTES_FIELD},
    "Duration": {"seconds": "int64", "nanos": "int32"},
    "Timestamp": {"seconds": "int64", "nanos": "int32"},
    "Struct": {"fields": "map"},
    "ListValue": {"values": "list"},
    "Value": {
        "null_value": ENUM,
        "number_value": "float64",
        "string_value": "string",
        "bool_value": "bool",
        "struct_value": STRUCT,
        "list_value": LIST,
    },
}
"""Name to the Go types of the fields; ``map`` and ``list`` are fields with any number of values in JSON."""
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_PREFIX = "google.protobuf."

MESSAGES: dict[str, tuple[Type, dict[str, Type]]] = {
    **{f"{_PREFIX}{name}": (wrapper_of(kind), {"value": kind}) for name, (kind, _, _) in _WRAPPERS.items()},
    f"{_PREFIX}Any": (ANY, {"type_url": STRING, "value": BYTES}),
    f"{_PREFIX}Duration": (DURATION, {"seconds": INT, "nanos": INT}),
    f"{_PREFIX}Timestamp": (TIMESTAMP, {"seconds": INT, "nanos": INT}),
    f"{_PREFIX}Struct": (_STRUCT, {"fields": _STRUCT}),
    f"{_PREFIX}ListValue": (list_of(DYN), {"values": list_of(DYN)}),
    f"{_PREFIX}Value": (
        DYN,
        {
            "null_value": INT,
            "number_value": DOUBLE,
            "string_value": STRING,
            "bool_value": BOOL,
            "struct_value": _STRUCT,
            "list_value": list_of(DYN),
        },
    ),
}
"""Name to the type that the message is, and its fields."""

MESSAGE_OF: dict[str, str] = {
    "duration": f"{_PREFIX}Duration",
    "list": f"{_PREFIX}ListValue",
    "null_type": f"{_PREFIX}NullValue",
    "timestamp": f"{_PREFIX}Timestamp",
}
"""Other names of types, with the message whose fields the checker uses for them; such a message is never created."""
SCALARS = frozenset({"bool", "bytes", "double", "int", "string", "uint"})
"""Types that are not messages and have no fields (a map is not a message, but has all fields)."""


def make_message(name: str, fields: dict[str, Any]) -> Any:
    """Return the value of a message.

    Args:
        name: One of `MESSAGES`, another name of one, or ``google.protobuf.Empty``.
        fields: The given fields.

    Raises:
        CelError: A value does not fit its field, or the name is another one of the type.
        Cancelled: The server panics on a value.
    """
    if name in MESSAGE_OF:
        raise CelError(f"unknown type '{name}'")
    given = {field: _field(name, field, value) for field, value in fields.items()}
    short = name.removeprefix(_PREFIX)
    if short in _WRAPPERS:
        return given.get("value", _WRAPPERS[short][2])
    match short:
        case "Duration" | "Timestamp":
            nanos = given.get("seconds", 0) * _SECOND + given.get("nanos", 0)
            return Timestamp(nanos) if short == "Timestamp" else Duration(max(MIN_INT, min(nanos, MAX_INT)))
        case "Struct":
            return given.get("fields", {})
        case "ListValue":
            return given.get("values", [])
        case "Empty":
            return Message(name)
        case "Any":
            return _unpacked(given)
    kind = next(reversed(given), "null_value")
    return None if kind == "null_value" else given[kind]


def _field(name: str, field: str, value: Any) -> Any:
    """Return a value as a field of a message has it."""
    target = _TARGETS[name.removeprefix(_PREFIX)][field]
    where = f"{name}.{field}"
    convert = {"map": entries, "list": items}.get(target)
    if convert is not None and not (is_map(value) if target == "map" else is_list(value)):
        raise CelError(f"unsupported field type for {where}: {run_time_type(value)}")
    try:
        return native(value, target) if convert is None else convert(value)
    except CelError as error:
        raise CelError(f"field type conversion error for {where} value type: {error.text}") from None


def _unpacked(given: dict[str, Any]) -> Any:
    """Return the message in a ``google.protobuf.Any``.

    Raises:
        CelError: Its URL names no message.
        GaveUp: It may name one that the server knows.
    """
    url, value = given.get("type_url", ""), given.get("value", b"")
    if "." in url.rpartition("/")[2]:
        raise GaveUp(f"the message in a google.protobuf.Any is not read here: {url}")
    shown = [f'type_url:"{_quoted(url)}"'] if url else []
    shown += [f'value:"{_quoted(value.decode("utf-8", "surrogateescape"))}"'] if value else []
    raise CelError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){' '.join(shown)}")


def _quoted(text: str) -> str:
    """Return a text as protobuf's text format escapes it.

    Source: google.golang.org/protobuf internal/encoding/text/encode.go.
    """
    return "".join(_ESCAPES.get(letter) or _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x20 or code == 0x7F else letter
