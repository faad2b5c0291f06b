"""From JSON values to CEL values, as the schema says.

`Adapters` turns a JSON value into a CEL value, lazily: an object or list becomes a view on the JSON value (values.py),
and an error of an item appears only when the item is used.

Source: k8s.io/apiserver pkg/cel/common/valuesunstructured.go, valuesreflect.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.cel.errors import CelError
from auditor.cel.values import (
    Duration,
    Timestamp,
)
from auditor.golang.strfmt import parse_date, parse_date_time, parse_lenient_duration
from auditor.golang.text import type_name
from auditor.golang.times import GoTime, GoTimeError
from auditor.releases import changes
from auditor.schema.structural import ListType, StructuralSchema
from auditor.validation.rules.base64text import Base64Error, bytes_decoder
from auditor.validation.rules.escaping import escape
from auditor.validation.rules.raw_lists import RawList, RawMapList, RawSet
from auditor.validation.rules.values import MapList, Preserved, SchemaList, SchemaMap, SetList, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    Adapt = Callable[[Any], Any]

__all__ = ["Adapters"]

_NULL: Final = "invalid data, got null for schema with nullable=false"
_NOT_INT_OR_STRING: Final = "invalid data, expected XIntOrString value to be either a string or integer"
_NOT_A_MAP: Final = "invalid data, expected a map for the provided schema with type=object"
_NOT_AN_ARRAY: Final = "invalid data, expected an array for the provided schema with type=array"
_NO_ITEMS: Final = "invalid array type, expected Items with a non-empty Schema"
_SECOND: Final = 1_000_000_000


class Adapters:
    """Makes and keeps the functions that turn JSON values into CEL values, one a schema node.

    Attributes:
        lists: The classes of lists: whose order counts, sets, map lists.
    """

    __slots__ = ("_made", "lists")

    def __init__(self) -> None:
        self._made: dict[StructuralSchema, Adapt] = {}
        self.lists: tuple[type[SchemaList], type[SetList], type[MapList]] = (
            (SchemaList, SetList, MapList) if changes.LISTS_KEEP_ITEMS.holds else (RawList, RawSet, RawMapList)
        )

    def of(self, schema: StructuralSchema) -> Adapt:
        """Return the function for values of a schema node; its result may be a `CelError`, and it never raises.

        Every error is an object of its own: one that is raised twice would keep the frames of both.
        """
        made = self._made.get(schema)
        if made is None:
            made = self._made[schema] = _with_null(_adapter(schema, self), nullable=schema.nullable)
        return made


def _with_null(adapt: Adapt, *, nullable: bool) -> Adapt:
    if nullable:
        return lambda raw: None if raw is None else adapt(raw)
    return lambda raw: CelError(_NULL) if raw is None else adapt(raw)


def _adapter(schema: StructuralSchema, adapters: Adapters) -> Adapt:
    if schema.int_or_string:
        return lambda raw: raw if type(raw) is str or type(raw) is int else CelError(_NOT_INT_OR_STRING)
    match schema.type:
        case "object":
            shape = Shape(schema, adapters.of)
            return lambda raw: SchemaMap(raw, shape) if type(raw) is dict else CelError(_NOT_A_MAP)
        case "array":
            return _list_adapter(schema, adapters)
        case "string":
            return _text_adapter(schema.format)
        case "number":
            return _number
        case "integer":
            return _integer
        case "boolean":
            return _boolean
    if schema.preserve_unknown_fields:
        return Preserved
    text = (
        "invalid type, expected object, array, number, integer, boolean or string, or no type with "
        f"x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {schema.type}"
    )
    return lambda _raw: CelError(text)


def _list_adapter(schema: StructuralSchema, adapters: Adapters) -> Adapt:
    if schema.items is None:
        return lambda raw: CelError(_NO_ITEMS) if type(raw) is list else CelError(_NOT_AN_ARRAY)
    items = schema.items
    plain, sets, maps = adapters.lists
    if schema.list_type is ListType.SET:
        return lambda raw: sets(raw, adapters.of(items)) if type(raw) is list else CelError(_NOT_AN_ARRAY)
    if schema.list_type is ListType.MAP:
        keys = tuple(escape(key) or key for key in schema.list_map_keys)
        return lambda raw: maps(raw, adapters.of(items), keys) if type(raw) is list else CelError(_NOT_AN_ARRAY)
    return lambda raw: plain(raw, adapters.of(items)) if type(raw) is list else CelError(_NOT_AN_ARRAY)


def _number(raw: Any) -> Any:
    kind = type(raw)
    if kind is float:
        return raw
    return float(raw) if kind is int else CelError(f"invalid data, expected float, got {type_name(raw)}")


def _integer(raw: Any) -> Any:
    return raw if type(raw) is int else CelError(f"invalid data, expected int, got {type_name(raw)}")


def _boolean(raw: Any) -> Any:
    return raw if type(raw) is bool else CelError(f"invalid data, expected bool, got {type_name(raw)}")


def _text_adapter(format_: str) -> Adapt:
    read = _bytes_adapter() if format_ == "byte" else _FORMATS.get(format_)

    def adapt(raw: Any) -> Any:
        if type(raw) is not str:
            return CelError(f"invalid data, expected string, got {type_name(raw)}")
        return raw if read is None else read(raw)

    return adapt


def _duration(raw: str) -> Any:
    try:
        return Duration(parse_lenient_duration(raw))
    except GoTimeError as error:
        return CelError(f"Invalid duration {raw}: {error}")


def _date(raw: str) -> Any:
    try:
        return _timestamp(parse_date(raw))
    except GoTimeError as error:
        return CelError(f"Invalid date formatted string {raw}: {error}")


def _date_time(raw: str) -> Any:
    try:
        return _timestamp(parse_date_time(raw))
    except GoTimeError as error:
        return CelError(f"Invalid date-time formatted string {raw}: {error}")


def _timestamp(time: GoTime) -> Timestamp:
    return Timestamp(time.seconds * _SECOND + time.nanoseconds, time.offset)


def _bytes_adapter() -> Adapt:
    decode = bytes_decoder()

    def adapt(raw: str) -> Any:
        try:
            return decode(raw)
        except Base64Error as error:
            return CelError(f"Invalid byte formatted string {raw}: {error}")

    return adapt


_FORMATS: Final = {"duration": _duration, "date": _date, "date-time": _date_time}
