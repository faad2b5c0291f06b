"""Decodes a JSON value into a Go type as the server does: wrong types, null, unknown keys, error messages.

The server decodes definitions and metadata into Go structs. A wrong type does not stop the decoding; the first one is
reported at the end. A type with its own decoder (times, items) stops the decoding at once, and its error replaces the
other. A null field counts as absent. Keys are case-sensitive; unknown ones vanish and can be listed.

Source: sigs.k8s.io/json (case-sensitive fork of encoding/json), decode.go and kubernetes_patch.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject


MAX_UNKNOWN: Final = 100
"""Largest number of unknown fields that one decoding lists."""

_INTEGER = re.compile(r"-?[0-9]+\Z")


class GoTypeError(Exception):
    """A value does not fit its Go type; the text is Go's."""


class GoKind(Enum):
    """The kinds of Go types."""

    STRING = auto()
    BOOL = auto()
    INT = auto()
    FLOAT = auto()
    STRUCT = auto()
    LIST = auto()
    MAP = auto()
    BYTES = auto()
    RAW = auto()
    CUSTOM = auto()


class GoType:
    """One Go type.

    Attributes:
        name: As Go prints it, e.g. ``v1.ObjectMeta`` or ``[]string``.
        fields: JSON key to type, of a struct.
        element: Type of items of a list or values of a map.
        bits: Width of an integer.
        read: The decoder of a type that has its own, for values other than null.
        zero: Its value if a list item or map value is null.
    """

    __slots__ = ("bits", "element", "fields", "name", "read", "shape", "zero")

    def __init__(
        self,
        name: str,
        shape: GoKind,
        *,
        element: GoType | None = None,
        bits: int = 64,
        read: Callable[[TypedDecoder, Any], Any] | None = None,
        zero: Callable[[], Any] = lambda: None,
    ) -> None:
        self.name = name
        self.shape = shape
        self.element = element
        self.fields: dict[str, GoType] = {}
        self.bits = bits
        self.read = read
        self.zero = zero

    def __repr__(self) -> str:
        return f"GoType({self.name})"


STRING: Final = GoType("string", GoKind.STRING, zero=str)
BOOL: Final = GoType("bool", GoKind.BOOL, zero=bool)
INT64: Final = GoType("int64", GoKind.INT, zero=int)
INT32: Final = GoType("int32", GoKind.INT, bits=32, zero=int)
FLOAT64: Final = GoType("float64", GoKind.FLOAT, zero=float)
BYTES: Final = GoType("[]uint8", GoKind.BYTES)
RAW: Final = GoType("interface {}", GoKind.RAW)


def named_string(name: str) -> GoType:
    """Return a named string type."""
    return GoType(name, GoKind.STRING, zero=str)


def list_of(element: GoType) -> GoType:
    """Return the type of a list."""
    return GoType(f"[]{element.name}", GoKind.LIST, element=element)


def map_of(element: GoType, name: str = "") -> GoType:
    """Return the type of a map with string keys."""
    return GoType(name or f"map[string]{element.name}", GoKind.MAP, element=element)


def struct(name: str, fields: dict[str, GoType] | None = None) -> GoType:
    """Return a struct type; its fields can be added later, so that it may contain itself."""
    made = GoType(name, GoKind.STRUCT, zero=dict)
    made.fields.update(fields or {})
    return made


def literal_of(number: float) -> str:
    """Return the spelling of a number in a document; for floats, any spelling that is not an integer."""
    return repr(number)


