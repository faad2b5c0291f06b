"""Shapes of values for generated rules: `auditor.validation.rules.rule_types` as `auditor.cel.emit.ValueShape`.

Rules run only on objects in which every value has its declared type, no required field is missing and nothing is too
long (otherwise findings about these replace the rules), so shapes include these facts. Other bounds (minimum) are not
used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.cel.cel_types import Kind
from auditor.cel.emit import Field, Form, ValueShape
from auditor.golang.strfmt import parse_date, parse_date_time, parse_lenient_duration
from auditor.schema.structural import ABSENT, ListType, StructuralSchema
from auditor.validation.rules.base64text import bytes_decoder
from auditor.validation.rules.escaping import RESERVED, unescape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.fastpath.dicts.scope import Decoded
    from auditor.golang.times import GoTime
    from auditor.validation.rules.rule_types import DeclaredType


_SCALARS = {
    Kind.BOOL: Form.BOOL,
    Kind.INT: Form.INT,
    Kind.DOUBLE: Form.DOUBLE,
    Kind.STRING: Form.STRING,
    Kind.BYTES: Form.BYTES,
    Kind.DURATION: Form.DURATION,
    Kind.TIMESTAMP: Form.TIMESTAMP,
    Kind.DYN: Form.INT_OR_STRING,
}


class Shapes:
    """Makes shapes of declared types, one for each type."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[DeclaredType, ValueShape]] = {}

    def of_record(self, declared: DeclaredType, decoded: Decoded) -> ValueShape:
        """Return the shape of a value of a declared type that is or is part of a record."""
        shape = self.of(declared)
        if decoded.kind == "record":
            return replace(shape, fields=_Attributes(self, shape.fields, decoded), record=True)
        if decoded.below is not None and declared.element is not None:
            return replace(shape, item=self.of_record(declared.element, decoded.below))
        return shape

    def of(self, declared: DeclaredType) -> ValueShape:
        """Return the shape of a value of a declared type."""
        known = self._known.get(id(declared))
        if known is None:
            known = self._known[id(declared)] = (declared, self._make(declared))
        return known[1]

    def _make(self, declared: DeclaredType) -> ValueShape:
        schema = declared.schema
        if declared.scalar is not None:
            return _scalar(schema, _SCALARS[declared.scalar.kind])
        if declared.fields is not None:
            return self._object(declared)
        assert declared.element is not None
        item = self.of(declared.element)
        if declared.is_map:
            return ValueShape(
                Form.MAP, nullable=schema.nullable, size=_bound(schema.max_properties), item=item, least=2
            )
        list_type = schema.list_type.value if schema.list_type in (ListType.SET, ListType.MAP) else ""
        size = _bound(schema.max_items)
        return ValueShape(Form.LIST, nullable=schema.nullable, size=size, item=item, list_type=list_type, least=2)

    def _object(self, declared: DeclaredType) -> ValueShape:
        schema = declared.schema
        assert declared.fields is not None
        fields = _Fields(self, declared)
        least = 2
        for identifier, child in declared.fields.items():
            key = fields.keys_by_identifier[identifier]
            has_default = child.schema.default is not ABSENT and child.schema.default is not None
            if key in schema.required and not child.schema.nullable and not has_default:
                least += len(key) + 4 + self.of(child).least
        seen = frozenset(fields.keys_by_identifier.values())
        hidden = schema.preserve_unknown_fields or schema.embedded_resource or not seen.issuperset(schema.properties)
        hidden = hidden or "metadata" in seen or bool(schema.additional_properties)
        return ValueShape(Form.OBJECT, nullable=schema.nullable, fields=fields, least=least, open=hidden)


class _Fields(Mapping[str, Field]):
    """The fields of an object, each made at its first use: most are never used."""

    __slots__ = ("_declared", "_known", "_shapes", "keys_by_identifier")

    def __init__(self, shapes: Shapes, declared: DeclaredType) -> None:
        assert declared.fields is not None
        self._shapes = shapes
        self._declared = declared
        self._known: dict[str, Field] = {}
        self.keys_by_identifier: dict[str, str] = {}
        for identifier in declared.fields:
            key = unescape(identifier)
            assert key is not None, "it was made by escape"
            self.keys_by_identifier[identifier] = key
            if identifier.startswith("__") and identifier[2:-2] in RESERVED:
                self.keys_by_identifier[identifier[2:-2]] = key  # a keyword is also its own name

    def __getitem__(self, identifier: str) -> Field:
        known = self._known.get(identifier)
        if known is None:
            known = self._known[identifier] = self._make(identifier)
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_by_identifier)

    def __len__(self) -> int:
        return len(self.keys_by_identifier)

    def declared_as(self, identifier: str) -> DeclaredType:
        """Return the type of a field."""
        declared = self._declared
        assert declared.fields is not None
        return declared.fields[identifier if identifier in declared.fields else f"__{identifier}__"]

    def _make(self, identifier: str) -> Field:
        declared = self._declared
        key = self.keys_by_identifier[identifier]
        shape = self._shapes.of(self.declared_as(identifier))
        if key == "metadata":
            shape = _unbounded(shape)
        return Field(key, shape, key in declared.schema.required and not shape.nullable)


