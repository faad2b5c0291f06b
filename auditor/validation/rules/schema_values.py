"""Values that know their schema: `self` and everything below it in an expression.

An object or list is a view on the JSON value; its fields and items are adapted (adapters.py) when they are used. Lists
behave by their list type.

Source: k8s.io/apiserver pkg/cel/common/valuesunstructured.go, valuesreflect.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import opaque
from auditor.cel.cel_values import (
    MISSING,
    CelList,
    CelMap,
    Duration,
    Timestamp,
    TypeValue,
    UInt,
    is_list,
    is_map,
)
from auditor.cel.operations.cost import unhashable
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, contains, equal_not_null, find, size_of
from auditor.cel.operations.go_names import show
from auditor.golang.go_text import type_name
from auditor.ratcheting import deep_equal
from auditor.schema.structural import StructuralSchema
from auditor.validation.rules.escaping import escape, unescape
from auditor.validation.rules.rule_types import with_meta

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from auditor.cel.cel_types import Type

    Adapt = Callable[[Any], Any]


_NOT_A_SCALAR: Final = "listSet operations are only supported on lists of scalar values"
_MANY_KEYS: Final = 3


class Preserved:
    """A value of a field that the schema does not declare: it can only be compared for equality."""

    __slots__ = ("raw",)
    cel_type: ClassVar[Type] = opaque("unknown")
    go_type = "*common.unknownPreserved"

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def cel_plain(self) -> Any:
        """Return the JSON value."""
        return self.raw

    def cel_equal(self, other: Any) -> bool:
        """Return whether the other is the same JSON value."""
        return deep_equal(self.raw, _raw(other))


def _raw(value: Any) -> Any:
    """Return the server's value for a value, for comparison with JSON values."""
    if isinstance(value, Preserved | SchemaMap | SchemaList):
        return value.raw
    return value


class ObjectShape:
    """The keys of an object or map by the schema."""

    __slots__ = ("_adapt_by", "_known", "_properties", "_rest", "is_object")

    def __init__(self, schema: StructuralSchema, adapt_by: Callable[[StructuralSchema], Adapt]) -> None:
        if schema.embedded_resource:
            schema = with_meta(schema)
        self.is_object = bool(schema.properties)
        self._properties = schema.properties
        rest = schema.additional_properties
        self._rest = rest if not self.is_object and isinstance(rest, StructuralSchema) else None
        self._adapt_by = adapt_by
        self._known: dict[str, Adapt] = {}

    def knows(self, key: str) -> bool:
        """Return whether the schema declares a key."""
        return self._rest is not None or key in self._properties

    def adapt(self, key: str) -> Adapt | None:
        """Return the adapter of the value at a key, or None if the schema does not declare the key."""
        if self._rest is not None:
            return self._adapt_by(self._rest)
        adapt = self._known.get(key)
        if adapt is None and key in self._properties:
            adapt = self._known[key] = self._adapt_by(self._properties[key])
        return adapt