class TypedDecoder:
    """One decoding; it has the first error, and its position.

    Args:
        number: Spelling of a float in the JSON text that Go would see.
        unknown: Collects dotted paths of unknown fields, or None.
    """

    __slots__ = ("_place", "_saved", "_shown", "_stack", "_struct", "number", "unknown")

    def __init__(self, number: Callable[[float], str] = literal_of, unknown: list[str] | None = None) -> None:
        self.number = number
        self.unknown = unknown
        self._saved: str | None = None
        self._struct = ""
        self._shown = ""
        self._stack: list[str] = []
        self._place = ""

    def decode(self, value: Any, go_type: GoType) -> Any:
        """Return the typed value: structs as dicts of their known keys that are not null.

        Raises:
            GoTypeError: The text is Go's.
        """
        made = self._value(value, go_type)
        if self._saved is not None:
            raise GoTypeError(self._saved)
        return made

    def type_error(self, word: str, go_type: str) -> str:
        """Return Go's text for a value of the wrong type at the current position."""
        if self._struct:
            field = f"{self._shown or self._struct}.{'.'.join(self._stack)}"
            return f"json: cannot unmarshal {word} into Go struct field {field} of type {go_type}"
        return f"json: cannot unmarshal {word} into Go value of type {go_type}"

    def nested(self, value: Any, go_type: GoType) -> Any:
        """Decode separately, as types with their own decoder do: an error stops everything and names the outer type."""
        inner = TypedDecoder(self.number)
        inner._struct, inner._stack = self._struct, list(self._stack)
        inner._shown = self._shown or self._struct
        return inner.decode(value, go_type)

    def _save(self, word: str, go_type: GoType) -> Any:
        if self._saved is None:
            self._saved = self.type_error(word, go_type.name)
        return go_type.zero()

    def _value(self, value: Any, go_type: GoType) -> Any:
        if value is None:
            return go_type.zero()
        shape = go_type.shape
        if shape is GoKind.STRING:
            return value if type(value) is str else self._save(word_of(value), go_type)
        if shape is GoKind.STRUCT:
            return self._struct_value(value, go_type) if type(value) is dict else self._save(word_of(value), go_type)
        if shape is GoKind.MAP:
            return self._map_value(value, go_type) if type(value) is dict else self._save(word_of(value), go_type)
        if shape is GoKind.LIST:
            return self._list_value(value, go_type) if type(value) is list else self._save(word_of(value), go_type)
        if shape is GoKind.BOOL:
            return value if type(value) is bool else self._save(word_of(value), go_type)
        if shape is GoKind.RAW:
            return value
        if shape is GoKind.CUSTOM:
            assert go_type.read is not None
            return go_type.read(self, value)
        if shape is GoKind.BYTES:
            return self._bytes_value(value, go_type)
        return self._number_value(value, go_type)

    def _number_value(self, value: Any, go_type: GoType) -> Any:
        if type(value) is not int and type(value) is not float:
            return self._save(word_of(value), go_type)
        if go_type.shape is GoKind.FLOAT:
            return float(value)
        text = str(value) if type(value) is int else self.number(value)
        limit = 1 << (go_type.bits - 1)
        if _INTEGER.match(text) and -limit <= int(text) < limit:
            return int(text)
        return self._save(f"number {text}", go_type)

    def _bytes_value(self, value: Any, go_type: GoType) -> Any:
        if type(value) is not str:
            return self._save(word_of(value), go_type)
        try:
            return base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            if self._saved is None:
                self._saved = "illegal base64 data"
            return b""

    def _list_value(self, value: list[Any], go_type: GoType) -> list[Any]:
        element = go_type.element
        assert element is not None
        if self.unknown is None:
            return [self._value(item, element) for item in value]
        made, place = [], self._place
        for index, item in enumerate(value):
            self._place = f"{place}[{index}]"
            made.append(self._value(item, element))
        self._place = place
        return made

    def _map_value(self, value: JsonObject, go_type: GoType) -> JsonObject:
        element = go_type.element
        assert element is not None
        if self.unknown is None:
            return {key: self._value(item, element) for key, item in value.items()}
        made, place = {}, self._place
        for key, item in value.items():
            self._place = f"{place}.{key}" if place else key
            made[key] = self._value(item, element)
        self._place = place
        return made

    def _struct_value(self, value: JsonObject, go_type: GoType) -> JsonObject:
        made: JsonObject = {}
        fields, stack, place, outer = go_type.fields, self._stack, self._place, self._struct
        text = GoKind.STRING
        name = go_type.name.rpartition(".")[2]
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                if self.unknown is not None and len(self.unknown) < MAX_UNKNOWN:
                    self.unknown.append(f"{place}.{key}" if place else key)
                continue
            if item is None:
                continue
            if field.shape is text and type(item) is str:  # the common case, which cannot be wrong
                made[key] = item
                continue
            self._struct = name
            stack.append(key)
            if self.unknown is not None:
                self._place = f"{place}.{key}" if place else key
            made[key] = self._value(item, field)
            stack.pop()
        self._struct, self._place = outer, place
        return made


def word_of(value: Any) -> str:
    """Return the name of a JSON value in Go's errors."""
    if type(value) is str:
        return "string"
    if type(value) is dict:
        return "object"
    if type(value) is list:
        return "array"
    return "bool" if type(value) is bool else "number"


def decode_typed(
    value: Any,
    go_type: GoType,
    *,
    number: Callable[[float], str] = literal_of,
    unknown: list[str] | None = None,
) -> Any:
    """Decode a JSON value into a Go type.

    Args:
        value: Decoded JSON; keys in the order in which Go would decode them.
        go_type: The expected type.
        number: Spelling of a float in the JSON text that Go would see.
        unknown: Collects dotted paths of unknown fields, at most 100.
    Returns:
        Structs as dicts of their known keys that were not null; other types as plain values.
    Raises:
        GoTypeError: The text is Go's.
    Source: sigs.k8s.io/json decode.go.
    """
    return TypedDecoder(number, unknown).decode(value, go_type)
