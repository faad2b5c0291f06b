"""Converts JSON values to CEL values by the schema.

`Adapters` converts lazily: an object or list becomes a view on the JSON value (schema_values.py), and an error of an
item appears only when the item is used.

Lists of servers before `changes.LISTS_KEEP_ITEMS` have JSON values as items, also those that + adds: an added item is
converted again by the schema of the list; one that is not a JSON value is an error. Sets compare the JSON values of
their own items with the Go values of another list's, so that a set of times differs from itself.

Source: k8s.io/apiserver pkg/cel/common/valuesunstructured.go, valuesreflect.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import MISSING, Duration, Optional_, Timestamp, TypeValue, UInt, is_list, is_map
from auditor.cel.operations.cost import unhashable
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, equal_not_null, find, size_of
from auditor.cel.operations.go_names import show
from auditor.golang.go_text import type_name
from auditor.golang.strfmt import parse_date, parse_date_time, parse_lenient_duration
from auditor.golang.times import GoTime, GoTimeError
from auditor.releases import changes
from auditor.schema.structural import ListType, StructuralSchema
from auditor.validation.rules.base64text import Base64Error, bytes_decoder
from auditor.validation.rules.escaping import escape
from auditor.validation.rules.schema_values import (
    MapList,
    ObjectShape,
    Preserved,
    SchemaList,
    SchemaMap,
    SetList,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    Adapt = Callable[[Any], Any]


_MANY_KEYS: Final = 3
_GO_TYPES: Final = {
    UInt: "uint64",
    bytes: "[]uint8",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    type(None): "structpb.NullValue",
}
_NOT_HASHABLE: Final = frozenset({"[]uint8", "[]ref.Val", "map[ref.Val]ref.Val"})


class _GoValue:
    """A value in a list that is not a JSON value.

    Attributes:
        value: The CEL value.
        go_type: The name of its Go type.
    """

    __slots__ = ("go_type", "value")

    def __init__(self, value: Any, go_type: str) -> None:
        self.value = value
        self.go_type = go_type


def _go_value(value: Any) -> Any:
    """Return the item that the server puts into a list for a value."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or kind is float:
        return value
    if isinstance(value, SchemaMap | SchemaList | Preserved):
        return value.raw
    if kind is TypeValue:
        return value.name
    if kind is Optional_:
        return _go_value(value.value) if value.has else None
    if isinstance(value, CelError):
        return _GoValue(value, "*errors.errorString")
    if is_list(value):
        return _GoValue(value, "[]ref.Val")
    if is_map(value):
        return _GoValue(value, "map[ref.Val]ref.Val")
    return _GoValue(value, _GO_TYPES.get(kind, getattr(value, "go_type", kind.__name__)))


def _hashed(value: Any) -> Hashable:
    """Return the key of a value in a Go map, which includes its type; the server panics for some values."""
    kind = type(value)
    if kind is dict or kind is list:
        raise unhashable(type_name(value))
    if kind is not _GoValue:
        return kind, value
    if value.go_type in _NOT_HASHABLE:
        raise unhashable(value.go_type)
    inner = value.value
    if type(inner) is Timestamp:
        return Timestamp, inner.nanos, inner.zone
    return (type(inner), inner) if type(inner) in _GO_TYPES else value


def _items(other: Any) -> Iterable[Any]:
    return other if type(other) is list else other.cel_iter()


def _refused(value: Any) -> CelError:
    return value if isinstance(value, CelError) else CelError(NO_SUCH_OVERLOAD)


class RawList(SchemaList):
    """An ordered list."""

    __slots__ = ()

    def cel_add(self, other: Any) -> Any:
        """Return the items of both, as a list with the schema of this one."""
        if not is_list(other):
            raise _refused(other)
        return RawList([*self.raw, *map(_go_value, _items(other))], self._adapt)


