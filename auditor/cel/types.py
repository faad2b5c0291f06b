"""The types of CEL: the checker computes with them, and overloads declare them.

One frozen class for all of them; equality is structural. Object types have only their name, their fields are in the
environment (`ObjectType`), so that a type can contain itself.

Source: cel-go common/types/types.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from auditor.base.quick_init import quick_init

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BOOL",
    "BYTES",
    "DOUBLE",
    "DURATION",
    "DYN",
    "ERROR",
    "INT",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "UINT",
    "UNTYPED",
    "Kind",
    "ObjectType",
    "Type",
    "has_parameters",
    "list_of",
    "map_of",
    "object_type",
    "opaque",
    "optional_of",
    "type_of",
    "type_param",
    "wrapper_of",
]


class Kind(Enum):
    """The kinds of types."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    NULL = "null_type"
    DURATION = "google.protobuf.Duration"
    TIMESTAMP = "google.protobuf.Timestamp"
    LIST = "list"
    MAP = "map"
    TYPE = "type"
    DYN = "dyn"
    ANY = "google.protobuf.Any"
    ERROR = "error"
    OPAQUE = "opaque"
    OBJECT = "object"
    PARAM = "param"
    WRAPPER = "wrapper"
    UNTYPED = ""


@quick_init
@dataclass(frozen=True, slots=True)
class Type:
    """One type.

    Attributes:
        kind: Its kind.
        name: The name at run time: ``int``, ``list``, ``kubernetes.Quantity``; the letter of a type parameter; the
            message name of a wrapper.
        parameters: Element of a list; key and value of a map; parameters of an opaque type (optional: one); the wrapped
            type of a wrapper; the type of a type value.
    """

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        """Return the type as the checker's messages print it."""
        match self.kind:
            case Kind.NULL:
                return "null"
            case Kind.ERROR:
                return "!error!"
            case Kind.DURATION | Kind.TIMESTAMP | Kind.ANY:
                return {"Duration": "duration", "Timestamp": "timestamp", "Any": "any"}[self.name.rpartition(".")[2]]
            case Kind.WRAPPER:
                return f"wrapper({self.parameters[0]})"
        if self.parameters:
            return f"{self.name}({', '.join(map(str, self.parameters))})"
        return self.name

    @property
    def is_optional(self) -> bool:
        """Whether this is ``optional_type(T)``."""
        return self.kind is Kind.OPAQUE and self.name == "optional_type"


BOOL = Type(Kind.BOOL, "bool")
INT = Type(Kind.INT, "int")
UINT = Type(Kind.UINT, "uint")
DOUBLE = Type(Kind.DOUBLE, "double")
STRING = Type(Kind.STRING, "string")
BYTES = Type(Kind.BYTES, "bytes")
NULL = Type(Kind.NULL, "null_type")
DURATION = Type(Kind.DURATION, "google.protobuf.Duration")
TIMESTAMP = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
DYN = Type(Kind.DYN, "dyn")
ERROR = Type(Kind.ERROR, "error")
TYPE = Type(Kind.TYPE, "type")
UNTYPED = Type(Kind.UNTYPED, "")
"""The type of a variable without one (servers before `changes.PAIRS_OF_DYN`); it fits everywhere."""


def list_of(element: Type) -> Type:
    """Return ``list(element)``."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return ``map(key, value)``."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """Return ``optional_type(value)``."""
    return Type(Kind.OPAQUE, "optional_type", (value,))


def opaque(name: str, *parameters: Type) -> Type:
    """Return the opaque type of a library, e.g. ``kubernetes.Quantity``."""
    return Type(Kind.OPAQUE, name, parameters)


def object_type(name: str) -> Type:
    """Return the reference to a declared object type."""
    return Type(Kind.OBJECT, name)


def type_param(name: str) -> Type:
    """Return a type parameter of an overload; parameters are bound again for each call."""
    return Type(Kind.PARAM, name)


def has_parameters(kind: Type) -> bool:
    """Return whether a type is or contains a type parameter."""
    return kind.kind is Kind.PARAM or any(map(has_parameters, kind.parameters))


def type_of(parameter: Type) -> Type:
    """Return the type of a type value: ``type(int)``."""
    return Type(Kind.TYPE, "type", (parameter,))


def wrapper_of(wrapped: Type) -> Type:
    """Return the wrapper (nullable form) of a scalar type."""
    names = {"bool": "Bool", "int": "Int64", "uint": "UInt64", "double": "Double", "string": "String", "bytes": "Bytes"}
    return Type(Kind.WRAPPER, f"google.protobuf.{names[wrapped.name]}Value", (wrapped,))


@dataclass(frozen=True, slots=True)
class ObjectType:
    """A declared object type: the type of ``self`` of a schema with properties.

    Attributes:
        name: Its name, unique in the environment.
        fields: Escaped field name to type.
    """

    name: str
    fields: Mapping[str, Type] = field(default_factory=dict)

    @property
    def type(self) -> Type:
        """The type that refers to this declaration."""
        return object_type(self.name)
