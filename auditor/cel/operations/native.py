"""Values as the Go values that fields of protobuf messages have.

A value of type dyn can be given to any field; cel-go converts it to the Go type of the field or fails, with a text that
depends on both.
Source: cel-go common/types (ConvertToNative of each type); apiserver pkg/cel, pkg/cel/common/valuesunstructured.go.
"""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import Kind
from auditor.cel.cel_values import Duration, Message, Optional_, Timestamp, TypeValue, UInt, is_list, is_map
from auditor.cel.operations.conversions import format_duration, format_timestamp, to_string
from auditor.cel.operations.cost import panicked
from auditor.cel.operations.equality import find, type_of
from auditor.cel.operations.go_names import go_type

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES_FIELD: Final = "[]uint8"
ENUM: Final = "protoreflect.EnumNumber"
VALUE: Final = "*structpb.Value"
STRUCT: Final = "*structpb.Struct"
LIST: Final = "*structpb.ListValue"

_MOST_JSON: Final = 2**53 - 1
_FAILURES: Final = {
    bool: "type conversion error from bool to '{}'",
    int: "unsupported type conversion from 'int' to {}",
    UInt: "unsupported type conversion from 'uint' to {}",
    float: "type conversion error from Double to '{}'",
    str: "unsupported native conversion from string to '{}'",
    bytes: "type conversion error from Bytes to '{}'",
    type(None): "type conversion error from 'null_type' to '{}'",
    Duration: "type conversion error from 'Duration' to '{}'",
    Timestamp: "type conversion error from 'Timestamp' to '{}'",
    Message: "type conversion error from '*dynamicpb.Message' to '{}'",
    TypeValue: "type conversion not supported for 'type'",
}
_INTEGERS: Final = {
    (int, "int32"): (-(2**31), 2**31, "integer overflow"),
    (int, ENUM): (-(2**31), 2**31, "integer overflow"),
    (int, "int64"): (-(2**63), 2**63, ""),
    (UInt, "uint8"): (0, 2**8, "unsigned integer overflow"),
    (UInt, "uint32"): (0, 2**32, "unsigned integer overflow"),
    (UInt, "uint64"): (0, 2**64, ""),
}
_UNCHANGED: Final = {(bool, "bool"), (float, "float64"), (str, "string"), (bytes, BYTES_FIELD)}
_OF_SCHEMAS: Final = "*common."


def run_time_type(value: Any) -> str:
    """Return the type of a value as cel-go prints it at run time."""
    found = type_of(value)
    return found.name if found.kind in (Kind.NULL, Kind.DURATION, Kind.TIMESTAMP) else str(found)


def native(value: Any, target: str) -> Any:
    """Return a value as a field of a Go type has it, again as a value of CEL.

    Args:
        value: Any value.
        target: The name of the Go type.

    Raises:
        CelError: It has no such form.
        Cancelled: The server panics.
    """
    kind = type(value)
    if isinstance(value, CelError):
        raise value
    if kind is Optional_:
        if not value.has:
            raise CelError("optional.none() dereference")
        return native(value.value, target)
    if (kind, target) in _UNCHANGED:
        return value
    if (kind, target) in _INTEGERS:
        low, high, overflow = _INTEGERS[(kind, target)]
        if not low <= value < high:
            raise CelError(overflow)
        return value
    if kind is float and target == "float32":
        return _single(value)
    if kind in _FAILURES:
        if target == VALUE and kind is not TypeValue:
            return _json(value)
        if kind is Message and target in (STRUCT, LIST):
            names = f"google.protobuf.{target.removeprefix('*structpb.')}, {value.name}"
            raise CelError(f"type conversion error: pb.Merge() arguments must be the same type. got: {names}")
        raise CelError(_FAILURES[kind].format(target))
    if is_list(value):
        return _of_list(value, target)
    if is_map(value):
        return _of_map(value, target)
    return _of_library(value, target)


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _json(value: Any) -> Any:
    """Return a value that is neither a list nor a map in JSON: a number is a double."""
    kind = type(value)
    if kind in (int, UInt):
        return float(value) if abs(value) <= _MOST_JSON else to_string(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Duration:
        return format_duration(value)
    if kind is Timestamp:
        return format_timestamp(value)
    return {} if kind is Message else value


def _items(value: Any) -> Iterator[Any]:
    """Yield the items of a list or the keys of a map."""
    return iter(value) if type(value) in (list, dict) else value.cel_iter()


def entries(value: Any) -> dict[str, Any]:
    """Return a map with texts as keys and values in JSON.

    Raises:
        CelError: A key is no text, or a value has no form in JSON.
        Cancelled: The server panics on a key that the schema does not declare.
    """
    if go_type(value).startswith(_OF_SCHEMAS) and None in _items(value):
        raise panicked("runtime error: invalid memory address or nil pointer dereference")
    return {native(key, "string"): native(find(value, key), VALUE) for key in _items(value)}


def items(value: Any) -> list[Any]:
    """Return a list with its items in JSON.

    Raises:
        CelError: An item has no form in JSON.
    """
    return [native(item, VALUE) for item in _items(value)]


def _of_list(value: Any, target: str) -> Any:
    if go_type(value).startswith(f"{_OF_SCHEMAS}unstructured"):
        if target != BYTES_FIELD:
            raise CelError(f"type conversion error from '{run_time_type(value)}' to '{target}'")
        is_of_texts = bool(value.raw) and all(type(item) is str for item in value.raw)
        raise panicked(f"invalid type: {'[]string' if is_of_texts else '[]interface {}'}")
    if target == BYTES_FIELD:
        return bytes(native(item, "uint8") for item in _items(value))
    if target in (VALUE, LIST):
        return items(value)
    raise CelError(f"type conversion error from list to '{target}'")


def _of_map(value: Any, target: str) -> Any:
    if go_type(value).startswith(_OF_SCHEMAS):
        raise CelError(f"type conversion error from '{run_time_type(value)}' to '{target}'")
    if target in (VALUE, STRUCT):
        return entries(value)
    if target == LIST:
        return _as_struct(value)
    raise CelError(f"type conversion error from map to '{target}'")


def _as_struct(value: Any) -> list[Any]:
    """Return the list that a map is as a Go struct: its one field is ``Values``."""
    made: list[Any] = []
    for key in _items(value):
        name = _exported(to_string(key))
        if name != "Values":
            raise CelError(f"type conversion error, no such field '{name}' in type 'structpb.ListValue'")
        given = find(value, key)
        if not is_list(given):
            native(given, f"[]{VALUE}")
        made = items(given)
    return made


def _exported(key: str) -> str:
    """Return the name of the field of a Go struct for a key: upper camel case.

    Source: cel-go common/types/map.go (upperCamelCase).
    """
    name, before = "", "_"
    for letter in key.strip():
        if letter not in "_-":
            name += letter.upper() if before in "_-" else letter if "a" <= before <= "z" else letter.lower()
        before = letter
    return name


def _of_library(value: Any, target: str) -> Any:
    """Return the text of a value of a library, or fail."""
    name = go_type(value).removeprefix("*").removeprefix("cel.")
    if name == "common.unknownPreserved":
        text = (
            f"type conversion to '{target}' not supported for values preserved by x-kubernetes-preserve-unknown-fields"
        )
        raise CelError(text)
    if target == "string" and name != "Format":
        return str(value)
    raise CelError(f"type conversion error from '{name}' to '{target}'")
