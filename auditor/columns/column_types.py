"""The columns of a kind: a tree of types, made of its structural schema or of the Go types of the scheme.

Columns depend on the definition alone: properties are sorted by name, and no object is looked at. A schema may be huge:
levels are opened from the top until a number of leaves or a depth is reached, and what remains closed is JSON text. So
is what has no type of its own, and a level whose names a reader of Parquet cannot tell apart.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from auditor.builtin.scheme import types
from auditor.schema.objectmeta import OBJECT_META
from auditor.schema.structural import StructuralSchema
from auditor.schema.typed import GoKind, GoType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


MOST_LEAVES: Final = 2000
"""Leaf columns of a kind; what would exceed them is JSON text."""
MOST_DEPTH: Final = 16
"""Levels below a top-level column: properties, list items and map values."""
_MARK: Final = "auditor.json"
JSON_MARK: Final = {_MARK: "true"}
"""Metadata of the field of a column of JSON text."""


class Kind(Enum):
    """What a column holds."""

    STRING = "string"
    INTEGER = "int64"
    NUMBER = "double"
    BOOLEAN = "bool"
    TIME = "timestamp"
    JSON = "json"
    LIST = "list"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Column:
    """The type of a column, or of a part of one.

    Attributes:
        kind: What it holds.
        fields: The fields of a struct, sorted by name.
        item: The type of the items of a list, or of the values of a map, whose keys are strings.
    """

    kind: Kind
    fields: tuple[tuple[str, Column], ...] = ()
    item: Column | None = None

    def arrow(self) -> pa.DataType:
        """Return the Arrow type."""
        if self.kind is Kind.STRUCT:
            return pa.struct([arrow_field(name, column) for name, column in self.fields])
        if self.item is not None:
            below = arrow_field("value" if self.kind is Kind.MAP else "item", self.item)
            return pa.map_(pa.string(), below) if self.kind is Kind.MAP else pa.list_(below)
        return _ARROW[self.kind]


JSON: Final = Column(Kind.JSON)
_ARROW: Final = {
    Kind.STRING: pa.string(),
    Kind.INTEGER: pa.int64(),
    Kind.NUMBER: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIME: pa.timestamp("us", tz="UTC"),
    Kind.JSON: pa.string(),
}


def arrow_field(name: str, column: Column) -> pa.Field:
    """Return the Arrow field of a column; one of JSON text is marked."""
    return pa.field(name, column.arrow(), metadata=JSON_MARK if column.kind is Kind.JSON else None)


def is_json(field: pa.Field) -> bool:
    """Return whether a column is marked as one of JSON text."""
    return _MARK.encode() in (field.metadata or {})


@dataclass(slots=True)
class _Open:
    """A type whose parts are not looked at yet: its kind, and the sources of its fields or its item."""

    kind: Kind
    fields: dict[str, Any] = field(default_factory=dict)
    item: Any = None


@dataclass(slots=True)
class _Node:
    """A position of the tree that is being made."""

    source: Any
    depth: int
    kind: Kind = Kind.JSON
    fields: dict[str, _Node] = field(default_factory=dict)
    item: _Node | None = None

    def column(self) -> Column:
        """Return the finished column."""
        if self.kind is Kind.JSON:
            return JSON
        below = tuple((name, node.column()) for name, node in self.fields.items())
        return Column(self.kind, below, None if self.item is None else self.item.column())


def columns_of(properties: dict[str, Any], look: Callable[[Any], _Open]) -> dict[str, Column]:
    """Return the columns of named sources, opened level by level within the limits.

    Args:
        properties: A source for each name, such as a schema.
        look: Returns the type of a source, without its parts.
    """
    if len(properties) > MOST_LEAVES:
        return {}
    top = {name: _Node(properties[name], 0) for name in sorted(properties)}
    leaves = len(top)
    pending = deque(top.values())
    while pending:
        node = pending.popleft()
        seen = look(node.source)
        sources = seen.fields if seen.kind is Kind.STRUCT else {"": seen.item} if seen.item is not None else {}
        more = len(sources) - 1 + (seen.kind is Kind.MAP) if sources else 0
        if sources and (node.depth >= MOST_DEPTH or leaves + more > MOST_LEAVES):
            continue
        if seen.kind is Kind.STRUCT and not are_names(sources):
            continue
        node.kind = seen.kind
        leaves += more
        below = {name: _Node(sources[name], node.depth + 1) for name in sorted(sources)}
        if seen.kind is Kind.STRUCT:
            node.fields = below
        elif below:
            node.item = below[""]
        pending.extend(below.values())
    return {name: node.column() for name, node in top.items()}


def are_names(names: Iterable[str]) -> bool:
    """Whether all readers of Parquet can tell apart the fields of a struct by these names, and there are any."""
    listed = list(names)
    folded = {name.casefold() for name in listed}
    return 0 < len(folded) == len(listed) and all(map(is_name, listed))


def is_name(name: str) -> bool:
    """Whether a text can be the name of a column: Arrow has names in UTF-8, its C interface ends them with a zero."""
    try:
        return bool(name.encode()) and "\0" not in name
    except UnicodeEncodeError:
        return False


# ---- structural schemas

_SCALARS: Final = {"string": Kind.STRING, "integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}


def look_at_schema(schema: StructuralSchema) -> _Open:
    """Return the type of values of a schema."""
    if schema.int_or_string or schema.preserve_unknown_fields or schema.embedded_resource:
        return _Open(Kind.JSON)
    if schema.type in _SCALARS:
        is_time = schema.type == "string" and schema.format == "date-time"
        return _Open(Kind.TIME if is_time else _SCALARS[schema.type])
    if schema.type == "array" and schema.items is not None:
        return _Open(Kind.LIST, item=schema.items)
    if schema.type == "object" and schema.properties:
        return _Open(Kind.STRUCT, dict(schema.properties))
    if schema.type == "object" and isinstance(schema.additional_properties, StructuralSchema):
        return _Open(Kind.MAP, item=schema.additional_properties)
    return _Open(Kind.JSON)


# ---- Go types

_GO_SHAPES: Final = {
    "string": Kind.STRING,
    "int": Kind.INTEGER,
    "float": Kind.NUMBER,
    "bool": Kind.BOOLEAN,
    "bytes": Kind.STRING,
}
_GO_CUSTOM: Final = {"v1.Time": Kind.TIME, "v1.MicroTime": Kind.TIME, "resource.Quantity": Kind.STRING}
_GO_KINDS: Final = {
    GoKind.STRING: Kind.STRING,
    GoKind.BOOL: Kind.BOOLEAN,
    GoKind.INT: Kind.INTEGER,
    GoKind.FLOAT: Kind.NUMBER,
    GoKind.CUSTOM: Kind.TIME,
}


def look_at_number(source: tuple[int, frozenset[int]]) -> _Open:
    """Return the type of values of a Go type of the scheme.

    Args:
        source: Its number, and the numbers of the types around it: a type within itself is JSON text.
    """
    number, around = source
    shape, name, *more = types()[number]
    if number in around or shape in ("custom", "any"):
        return _Open(_GO_CUSTOM.get(name, Kind.JSON))
    inside = around | {number}
    if shape == "struct":
        return _Open(Kind.STRUCT, go_fields(number, inside))
    if shape in ("list", "map"):
        return _Open(Kind.LIST if shape == "list" else Kind.MAP, item=(more[0], inside))
    return _Open(_GO_SHAPES[shape])


def go_fields(number: int, around: frozenset[int] = frozenset()) -> dict[str, tuple[int, frozenset[int]]]:
    """Return the fields of a Go struct of the scheme, as sources of `look_at_number`."""
    fields = types()[number][2]
    names = (path.rpartition(".")[2] for path in fields[::2])
    return {name: (below, around) for name, below in zip(names, fields[1::2], strict=True)}


def _look_at_go_type(go_type: GoType) -> _Open:
    """Return the type of values of the metadata that a read makes."""
    if go_type.shape is GoKind.STRUCT:
        return _Open(Kind.STRUCT, dict(go_type.fields))
    if go_type.element is not None:
        return _Open(Kind.LIST if go_type.shape is GoKind.LIST else Kind.MAP, item=go_type.element)
    return _Open(_GO_KINDS.get(go_type.shape, Kind.JSON))


METADATA: Final = columns_of({"metadata": OBJECT_META}, _look_at_go_type)["metadata"]
"""The column of metadata, which is that of each kind."""


def merged(first: Column, second: Column) -> Column:
    """Return a column for the values of two: fields of both, and JSON text where their types differ."""
    if first == second:
        return first
    if first.kind is not second.kind:
        return JSON
    if first.kind is Kind.STRUCT:
        fields = merged_fields(dict(first.fields), dict(second.fields))
        return Column(Kind.STRUCT, tuple(fields.items())) if are_names(fields) else JSON
    assert first.item is not None
    assert second.item is not None
    return Column(first.kind, (), merged(first.item, second.item))


def merged_fields(first: dict[str, Column], second: dict[str, Column]) -> dict[str, Column]:
    """Return the columns by name of two structs, each merged with the one of its name, sorted by name."""
    return {
        name: merged(first[name], second[name]) if name in first and name in second else first.get(name) or second[name]
        for name in sorted({*first, *second})
    }


Paths = frozenset[tuple[str, ...]]
"""Paths of fields, in lower case; one that is empty means all of what it is relative to."""


def below(paths: Paths, name: str) -> Paths:
    """Return the paths that begin with a name, without it."""
    return frozenset(path[1:] for path in paths if path and path[0] == name.lower())


def narrowed(column: Column, paths: Paths) -> Column:
    """Return a struct with the fields that some paths lead to; whole if one leads to itself or to no field."""
    fields = {name.lower() for name, _ in column.fields}
    if column.kind is not Kind.STRUCT or not all(path and path[0] in fields for path in paths):
        return column
    kept = ((name, child, below(paths, name)) for name, child in column.fields)
    return Column(Kind.STRUCT, tuple((name, narrowed(child, inner)) for name, child, inner in kept if inner))
