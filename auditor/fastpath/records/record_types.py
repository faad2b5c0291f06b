"""The form of each node of a schema: record types that msgspec fills, and annotations for all other nodes.

While decoding, msgspec checks everything that annotations express: types, unknown fields, nulls, required fields,
enums, bounds. `checks` writes code for the other keywords.

Source: as of `auditor.fastpath.dicts.emit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from auditor.fastpath.dicts.branches import DECORATION
from auditor.fastpath.dicts.list_code import list_sizes
from auditor.fastpath.dicts.map_code import object_sizes
from auditor.fastpath.dicts.scalars import int_bounds
from auditor.fastpath.dicts.scope import Condition, Decoded, Mode, SchemaNotEmittable, given, has_default
from auditor.fastpath.dicts.support import INT64_MAX
from auditor.schema.structural import ListType, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Container, Iterable


MOST_RECORDS: Final = 400
"""Largest number of record types of a version; creating one takes 50 us."""

_ABOUT: Final = DECORATION | {"type"}
RECORD_KEYWORDS: Final = _ABOUT | {"properties", "required"}
"""Keywords that a record type expresses."""
_COUNTS: Final = {"min_properties", "max_properties"}
_LENGTHS: Final = {"min_length", "max_length"}
_BOUNDS: Final = {"format", "minimum", "maximum", "exclusive_minimum", "exclusive_maximum"}
_INTEGER: Final = Annotated[int, Meta(ge=-INT64_MAX - 1, le=INT64_MAX)]


class RecordTypes:
    """Makes the record types of one version; equal schemas share one type.

    Args:
        on_records: Whether the rules of the version run on records: a list whose items are decoded separately is then a
            plain value.

    Attributes:
        made: Number of record types.
        has_plain: Whether a node is decoded to plain values.
    """

    def __init__(self, *, on_records: bool) -> None:
        self.made = 0
        self.has_plain = False
        self._on_records = on_records
        self._shapes: dict[tuple[StructuralSchema, tuple[str, ...]], Decoded] = {}

    def shape(self, schema: StructuralSchema, keys: tuple[str, ...] = ()) -> Decoded:
        """Return the form of a node; equal schemas share one record type."""
        shape = self._shapes.get((schema, keys))
        if shape is None:
            shape = self._shapes[schema, keys] = self._make_shape(schema, keys)
        return shape

    def _make_shape(self, schema: StructuralSchema, keys: tuple[str, ...]) -> Decoded:
        said = given(schema)
        if schema.type == "object" and not said & {"int_or_string", "embedded_resource", "preserve_unknown_fields"}:
            rest = schema.additional_properties
            if rest is None and said <= RECORD_KEYWORDS | _COUNTS and set(schema.required) <= schema.properties.keys():
                return self.record(schema, schema.properties, keys=keys)
            if isinstance(rest, StructuralSchema) and said <= _ABOUT | _COUNTS | {"additional_properties"}:
                return self._several(schema, rest, "map")
        elif (
            schema.type == "array"
            and schema.items is not None
            and said <= _ABOUT | {*("items", "min_items", "max_items")}
            and not schema.preserve_unknown_fields
        ):
            return self._several(schema, schema.items, "list")
        elif schema.type in ("string", "integer", "boolean", "number") or schema.int_or_string:
            return self._scalar(schema, said - _ABOUT - {"int_or_string"})
        return _as_plain(schema)

    def record(
        self,
        schema: StructuralSchema,
        properties: dict[str, StructuralSchema],
        head: Iterable[tuple[str, Any]] = (),
        plain: Container[str] = (),
        keys: Container[str] = (),
    ) -> Decoded:
        """Create a record type.

        Args:
            schema: The schema of the record.
            properties: The properties that become fields.
            head: Preceding fields, as (name, annotation).
            plain: Properties that are decoded to plain values.
            keys: The list-map-keys of the list that the record is an item of; none of them may be null.
        """
        self.made += 1
        if self.made > MOST_RECORDS:
            raise SchemaNotEmittable("too many records")
        made = Decoded(schema, "record", None)
        needed: list[Any] = list(head)
        others: list[Any] = []
        for name, child in properties.items():
            inner = _as_plain(child) if name in plain else self.shape(child)
            self.has_plain |= inner.kind == "plain"
            is_defaulted = has_default(child)
            attribute = f"f{len(made.fields)}"
            made.fields[name] = (attribute, inner)
            made.has_checks |= inner.has_checks or is_defaulted
            made.has_sites |= inner.has_sites or is_defaulted
            annotation = _or_null(inner)
            if name in schema.required and not is_defaulted:
                needed.append((attribute, annotation, msgspec.field(name=name)))
            else:
                default: Any = UNSET
                if not child.nullable and name not in keys:
                    made.drops.add(name)
                    if annotation is not Raw:  # missing and null are equivalent
                        annotation, default = annotation | None, None
                elif annotation is not Raw:
                    annotation |= UnsetType
                others.append((attribute, annotation, msgspec.field(name=name, default=default)))
        made.has_checks |= bool(property_counts(made, "x"))
        made.annotation = msgspec.defstruct(f"R{self.made}", needed + others, forbid_unknown_fields=True, gc=False)
        return made

    def _several(self, schema: StructuralSchema, child: StructuralSchema, kind: str) -> Decoded:
        below = self.shape(child, schema.list_map_keys)
        self.has_plain |= below.kind == "plain"
        annotation: Any = dict[str, _or_null(below)] if kind == "map" else list[_or_null(below)]  # type: ignore[misc]
        if kind == "list" and below.kind == "plain" and self._on_records:
            return _as_plain(schema)  # its items are decoded one by one, and rules may read them
        made = Decoded(schema, kind, annotation, below=below, has_sites=below.has_sites)
        made.has_checks = below.has_checks
        if kind == "map":
            made.has_checks |= bool(object_sizes(schema, "x", Mode.PROVE))
            return made
        if schema.list_type is ListType.MAP:
            keys = [below.fields.get(key) for key in schema.list_map_keys]
            if not all(key is not None and key[1].kind == "scalar" and not key[1].schema.nullable for key in keys):
                return _as_plain(schema)
        elif schema.list_type is ListType.SET and below.kind != "scalar":
            return _as_plain(schema)
        made.has_checks |= bool(list_sizes(schema, "x", Mode.PROVE)) or schema.list_type in (
            ListType.MAP,
            ListType.SET,
        )
        return made

    def _scalar(self, schema: StructuralSchema, said: set[str]) -> Decoded:
        if schema.nullable and schema.enum:
            return _as_plain(schema)
        made = Decoded(schema, "scalar", None)
        if schema.int_or_string:
            made.annotation = _INTEGER | str
            made.has_checks = bool(said)
        elif schema.type == "string":
            made.annotation = str
            if said == {"enum"} and schema.enum and all(type(value) is str for value in schema.enum):
                made.annotation = Literal[tuple(dict.fromkeys(schema.enum))]
            elif said and said <= _LENGTHS:
                made.annotation = Annotated[str, Meta(min_length=schema.min_length, max_length=schema.max_length)]
            else:
                made.has_checks = bool(said)
        elif schema.type == "integer":
            made.annotation = _INTEGER
            if said:
                low, high, is_doubtful = int_bounds(schema)
                if said <= _BOUNDS and not is_doubtful:
                    made.annotation = Annotated[
                        int, Meta(ge=-INT64_MAX - 1 if low is None else low, le=INT64_MAX if high is None else high)
                    ]
                else:
                    made.has_checks = True
        elif schema.type == "number":
            made.annotation = float | _INTEGER
            made.has_checks = bool(said)
        else:
            made.annotation = bool
            made.has_checks = bool(said)
        return made

    # -- checks -------------------------------------------------------------------------------------------------------


def _as_plain(schema: StructuralSchema) -> Decoded:
    return Decoded(schema, "plain", Raw, has_checks=True, has_sites=True)


def property_counts(shape: Decoded, x: str) -> list[Condition]:
    """Return conditions on the number of properties of a record with defaults."""
    schema = shape.schema
    unsure = [
        f"({x}.{attribute} is not {shape.absent(name)})"
        for name, (attribute, child) in shape.fields.items()
        if name not in schema.required and not has_default(child.schema)
    ]
    sure = len(shape.fields) - len(unsure)
    least, most = schema.min_properties, schema.max_properties
    number = " + ".join((*unsure, str(sure)))
    conditions: list[Condition] = []
    if least is not None and least > sure:
        conditions.append(
            (f"not ({' or '.join(unsure) or 'False'})" if least == 1 else f"{number} < {least}", "return False")
        )
    if most is not None and most < len(shape.fields):
        conditions.append((f"{number} > {most}", "return False"))
    return conditions


def _or_null(shape: Decoded) -> Any:
    return shape.annotation | None if shape.schema.nullable and shape.annotation is not Raw else shape.annotation
