"""Checks the footer of a Parquet file against its own schema, before Arrow reads the column metadata.

Arrow builds the metadata of a row group or column in calls that pyarrow declares free of exceptions. A footer that does
not fit its schema (a histogram of the wrong size, a minimum of three bytes for an integer, a missing column) then ends
the process, without an exception that could be caught. So this module reads the Thrift compact protocol of the footer
and refuses such a file first.

Source: parquet-format, `src/main/thrift/parquet.thrift`; Thrift, `doc/specs/thrift-compact-protocol.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["fault_of"]

_TRUE, _FALSE, _BYTE, _I32, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 5, 7, 8, 9, 10, 11, 12
_DEEPEST: Final = 32
_MOST_BITS: Final = 70
_BYTE_ARRAY: Final = 6
_WIDTHS: Final = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""Physical type (BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE) to the bytes of a value."""


class _Fault(Exception):
    """Raised for a footer that does not fit its schema."""


class _Leaf(NamedTuple):
    """A column of the schema."""

    physical: int
    width: int | None
    repetition: int
    definition: int


class _Reader:
    """Reads one message of the compact protocol from its bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        """Read an unsigned number."""
        byte = self.data[self.at]
        self.at += 1
        if byte < 0x80:
            return byte
        value, shift = byte & 0x7F, 7
        while byte >= 0x80:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > _MOST_BITS:
                raise _Fault("a number of more than 64 bits")
        return value

    def signed(self) -> int:
        """Read a signed number."""
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> int:
        """Skip a text; return its length in bytes."""
        length = self.number()
        self.at += length
        if self.at > len(self.data):
            raise IndexError
        return length

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and type of each field of a struct, whose value the caller reads before the next."""
        name = 0
        while head := self.data[self.at]:
            self.at += 1
            name = name + (head >> 4) if head >> 4 else self.signed()
            yield name, head & 0x0F
        self.at += 1

    def items(self) -> tuple[int, int]:
        """Read the head of a list; return its length and the type of its items."""
        head = self.data[self.at]
        self.at += 1
        return (self.number() if head >> 4 == 0x0F else head >> 4), head & 0x0F

    def structs(self, kind: int) -> Iterator[int]:
        """Yield the number of each struct of a list, which the caller reads before the next."""
        length, item = self.items() if kind == _LIST else (0, 0)
        if length and item != _STRUCT:
            raise _Fault("a list with items of another type than the format has")
        yield from range(length)

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip the value of a field."""
        if kind in (_TRUE, _FALSE):
            return
        self.skip_item(kind, depth)

    def skip_item(self, kind: int, depth: int) -> None:
        """Skip an item of a list or map, where a boolean takes one byte."""
        if depth > _DEEPEST:
            raise _Fault(f"values nested deeper than {_DEEPEST}")
        if kind in (_TRUE, _FALSE, _BYTE):
            self.at += 1
        elif kind < _DOUBLE:
            self.number()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            self.binary()
        elif kind in (_LIST, _SET):
            length, item = self.items()
            for _ in range(length):
                self.skip_item(item, depth + 1)
        elif kind == _MAP:
            length = self.number()
            kinds = self.data[self.at] if length else 0
            self.at += bool(length)
            for _ in range(length):
                self.skip_item(kinds >> 4, depth + 1)
                self.skip_item(kinds & 0x0F, depth + 1)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        else:
            raise _Fault(f"a value of the unknown type {kind}")
        if self.at > len(self.data):
            raise IndexError


def fault_of(footer: bytes) -> str:
    """Return which part of a footer does not fit its schema, or "".

    Args:
        footer: The serialized `FileMetaData`.
    """
    reader = _Reader(footer)
    leaves: list[_Leaf] | None = None
    try:
        for name, kind in reader.fields():
            if name == 2:
                leaves = _leaves(reader, kind)
            elif name == 4:
                if leaves is None:
                    return "its row groups come before its schema"
                for number in reader.structs(kind):
                    _check_group(reader, leaves, number)
            else:
                reader.skip(kind)
    except IndexError:
        return "its footer ends too early"
    except _Fault as fault:
        return str(fault)
    return ""


def _leaves(reader: _Reader, kind: int) -> list[_Leaf]:
    """Read the schema, a tree in the order of a walk; return its columns."""
    leaves: list[_Leaf] = []
    above: list[tuple[int, int, int]] = []  # children that follow, repetition and definition level
    for number in reader.structs(kind):
        known = {1: -1, 2: 0, 3: 0, 5: 0}
        for name, inner in reader.fields():
            if name in known and inner == _I32:
                known[name] = reader.signed()
            else:
                reader.skip(inner)
        physical, width, repeated, children = known.values()
        repetition, definition = above[-1][1:] if above else (0, 0)
        if number:  # not the root
            if not above:
                raise _Fault("its schema has columns outside of its root")
            above[-1] = above[-1][0] - 1, repetition, definition
            definition += repeated in (1, 2)
            repetition += repeated == 2
        if children > 0:
            above.append((children, repetition, definition))
        elif number:
            leaves.append(_Leaf(physical, width if physical == 7 else _WIDTHS.get(physical), repetition, definition))
        while above and above[-1][0] <= 0:
            above.pop()
    if above:
        raise _Fault("its schema lacks columns")
    return leaves


def _check_group(reader: _Reader, leaves: list[_Leaf], group: int) -> None:
    columns = 0
    for name, kind in reader.fields():
        if name != 1:
            reader.skip(kind)
            continue
        for at in reader.structs(kind):
            if at >= len(leaves):
                raise _Fault(f"row group {group} has more columns than the schema")
            _check_chunk(reader, leaves[at], f"column {at} of row group {group}")
            columns += 1
    if columns != len(leaves):
        raise _Fault(f"row group {group} has {columns} columns, the schema {len(leaves)}")


def _check_chunk(reader: _Reader, leaf: _Leaf, what: str) -> None:
    has_metadata = False
    for name, kind in reader.fields():
        if name == 3 and kind == _STRUCT:
            has_metadata = True
            _check_metadata(reader, leaf, what)
        elif name in (8, 9):
            raise _Fault(f"{what} is encrypted")
        else:
            reader.skip(kind)
    if not has_metadata:
        raise _Fault(f"{what} has no metadata")


def _check_metadata(reader: _Reader, leaf: _Leaf, what: str) -> None:
    physical = None
    for name, kind in reader.fields():
        if name == 1 and kind == _I32:
            physical = reader.signed()
        elif name == 12 and kind == _STRUCT:
            _check_statistics(reader, leaf, what)
        elif name == 16 and kind == _STRUCT:
            _check_sizes(reader, leaf, what)
        else:
            reader.skip(kind)
    if physical != leaf.physical:
        raise _Fault(f"{what} has the type {physical}, in the schema {leaf.physical}")


def _check_statistics(reader: _Reader, leaf: _Leaf, what: str) -> None:
    for name, kind in reader.fields():
        if name in (1, 2, 5, 6) and kind == _BINARY:  # max, min, max_value, min_value
            length = reader.binary()
            if leaf.width is not None and length != leaf.width:
                raise _Fault(f"{what} has a bound of {length} bytes, its values have {leaf.width}")
        else:
            reader.skip(kind)


def _check_sizes(reader: _Reader, leaf: _Leaf, what: str) -> None:
    for name, kind in reader.fields():
        if name == 1 and leaf.physical != _BYTE_ARRAY:
            raise _Fault(f"{what} counts bytes of text and has none")
        if name in (2, 3) and kind == _LIST:
            length, item = reader.items()
            expected = (leaf.repetition if name == 2 else leaf.definition) + 1
            if length not in (0, expected):
                raise _Fault(f"{what} has a histogram of {length} levels, its schema {expected}")
            for _ in range(length):
                reader.skip_item(item, 0)
        else:
            reader.skip(kind)