class RawSet(SetList):
    """A list of list type set. It remembers all items that were ever added to it."""

    __slots__ = ("_known",)

    def __init__(self, raw: list[Any], adapt: Callable[[Any], Any]) -> None:
        super().__init__(raw, adapt)
        self._known: set[Hashable] | None = None

    def _keys(self) -> set[Hashable]:
        if self._known is None:
            self._known = set()
            self._known.update(map(_hashed, self.raw))
        return self._known

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has the same length and only items that this one remembers."""
        if not is_list(other):
            return _refused(other)
        if len(self.raw) != size_of(other):
            return False
        known = self._keys()
        return all(_hashed(_go_value(item)) in known for item in _items(other))

    def cel_add(self, other: Any) -> Any:
        """Return this list and the new items of the other, and remember them."""
        if not is_list(other):
            raise _refused(other)
        raw, known = list(self.raw), self._keys()
        for item in _items(other):
            value = _go_value(item)
            key = _hashed(value)
            if key not in known:
                known.add(key)
                raw.append(value)
        return RawSet(raw, self._adapt)


class RawMapList(MapList):
    """A list of list type map."""

    __slots__ = ()

    def _key(self, raw: Any) -> Hashable:
        if type(raw) is not dict:
            return object()
        parts = [raw.get(key) for key in self.keys]
        if len(parts) > _MANY_KEYS:
            return " ".join("<nil>" if part is None else show(part) for part in parts)
        return tuple(map(_hashed, parts))

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has the same length and equal items for the same keys."""
        if not is_list(other):
            return _refused(other)
        if len(self.raw) != size_of(other):
            return False
        mine = {self._key(item): item for item in self.raw}
        for theirs in _items(other):
            key = self._key(_go_value(theirs))
            if key not in mine:
                return False
            same = equal_not_null(self._adapt(mine[key]), theirs)
            if same is not True:
                return same
        return True

    def cel_add(self, other: Any) -> Any:
        """Return this list with the items of the other in the places of those with the same keys, or at its end."""
        if not is_list(other):
            raise _refused(other)
        raw = list(self.raw)
        places = {self._key(item): place for place, item in enumerate(raw)}
        for item in _items(other):
            value = _go_value(item)
            place = places.get(self._key(value))
            if place is None:
                raw.append(value)
            else:
                raw[place] = value
        return RawMapList(raw, self._adapt, self.keys)


class StrictMap(SchemaMap):
    """An object or map as before `changes.ABSENT_FIELDS_EQUAL`: a field that rules cannot find makes it unequal."""

    __slots__ = ()

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other has all fields of this one, with equal values."""
        same = super().cel_equal(other)
        if same is not True:
            return same
        return all(find(other, key) is not MISSING for key in self.raw if self._shape.knows(key))


_NULL: Final = "invalid data, got null for schema with nullable=false"
_NOT_INT_OR_STRING: Final = "invalid data, expected XIntOrString value to be either a string or integer"
_NOT_A_MAP: Final = "invalid data, expected a map for the provided schema with type=object"
_NOT_AN_ARRAY: Final = "invalid data, expected an array for the provided schema with type=array"
_NO_ITEMS: Final = "invalid array type, expected Items with a non-empty Schema"
_SECOND: Final = 1_000_000_000


class Adapters:
    """Makes and caches the functions that turn JSON values into CEL values, one a schema node.

    Attributes:
        lists: The classes of lists: ordered lists, sets, map lists.
        maps: The class of objects and maps.
    """

    __slots__ = ("_made", "lists", "maps")

    def __init__(self) -> None:
        self._made: dict[StructuralSchema, Adapt] = {}
        self.lists: tuple[type[SchemaList], type[SetList], type[MapList]] = (
            (SchemaList, SetList, MapList) if changes.LISTS_KEEP_ITEMS.holds else (RawList, RawSet, RawMapList)
        )
        self.maps = SchemaMap if changes.ABSENT_FIELDS_EQUAL.holds else StrictMap

    def of(self, schema: StructuralSchema) -> Adapt:
        """Return the function for values of a schema node; its result may be a `CelError`, and it never raises.

        Every error is a new object: an error that is raised twice would hold the frames of both.
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
            shape, made = ObjectShape(schema, adapters.of), adapters.maps
            return lambda raw: made(raw, shape) if type(raw) is dict else CelError(_NOT_A_MAP)
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
