"""Shapes: the form of a value in Python and a limit of its size, which generated code relies on.

The checker's types say what an expression may do with a value. A shape says what form the value has in the code: the
plain JSON of a stored object, in which a date is still a text and a value of type number may be an int. It also has the
bounds that the schema has already verified. The fast path, which knows schemas, makes the shape of `self`; this package
knows no schema.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_types import Kind, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Form(Enum):
    """The form of a value in the code."""

    NULL = "None"
    BOOL = "bool"
    INT = "int"
    DOUBLE = "float; stored: int or float"
    STRING = "str"
    BYTES = "bytes; stored: text"
    DURATION = "int, nanoseconds; stored: text"
    TIMESTAMP = "int, nanoseconds since 1970; stored: text"
    INT_OR_STRING = "int or str"
    LIST = "list"
    MAP = "dict, keys are data"
    OBJECT = "dict, keys are fields; or a record"
    OPTIONAL = "the value, or ABSENT"
    LIBRARY = "value of a library's own class"
    DYN = "any JSON value"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of an object.

    Attributes:
        key: Its key in the data.
        shape: The shape of its value.
        always: Whether it exists in every object that rules are run on.
        attribute: Where the object is a record: that which holds it; empty means the object is a dict.
        missing: For a record: the constants that it may hold instead, if it is not there.
    """

    key: str
    shape: ValueShape
    always: bool = False
    attribute: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ValueShape:
    """Everything that is known about a value.

    Attributes:
        form: Its form in the code.
        convert: Makes of the JSON value what CEL works with, or raises; None means they are the same. Answers for texts
            are remembered.
        nullable: Whether it may be null as an item of a list or map; a null field counts as absent.
        size: Largest number of characters, items or entries; None if not known.
        low, high: Bounds of an integer.
        item: The shape of list items, of map values, or of the value of an optional.
        fields: For an object, by identifier.
        list_type: ``set`` or ``map``, where equality of lists is not that of sequences.
        least: Bytes of the JSON text of the smallest such value.
        open: Whether it is an object that may have keys which are no fields.
        record: Whether it is an object that is a record, with attributes.
        name: For a library's class: the type's name.
    """

    form: Form
    convert: Callable[[Any], Any] | None = None
    nullable: bool = False
    size: int | None = None
    low: int = -(2**63)
    high: int = 2**63 - 1
    item: ValueShape | None = None
    fields: Mapping[str, Field] = field(default_factory=dict)
    list_type: str = ""
    least: int = 1
    open: bool = False
    record: bool = False
    name: str = ""

    @property
    def present(self) -> ValueShape:
        """The shape of the value if it is not null."""
        return replace(self, nullable=False) if self.nullable else self

    @property
    def converted(self) -> ValueShape:
        """The shape of the value after conversion to a CEL value."""
        return replace(self, nullable=False, convert=None) if self.convert is not None or self.nullable else self


NULL: Final = ValueShape(Form.NULL)
BOOL: Final = ValueShape(Form.BOOL)
INT: Final = ValueShape(Form.INT)
DOUBLE: Final = ValueShape(Form.DOUBLE)
STRING: Final = ValueShape(Form.STRING)
BYTES: Final = ValueShape(Form.BYTES)
DURATION: Final = ValueShape(Form.DURATION)
TIMESTAMP: Final = ValueShape(Form.TIMESTAMP)
DYN: Final = ValueShape(Form.DYN)
"""No schema says what a value is, so that generated code looks at it; values of rules never have this shape."""

_SCALARS: Final = {
    Kind.NULL: NULL,
    Kind.BOOL: BOOL,
    Kind.INT: INT,
    Kind.DOUBLE: DOUBLE,
    Kind.STRING: STRING,
    Kind.BYTES: BYTES,
    Kind.DURATION: DURATION,
    Kind.TIMESTAMP: TIMESTAMP,
}
_EXACT: Final = frozenset({Form.BOOL, Form.INT, Form.STRING, Form.INT_OR_STRING})


def list_shape(item: ValueShape) -> ValueShape:
    """Return the shape of a list."""
    return ValueShape(Form.LIST, item=item)


def optional_shape(item: ValueShape) -> ValueShape:
    """Return the shape of an optional."""
    return ValueShape(Form.OPTIONAL, item=item)


def shape_of_type(kind: Type) -> ValueShape | None:
    """Return the shape of the result of a library function, or None if generated code has no form for it."""
    known = _SCALARS.get(kind.kind)
    if known is not None:
        return known
    if kind.is_optional or kind.kind is Kind.LIST:
        item = shape_of_type(kind.parameters[0])
        if item is None:
            return None
        return optional_shape(item) if kind.is_optional else list_shape(item)
    if kind.kind is Kind.MAP and kind.parameters[0].kind is Kind.STRING:
        item = shape_of_type(kind.parameters[1])
        return None if item is None else ValueShape(Form.MAP, item=item)
    if kind.kind in (Kind.OPAQUE, Kind.OBJECT):
        return ValueShape(Form.LIBRARY, name=kind.name)
    return None


def is_exact(shape: ValueShape) -> bool:
    """Return whether Python's ``==`` of two such values is CEL's, and CEL's functions accept the value unchanged.

    False for numbers that may be ints or floats, for values that need a conversion, for nulls, for sets and map lists,
    for records, for objects with keys that are no fields, and for objects with fields whose names differ from their
    keys.
    """
    if shape.convert is not None or shape.nullable or shape.record:
        return False
    if shape.form in _EXACT:
        return True
    if shape.form in (Form.LIST, Form.MAP):
        return not shape.list_type and shape.item is not None and is_exact(shape.item)
    return (
        shape.form is Form.OBJECT
        and not shape.open
        and all(is_exact(each.shape) and "__" not in each.key for each in shape.fields.values())
    )


def unified(one: ValueShape, other: ValueShape) -> ValueShape | None:
    """Return the shape of a value that has one of two shapes, or None if generated code has no form for both."""
    if one is other:
        return one
    if one.form is not other.form or one.convert is not other.convert or one.list_type != other.list_type:
        return None
    if one.form is Form.OBJECT or one.name != other.name:
        return None
    item = None
    if one.item is not None or other.item is not None:
        if one.item is None or other.item is None:
            return None
        item = unified(one.item, other.item)
        if item is None:
            return None
    size = None if one.size is None or other.size is None else max(one.size, other.size)
    return ValueShape(
        one.form,
        one.convert,
        one.nullable or other.nullable,
        size,
        min(one.low, other.low),
        max(one.high, other.high),
        item,
        list_type=one.list_type,
        least=min(one.least, other.least),
    )