class SchemaMap(CelMap):
    """An object or a map."""

    __slots__ = ("_shape", "raw")
    go_type = "*common.unstructuredMap"

    def __init__(self, raw: dict[str, Any], shape: ObjectShape) -> None:
        self.raw = raw
        self._shape = shape

    def cel_size(self) -> int:
        """Return the number of entries, including unknown ones."""
        return len(self.raw)

    def cel_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return self.raw

    def cel_find(self, key: Any) -> Any:
        """Return the value at a key; fields of an object are named by their identifiers, and null counts as absent."""
        if type(key) is not str:
            return key if isinstance(key, CelError) else CelError(NO_SUCH_OVERLOAD)
        shape = self._shape
        name: str | None = key
        if shape.is_object and "__" in key:
            name = unescape(key)
        if name is None or name not in self.raw:
            return MISSING
        value = self.raw[name]
        if value is None and shape.is_object:
            return MISSING
        adapt = shape.adapt(name)
        return MISSING if adapt is None else adapt(value)

    def cel_iter(self) -> Iterator[Any]:
        """Yield the keys of a map, or the identifiers of the fields of an object; unknown ones come last, as null."""
        shape = self._shape
        unknown = 0
        for key in self.raw:
            if shape.knows(key):
                yield (escape(key) or key) if shape.is_object else key
            else:
                unknown += 1
        for _ in range(unknown):
            yield None

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether all declared fields are equal, and all unknown fields that both have."""
        if not is_map(other):
            return _no_overload(other)
        if len(self.raw) != size_of(other):
            return False
        for key, value in self.raw.items():
            if self._shape.knows(key):
                mine, yours = self.cel_find(key), find(other, key)
                if (mine is MISSING) is not (yours is MISSING):
                    return False
                if mine is not MISSING:
                    same = equal_not_null(mine, yours)
                    if same is not True:
                        return same
            elif not isinstance(other, SchemaMap):
                return CelError(NO_SUCH_OVERLOAD)
            elif key in other.raw and not deep_equal(value, other.raw[key]):
                return False
        return True


def _no_overload(value: Any) -> CelError:
    return value if isinstance(value, CelError) else CelError(NO_SUCH_OVERLOAD)


def _iterate(values: Any) -> Iterable[Any]:
    return values if type(values) is list else values.cel_iter()


class SchemaList(CelList):
    """An ordered list."""

    __slots__ = ("_adapt", "raw")
    go_type = "*common.unstructuredList"

    def __init__(self, raw: list[Any], adapt: Adapt) -> None:
        self.raw = raw
        self._adapt = adapt

    def cel_size(self) -> int:
        """Return the number of items."""
        return len(self.raw)

    def cel_plain(self) -> list[Any]:
        """Return the JSON list."""
        return self.raw

    def cel_get(self, index: Any) -> Any:
        """Return the item at an index."""
        if type(index) is not int:
            return index if isinstance(index, CelError) else CelError(f"unsupported index: {show(index)}")
        if not 0 <= index < len(self.raw):
            return CelError(f"index out of bounds: {index}")
        return self._adapt(self.raw[index])

    def cel_iter(self) -> Iterator[Any]:
        """Yield the items."""
        return map(self._adapt, self.raw)

    def cel_contains(self, value: Any) -> bool | CelError:
        """Return whether an item equals a value; an item that cannot be compared is an error if none does."""
        if isinstance(value, CelError):
            return value
        failure: CelError | None = None
        for item in self.cel_iter():
            same = equal_not_null(item, value)
            if same is True:
                return True
            if same is not False and failure is None:
                failure = same
        return False if failure is None else failure

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has the same items in the same order."""
        if not is_list(other):
            return _no_overload(other)
        if len(self.raw) != size_of(other):
            return False
        for mine, yours in zip(self.cel_iter(), _iterate(other), strict=False):
            same = equal_not_null(mine, yours)
            if same is not True:
                return same
        return True

    def cel_add(self, other: Any) -> Any:
        """Return the items of both."""
        if not is_list(other):
            raise _no_overload(other)
        return [*self.cel_iter(), *_iterate(other)]


class SetList(SchemaList):
    """A list of list type set: order is ignored, and adding is a union."""

    __slots__ = ()
    go_type = "*common.unstructuredSetList"

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has the same items in any order."""
        return _sets_equal(self, other)

    def cel_add(self, other: Any) -> Any:
        """Return this list and the items of the other that it lacks."""
        return _union(list(self.cel_iter()), other)


class MapList(SchemaList):
    """A list of list type map: items are identified by their keys."""

    __slots__ = ("keys",)
    go_type = "*common.unstructuredMapList"

    def __init__(self, raw: list[Any], adapt: Adapt, keys: tuple[str, ...]) -> None:
        super().__init__(raw, adapt)
        self.keys = keys

    def _key(self, raw: Any) -> Hashable:
        # The server looks up keys by their identifiers even in the JSON value, and finds none if these differ.
        if type(raw) is not dict:
            return object()
        return _composed([self._part(raw.get(key)) for key in self.keys])

    def _part(self, value: Any) -> Hashable:
        """Return the hashable form of a part of a key; the server panics if it is not a scalar."""
        if type(value) in (dict, list) and len(self.keys) <= _MANY_KEYS:
            raise unhashable(type_name(value))
        return _scalar_key(value)

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has equal items for the same keys, in any order."""
        if not is_list(other):
            return _no_overload(other)
        if len(self.raw) != size_of(other):
            return False
        mine = {self._key(item): item for item in self.raw}
        seen: set[Hashable] = set()
        for theirs in _iterate(other):
            key = self._key(_raw(theirs) if isinstance(theirs, SchemaMap) else None)
            if key not in mine:
                return False
            same = equal_not_null(self._adapt(mine[key]), theirs)
            if same is not True:
                return same
            seen.add(key)
        return len(seen) == len(mine)

    def cel_add(self, other: Any) -> Any:
        """Return this list with the items of the other in the places of those with the same keys, or at its end."""
        return _merged(list(self.cel_iter()), other, self.keys)


