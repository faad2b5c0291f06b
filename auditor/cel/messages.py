"""Protobuf messages that every environment knows: the well-known types. Each is a plain value in CEL.

For example, ``google.protobuf.Int64Value{value: 1}`` in a rule is the number 1.
Source: cel-go common/types/provider.go (NewValue), common/types/pb.
"""

from __future__ import annotations

import struct
from typing import Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import (
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
from auditor.cel.cel_values import Duration, UInt
from auditor.cel.operations.arithmetic import MAX_INT, MIN_INT, timestamp_of

_SECOND = 10**9
_STRUCT = map_of(STRING, DYN)
_WRAPPERS: dict[str, tuple[Type, Any]] = {
    "BoolValue": (BOOL, False),
    "BytesValue": (BYTES, b""),
    "DoubleValue": (DOUBLE, 0.0),
    "FloatValue": (DOUBLE, 0.0),
    "Int32Value": (INT, 0),
    "Int64Value": (INT, 0),
    "StringValue": (STRING, ""),
    "UInt32Value": (UINT, UInt(0)),
    "UInt64Value": (UINT, UInt(0)),
}
_PREFIX = "google.protobuf."

MESSAGES: dict[str, tuple[Type, dict[str, Type]]] = {
    **{f"{_PREFIX}{name}": (wrapper_of(kind), {"value": kind}) for name, (kind, _) in _WRAPPERS.items()},
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
        name: One of `MESSAGES`.
        fields: The given fields, of the declared types.

    Raises:
        CelError: A number does not fit its field, or the name is another one of the type.
    """
    if name in MESSAGE_OF:
        raise CelError(f"unknown type '{name}'")
    short = name.removeprefix(_PREFIX)
    wrapped = _WRAPPERS.get(short)
    if wrapped is not None:
        return _narrow(short, fields.get("value", wrapped[1]))
    if short in ("Duration", "Timestamp"):
        nanos = fields.get("seconds", 0) * _SECOND + fields.get("nanos", 0)
        if short == "Timestamp":
            return timestamp_of(nanos)
        if not MIN_INT <= nanos <= MAX_INT:
            raise CelError("duration overflow")
        return Duration(nanos)
    if short == "Struct":
        return fields.get("fields", {})
    if short == "ListValue":
        return fields.get("values", [])
    kind = next(reversed(fields), "null_value")
    return None if kind == "null_value" else fields[kind]


def _narrow(short: str, value: Any) -> Any:
    if short == "Int32Value" and not -(2**31) <= value < 2**31:
        raise CelError("integer overflow")
    if short == "UInt32Value" and value >= 2**32:
        raise CelError("unsigned integer overflow")
    if short == "FloatValue":
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value
