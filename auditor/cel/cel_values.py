"""The values of CEL in Python, and the methods that values of other packages need.

=====================  ============================================================================================
CEL                    Python
=====================  ============================================================================================
null, bool, string     None, bool, str
int, double, bytes     int (64 bits, `type(x) is int`), float, bytes
uint                   `UInt`, an int of its own type
list, map              list, dict: a plain dict has str keys only; maps with other keys are `MapValue`
duration, timestamp    `Duration`, `Timestamp`, both integer nanoseconds
optional, type         `Optional_`, `TypeValue`
protobuf messages      their values, or `Message`
extension types        frozen classes with a class attribute ``cel_type: Type`` and ``__eq__``; compared with a value of
                       another class they give the error ``no such overload``, unless they have a `cel_equal`
=====================  ============================================================================================

Values are never changed after they are made (the one exception, the accumulator of a comprehension, never leaves it).
Lists and maps with more data than their items (such as a schema) are subclasses of `CelList` and `CelMap`. An item that
cannot be read is a `CelError` as a value, which matters only when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from auditor.cel.cel_types import DURATION, DYN, TIMESTAMP, TYPE, Type, list_of, map_of, object_type, optional_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.cel.cel_errors import CelError


class UInt(int):
    """An unsigned 64-bit integer; compares and hashes as its number."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds (64 bits, signed)."""

    cel_type: ClassVar[Type] = DURATION
    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant: nanoseconds since 1970-01-01T00:00:00Z, negative before (years 1 to 9999, so more than 64 bits).

    Attributes:
        nanos: The instant; equality and order use only this.
        zone: Offset from UTC in seconds with which it was written; used only for converting it to a string.
    """

    cel_type: ClassVar[Type] = TIMESTAMP
    nanos: int
    zone: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Optional_:  # noqa: N801 - typing has the plain name
    """An optional value; `NONE` is the empty one."""

    cel_type: ClassVar[Type] = optional_of(DYN)
    has: bool
    value: Any = None

    @staticmethod
    def of(value: Any) -> Optional_:
        """Return the optional that holds `value`."""
        return Optional_(True, value)

    @staticmethod
    def none() -> Optional_:
        """Return the empty optional."""
        return NONE


NONE = Optional_(False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value; types are equal when their names are."""

    cel_type: ClassVar[Type] = TYPE
    name: str


@dataclass(frozen=True, slots=True)
class Message:
    """A protobuf message that is no other value of CEL, without fields: ``google.protobuf.Empty``."""

    go_type: ClassVar[str] = "*types.protoObj"
    name: str

    @property
    def cel_type(self) -> Type:
        """The type of the message."""
        return object_type(self.name)

    def cel_equal(self, other: Any) -> bool:
        """Return whether the other is the same message."""
        return bool(self == other)


class _Missing:
    """Type of `MISSING`."""

    __slots__ = ()


MISSING = _Missing()
"""Result of a look-up in a map that does not have the key; null is a value."""


class CelList:
    """A list with more data than its items. Subclasses have at least `cel_size` and `cel_get`."""

    __slots__ = ()
    cel_type: ClassVar[Type] = list_of(DYN)

    def cel_size(self) -> int:
        """Return the number of items."""
        raise NotImplementedError

    def cel_get(self, index: Any) -> Any:
        """Return the item at an index (any CEL value): a `CelError` value if it is not an index or out of range."""
        raise NotImplementedError

    def cel_iter(self) -> Iterator[Any]:
        """Yield the items; one that cannot be read is a `CelError` value."""
        for index in range(self.cel_size()):
            yield self.cel_get(index)

    def cel_contains(self, value: Any) -> bool | CelError:
        """Return whether an item equals a value (``value in list``)."""
        raise NotImplementedError

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether this, as left operand, equals another value, which is not null."""
        raise NotImplementedError

    def cel_add(self, other: Any) -> Any:
        """Return this list plus another value; if that is not a list, the error is ``no such overload``."""
        raise NotImplementedError


class CelMap:
    """A map or object with more data than its entries. Subclasses have at least `cel_size`, `cel_find`, `cel_iter`."""

    __slots__ = ()
    cel_type: ClassVar[Type] = map_of(DYN, DYN)

    def cel_size(self) -> int:
        """Return the number of entries."""
        raise NotImplementedError

    def cel_find(self, key: Any) -> Any:
        """Return the value at a key (any CEL value), `MISSING`, or a `CelError` value if it cannot be read."""
        raise NotImplementedError

    def cel_iter(self) -> Iterator[Any]:
        """Yield the keys."""
        raise NotImplementedError

    def cel_equal(self, other: Any) -> bool | CelError:
        """Return whether this, as left operand, equals another value, which is not null."""
        raise NotImplementedError


class MapValue(CelMap):
    """A map whose keys need not be strings: bool, int, uint, double and string are different keys.

    A missing key is also looked up as the same number of another type, as in cel-go.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[tuple[type, Any], tuple[Any, Any]] = {}

    @classmethod
    def of(cls, items: Iterable[tuple[Any, Any]]) -> MapValue | dict[str, Any]:
        """Return a map of key and value pairs, a dict if all keys are strings; the last of equal keys counts."""
        made = cls()
        for key, value in items:
            made.put(key, value)
        return made.plain()

    def put(self, key: Any, value: Any) -> None:
        """Set an entry; only for a map that has no other user yet."""
        self._entries[_place(key)] = (key, value)

    def drop(self, key: Any) -> None:
        """Remove an entry, if it exists; only for a map that has no other user yet."""
        self._entries.pop(_place(key), None)

    def plain(self) -> MapValue | dict[str, Any]:
        """Return this map as a dict if all keys are strings."""
        if all(kind is str for kind, _ in self._entries):
            return dict(self._entries.values())
        return self

    def cel_size(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def cel_iter(self) -> Iterator[Any]:
        """Yield the keys."""
        for key, _ in self._entries.values():
            yield key

    def cel_find(self, key: Any) -> Any:
        """Return the value at a key, or `MISSING`."""
        entry = self._at(type(key), key)
        if entry is not MISSING:
            return entry
        kind = type(key)
        if kind is float and key.is_integer():
            whole = int(key)
            if -(2**63) < whole < 2**63:
                entry = self._at(int, whole)
            if entry is MISSING and 0 <= whole < 2**64:
                entry = self._at(UInt, UInt(whole))
        elif kind is int and key >= 0:
            entry = self._at(UInt, UInt(key))
        elif kind is UInt and key < 2**63:
            entry = self._at(int, int(key))
        return entry

    def _at(self, kind: type, key: Any) -> Any:
        entry = self._entries.get((kind, key) if kind in _KEYS else (kind, id(key)))
        return MISSING if entry is None else entry[1]


_KEYS = frozenset({bool, int, UInt, float, str, type(None), Duration, Timestamp, TypeValue})
"""Types in which equal values are the same key; values of other types are always distinct keys."""


def _place(key: Any) -> tuple[type, Any]:
    kind = type(key)
    return (kind, key) if kind in _KEYS else (kind, id(key))


def is_list(value: Any) -> bool:
    """Return whether a value is a list."""
    return type(value) is list or isinstance(value, CelList)


def is_map(value: Any) -> bool:
    """Return whether a value is a map (objects are)."""
    return type(value) is dict or isinstance(value, CelMap)