class _Made(CelList):
    """The result of adding to a set or map list, which is a list of the same type."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def cel_size(self) -> int:
        return len(self.items)

    def cel_get(self, index: Any) -> Any:
        if type(index) is not int:
            return index if isinstance(index, CelError) else CelError(f"unsupported index: {show(index)}")
        if not 0 <= index < len(self.items):
            return CelError(f"index out of bounds: {index}")
        return self.items[index]

    def cel_iter(self) -> Iterator[Any]:
        return iter(self.items)

    def cel_contains(self, value: Any) -> bool | CelError:
        return contains(self.items, value)


class MadeSet(_Made):
    """The union of a set list with another list."""

    __slots__ = ()
    go_type = "*common.refValSetList"

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has the same items in any order."""
        return _sets_equal(self, other)

    def cel_add(self, other: Any) -> Any:
        """Return this list and the items of the other that it lacks."""
        return _union(list(self.items), other)


class MadeMapList(_Made):
    """A map list into which another list was merged."""

    __slots__ = ("keys",)
    go_type = "*common.refValMapList"

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether the other list has equal items for the same keys, in any order."""
        if not is_list(other):
            return _no_overload(other)
        if len(self.items) != size_of(other):
            return False
        mine = {_value_key(item, self.keys): item for item in self.items}
        seen: set[Hashable] = set()
        for theirs in _iterate(other):
            key = _value_key(theirs, self.keys)
            if key not in mine:
                return False
            same = equal_not_null(mine[key], theirs)
            if same is not True:
                return same
            seen.add(key)
        return len(seen) == len(mine)

    def cel_add(self, other: Any) -> Any:
        """Return this list with the items of the other in the places of those with the same keys, or at its end."""
        return _merged(list(self.items), other, self.keys)


_COMPARABLE: Final = frozenset({bool, int, float, str, bytes, UInt, Duration, Timestamp, TypeValue, type(None)})


def _scalar_key(value: Any) -> Hashable:
    """Return the key of a scalar in a Go map, which includes its type."""
    kind = type(value)
    if isinstance(value, CelError):
        return object()  # an item that is an error is equal to nothing, not even to itself
    if kind is Timestamp:
        return kind, value.nanos, value.zone
    return (kind, value) if kind in _COMPARABLE else (kind, show(value))


def _set_key(item: Any) -> Hashable | CelError:
    return CelError(_NOT_A_SCALAR) if is_list(item) or is_map(item) else _scalar_key(item)


def _set_keys(items: Iterable[Any]) -> set[Hashable] | CelError:
    keys: set[Hashable] = set()
    for item in items:
        key = _set_key(item)
        if isinstance(key, CelError):
            return key
        keys.add(key)
    return keys


def _sets_equal(left: SetList | MadeSet, right: Any) -> bool | CelError:
    if not is_list(right):
        return _no_overload(right)
    if left.cel_size() != size_of(right):
        return False
    mine = _set_keys(left.cel_iter())
    if isinstance(mine, CelError):
        return mine
    seen: set[Hashable] = set()
    for item in _iterate(right):
        key = _set_key(item)
        if isinstance(key, CelError):
            return key
        if key not in mine:
            return False
        seen.add(key)
    return len(seen) == len(mine)


def _union(items: list[Any], other: Any) -> MadeSet:
    if not is_list(other):
        raise _no_overload(other)
    known = _set_keys(items)
    if isinstance(known, CelError):
        raise known
    for item in _iterate(other):
        key = _set_key(item)
        if isinstance(key, CelError):
            raise key
        if key not in known:
            known.add(key)
            items.append(item)
    return MadeSet(items)


def _merged(items: list[Any], other: Any, keys: tuple[str, ...]) -> MadeMapList:
    if not is_list(other):
        raise _no_overload(other)
    places = {_value_key(item, keys): place for place, item in enumerate(items)}
    for item in _iterate(other):
        place = places.get(_value_key(item, keys))
        if place is None:
            items.append(item)
        else:
            items[place] = item
    return MadeMapList(items, keys)


def _value_key(item: Any, keys: tuple[str, ...]) -> Hashable:
    parts: list[Hashable] = []
    for key in keys:
        value = find(item, key) if is_map(item) else MISSING
        parts.append((None,) if value is MISSING or isinstance(value, CelError) else _scalar_key(value))
    return _composed(parts)


def _composed(parts: Sequence[Any]) -> Hashable:
    if len(parts) <= _MANY_KEYS:
        return tuple(parts)
    # The server joins more keys than that into one text, in which 1 and 1.0 are the same.
    return tuple((int, part[1]) if part[0] is float and part[1].is_integer() else part for part in parts)
