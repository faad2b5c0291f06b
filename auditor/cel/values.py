"""The values of CEL in Python.

=====================  ============================================================================================
CEL                    Python
=====================  ============================================================================================
null, bool, string     None, bool, str
int, double, bytes     int (64 bits, `type(x) is int`), float, bytes
uint                   `UInt`, an int of its own type
list, map              list, dict: a plain dict has str keys only; other maps are `MapValue`
duration, timestamp    `Duration`, `Timestamp`, both integer nanoseconds
optional, type         `Optional_`, `TypeValue`
extension types        frozen classes with a class attribute ``cel_type: Type`` and ``__eq__``
=====================  ============================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from auditor.cel.types import DURATION, DYN, TIMESTAMP, TYPE, Type, optional_of

__all__ = ["Duration", "Optional_", "Timestamp", "TypeValue", "UInt"]


class UInt(int):
    """An unsigned integer of 64 bits; compares and hashes as the number it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds (64 bits, signed)."""

    cel_type: ClassVar[Type] = DURATION
    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant: nanoseconds since 1970-01-01T00:00:00Z, negative before (years 1 to 9999, so more than 64 bits)."""

    cel_type: ClassVar[Type] = TIMESTAMP
    nanos: int


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
