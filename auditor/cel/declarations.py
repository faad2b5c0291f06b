"""What an expression can name: variables, types and functions. The checker, the interpreter and the emitter ask it.

Source: cel-go cel/env.go, checker/env.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    ObjectType,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from auditor.cel.function import Function
    from auditor.cel.operations.dispatch import Declaration


@dataclass(frozen=True, slots=True)
class Name:
    """The declaration of a name.

    Attributes:
        type: The type of the variable, or ``type(T)`` if the name denotes a type.
        is_type: Whether the name denotes a type.
        value: The number of an enumeration value.
        is_value: Whether an expression can use it as a value; only the checker knows some names of types.
    """

    type: Type
    is_type: bool = False
    value: int | None = None
    is_value: bool = True


_EMPTY = ObjectType("google.protobuf.Empty")
"""The one well-known message that is no other value of CEL."""


def _type_name(kind: Type, *, is_value: bool = True) -> Name:
    return Name(type_of(kind), is_type=True, is_value=is_value)


_TYPES: dict[str, Name] = {
    kind.name: _type_name(kind) for kind in (BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, TYPE, UINT)
} | {
    "optional_type": _type_name(optional_of(DYN)),
    "list": _type_name(list_of(DYN)),
    "map": _type_name(map_of(DYN, DYN)),
    "google.protobuf.NullValue.NULL_VALUE": Name(INT, value=0),
    "duration": _type_name(DURATION, is_value=False),
    "timestamp": _type_name(TIMESTAMP, is_value=False),
}


class Libraries:
    """The functions of an environment, and the types that come with them.

    Args:
        functions: In the order in which the server adds them, CEL's own first.
        types: Types of the libraries that an expression can name.
    """

    def __init__(self, functions: Iterable[Function], types: Iterable[Type] = ()) -> None:
        from auditor.cel.operations.dispatch import declare  # noqa: PLC0415 - with the first expression

        self.functions: dict[str, Declaration] = declare(tuple(functions))
        self.names = _TYPES | {kind.name: _type_name(kind) for kind in types}


class Declarations:
    """Variables, types and functions.

    Args:
        variables: Name to type.
        libraries: The functions.
        object_types: The declared object types that types of variables and fields refer to.
        disabled_overloads: Ids of overloads that the checker does not choose.
    """

    def __init__(
        self,
        variables: Mapping[str, Type],
        libraries: Libraries,
        object_types: Iterable[ObjectType],
        disabled_overloads: frozenset[str],
    ) -> None:
        self.variables = dict(variables)
        self.libraries = libraries
        self.object_types = {each.name: each for each in (_EMPTY, *object_types)}
        self.disabled_overloads = disabled_overloads

    def find_name(self, name: str) -> Name | None:
        """Return the declaration of a name: a variable, a type, a constant."""
        variable = self.variables.get(name)
        return self.find_type(name) if variable is None else Name(variable)

    def find_type(self, name: str) -> Name | None:
        """Return the declaration of a name that is not a variable."""
        from auditor.cel.messages import MESSAGES  # noqa: PLC0415 - with the first expression

        declaration = self.libraries.names.get(name)
        if declaration is not None:
            return declaration
        if name in self.object_types:
            return _type_name(self.object_types[name].type)
        return _type_name(MESSAGES[name][0], is_value=False) if name in MESSAGES else None

    def object_type(self, name: str) -> ObjectType | None:
        """Return the declared object type with a name."""
        return self.object_types.get(name)

    def message(self, name: str) -> Mapping[str, Type] | None:
        """Return the fields of a well-known message."""
        from auditor.cel.messages import MESSAGES  # noqa: PLC0415 - with the first expression

        declaration = MESSAGES.get(name)
        return None if declaration is None else declaration[1]

    def function(self, name: str) -> Declaration | None:
        """Return the function with a name."""
        return self.libraries.functions.get(name)