class _Attributes(Mapping[str, Field]):
    """The fields of a record, each made at its first use."""

    __slots__ = ("_decoded", "_fields", "_known", "_shapes")

    def __init__(self, shapes: Shapes, fields: Mapping[str, Field], decoded: Decoded) -> None:
        assert isinstance(fields, _Fields)
        self._shapes = shapes
        self._fields = fields
        self._decoded = decoded
        self._known: dict[str, Field] = {}

    def __getitem__(self, identifier: str) -> Field:
        known = self._known.get(identifier)
        if known is None:
            fields = self._fields
            key = fields.keys_by_identifier[identifier]
            attribute, below = self._decoded.fields[key]
            shape = self._shapes.of_record(fields.declared_as(identifier), below)
            missing = self._decoded.missing(key)
            known = self._known[identifier] = Field(key, shape, not missing, attribute, missing)
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def _unbounded(metadata: ValueShape) -> ValueShape:
    """Return the shape of metadata, whose names may exceed their limit when rules run."""
    fields = {name: replace(known, shape=replace(known.shape, size=None)) for name, known in metadata.fields.items()}
    return replace(metadata, fields=fields)


def _bound(most: int | None) -> int | None:
    return None if most is None else max(most, 0)


def _scalar(schema: StructuralSchema, form: Form) -> ValueShape:
    size = _bound(schema.max_length)
    if form is Form.STRING and size is None and schema.enum:
        size = max((len(each) for each in schema.enum if type(each) is str), default=0)
    least = {Form.BOOL: 4, Form.INT: 1, Form.DOUBLE: 1, Form.INT_OR_STRING: 1}.get(form, 2)
    convert = float if form is Form.DOUBLE else _conversion(schema.format) if form in _CONVERTED else None
    return ValueShape(form, convert, schema.nullable, size, least=least)


_CONVERTED = frozenset({Form.BYTES, Form.DURATION, Form.TIMESTAMP})


def _date(text: str) -> int:
    return _nanos(parse_date(text))


def _date_time(text: str) -> int:
    return _nanos(parse_date_time(text))


def _nanos(time: GoTime) -> int:
    return time.seconds * 1_000_000_000 + time.nanoseconds


def _conversion(format_: str) -> Callable[[str], Any] | None:
    return bytes_decoder() if format_ == "byte" else _CONVERSIONS.get(format_)


_CONVERSIONS: Final[dict[str, Callable[[str], Any]]] = {
    "date": _date,
    "date-time": _date_time,
    "duration": parse_lenient_duration,
}


def longest_default(schema: StructuralSchema) -> int:
    """Return the bytes of the JSON text of the longest default in a schema."""
    longest = 0
    if schema.default is not ABSENT and schema.default is not None:
        longest = len(orjson.dumps(schema.default)) * 2
    for child in (*schema.properties.values(), schema.items, schema.additional_properties):
        if isinstance(child, StructuralSchema):
            longest = max(longest, longest_default(child))
    return longest


_TYPES: Final = {
    Form.BOOL: (bool,),
    Form.INT: (int,),
    Form.DOUBLE: (float, int),
    Form.STRING: (str,),
    Form.BYTES: (str,),
    Form.DURATION: (str,),
    Form.TIMESTAMP: (str,),
    Form.INT_OR_STRING: (int, str),
}


def fits(shape: ValueShape, value: Any) -> bool:
    """Return whether a value, and everything in it that expressions can see, matches its shape."""
    if value is None:
        return shape.nullable
    types, size = _TYPES.get(shape.form), shape.size
    if types is not None:
        return type(value) in types and (size is None or type(value) is not str or len(value) <= size)
    if shape.form is Form.LIST:
        if type(value) is not list or shape.item is None or (size is not None and len(value) > size):
            return False
        return all(fits(shape.item, each) for each in value)
    if type(value) is not dict:
        return False
    if shape.form is Form.MAP:
        if shape.item is None or (size is not None and len(value) > size):
            return False
        return all(fits(shape.item, each) for each in value.values())
    for known in shape.fields.values():
        if known.key in value:
            if not fits(known.shape, value[known.key]):
                return False
        elif known.always:
            return False
    return True
