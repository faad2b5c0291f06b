"""The types of CEL: the checker computes with them, and overloads declare them.

One frozen class for all of them; equality is structural. Object types have only their name, their fields are in the
environment (`ObjectType`), so that a type can contain itself. The checker binds type
parameters in a `Bindings`; a failed attempt does not change it.

Source: cel-go common/types/types.go, checker/types.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from auditor.base.quick_init import quick_init

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
ANY = Type(Kind.ANY, "google.protobuf.Any")
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


_NULLABLE = frozenset({Kind.OPAQUE, Kind.OBJECT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP, Kind.WRAPPER, Kind.NULL})
_CONTAINERS = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


def is_dyn(kind: Type) -> bool:
    """Return whether a type is dyn or any."""
    return kind.kind is Kind.DYN or kind.kind is Kind.ANY


def is_dyn_or_error(kind: Type) -> bool:
    """Return whether a type fits everywhere."""
    return kind.kind in (Kind.DYN, Kind.ANY, Kind.ERROR)


def unwrap_optional(kind: Type) -> tuple[Type, bool]:
    """Return the type in an optional and True, or the type itself and False."""
    return (kind.parameters[0], True) if kind.is_optional else (kind, False)


def _equal_or_less_specific(left: Type, right: Type) -> bool:
    if is_dyn(left) or left.kind is Kind.PARAM:
        return True
    if is_dyn(right) or right.kind is Kind.PARAM or left.kind is not right.kind:
        return False
    if left.kind in _CONTAINERS:
        return (
            left.name == right.name
            and len(left.parameters) == len(right.parameters)
            and all(map(_equal_or_less_specific, left.parameters, right.parameters))
        )
    return left.kind is Kind.TYPE or left == right


def most_general(left: Type, right: Type) -> Type:
    """Return the left type unless the right one is more general."""
    return left if _equal_or_less_specific(left, right) else right


def _accepts(target: Type, source: Type) -> bool:
    """Return whether a scalar, wrapper or object type accepts another."""
    if target.kind is Kind.WRAPPER:
        return source.kind is Kind.NULL or target == source or target.parameters[0] == source
    if source.kind is Kind.WRAPPER:
        return target == source.parameters[0]
    return target.kind is source.kind is not Kind.UNTYPED and target.name == source.name


class Bindings:
    """The bindings of the type parameters of one expression."""

    __slots__ = ("_bound",)

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}

    def assignable(self, target: Type, source: Type) -> bool:
        """Return whether one type is assignable to the other; bind parameters if so."""
        return self.assignable_all((target,), (source,))

    def assignable_all(self, targets: Sequence[Type], sources: Sequence[Type]) -> bool:
        """Return whether all types are assignable to their counterparts; bind parameters if so."""
        if len(targets) != len(sources):
            return False
        before = self._bound
        self._bound = dict(before)
        if self._all(targets, sources):
            return True
        self._bound = before
        return False

    def _all(self, targets: Sequence[Type], sources: Sequence[Type]) -> bool:
        return len(targets) == len(sources) and all(map(self._fits, targets, sources))

    def _fits(self, left: Type, right: Type) -> bool:
        if right.kind is Kind.PARAM:
            valid, bound = self._bind(left, right)
            if valid or bound:
                return valid
        if left.kind is Kind.PARAM:
            return self._bind(right, left)[0]
        if is_dyn_or_error(left) or is_dyn_or_error(right):
            return True
        if left.kind is Kind.NULL:
            return right.kind in _NULLABLE
        if right.kind is Kind.NULL:
            return left.kind in _NULLABLE
        if left.kind is Kind.TYPE:
            return right.kind is Kind.TYPE
        if left.kind in _CONTAINERS:
            return left.kind is right.kind and left.name == right.name and self._all(left.parameters, right.parameters)
        return _accepts(right, left)

    def _bind(self, meaning: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether a parameter can be a type, and whether it was bound before."""
        if meaning == parameter:
            return True, True
        bound = self._bound.get(parameter)
        if bound is not None:
            if meaning == bound and meaning.kind is not Kind.UNTYPED:
                return True, True
            if not self._fits(meaning, bound):
                return False, True
            general = most_general(meaning, bound)
            if not self._mentions(parameter, general):
                self._bound[parameter] = general
            return True, True
        if self._mentions(parameter, meaning):
            return False, False
        self._bound[parameter] = meaning
        return True, False

    def _mentions(self, parameter: Type, within: Type) -> bool:
        if parameter == within:
            return True
        if within.kind is Kind.PARAM:
            bound = self._bound.get(within)
            return bound is not None and self._mentions(parameter, bound)
        if within.kind in _CONTAINERS or within.kind is Kind.TYPE:
            return any(self._mentions(parameter, each) for each in within.parameters)
        return False

    def substitute(self, kind: Type, *, free_to_dyn: bool = False) -> Type:
        """Return a type with its parameters replaced by their bindings; unbound ones become dyn if requested."""
        if kind.kind is Kind.PARAM:
            bound = self._bound.get(kind)
            if bound is not None:
                return self.substitute(bound, free_to_dyn=free_to_dyn)
            return DYN if free_to_dyn else kind
        if not kind.parameters or kind.kind is Kind.WRAPPER:
            return kind
        parameters = tuple(self.substitute(each, free_to_dyn=free_to_dyn) for each in kind.parameters)
        return kind if parameters == kind.parameters else Type(kind.kind, kind.name, parameters)
