"""Schemas as types of the rule language: the type of `self` and its greatest size.

`declare` returns the type of a schema node in an expression, or None if expressions cannot access it. `cel_type` adds
the names of object types that one environment needs. Sizes are for the cost estimate at admission; running a rule does
not use them.

Source: k8s.io/apiserver pkg/cel/common/schemas.go, pkg/cel/types.go; apiextensions-apiserver
pkg/apiserver/schema/cel/model/schemas.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from auditor.base.quick_init import quick_init
from auditor.cel import cel_types as cel
from auditor.releases import changes
from auditor.schema.structural import ABSENT, StructuralSchema
from auditor.validation.rules.escaping import RESERVED, escape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.cel.cel_types import ObjectType, Type


MAX_REQUEST_SIZE: Final = 3 * 1024 * 1024
"""Bytes of the largest request, from which the sizes of unbounded values are estimated."""
SELF_TYPE: Final = "selfType"
"""Name of the type of `self`; random in the server, so that no rule can depend on it."""
_MAX_NAME_LENGTH = 253
_STRING_FORMATS: Final = {
    # format: CEL type, smallest size and largest length in JSON (None means that of the request)
    "byte": (cel.BYTES, 2, None),
    "duration": (cel.DURATION, 3, 32),
    "date": (cel.TIMESTAMP, 12, 12),
    "date-time": (cel.TIMESTAMP, 21, 32),
}
_KEYWORDS_AS_FIELDS = (1, 31)


@quick_init
@dataclass(frozen=True, slots=True, eq=False)
class DeclaredType:
    """The type of a schema node in an expression.

    Attributes:
        schema: The node; at the root of a resource with type and object meta added (`with_meta`).
        scalar: Its CEL type, unless it is a list, map or object.
        fields: For an object: identifier (escaped name) to type; None for everything else.
        element: The type of the items of a list or the values of a map.
        is_map: Whether it is a map.
        max_elements: The most items, entries, characters or bytes it may have; 0 for other types.
        min_size: Bytes of its smallest JSON form.
    """

    schema: StructuralSchema
    scalar: Type | None = None
    fields: Mapping[str, DeclaredType] | None = None
    element: DeclaredType | None = None
    is_map: bool = False
    max_elements: int = 0
    min_size: int = 2


_NOTHING: Final = StructuralSchema()
_STRING_NODE: Final = StructuralSchema(type="string")


def with_meta(schema: StructuralSchema) -> StructuralSchema:
    """Return the schema of a resource with the common fields: apiVersion, kind and the names of its metadata."""
    metadata = schema.properties.get("metadata", _NOTHING)
    texts = [schema.properties.get(name, _NOTHING) for name in ("kind", "apiVersion")]
    texts += [metadata.properties.get(name, _NOTHING) for name in ("name", "generateName")]
    if metadata.type == "object" and all(text.type == "string" for text in texts):
        return schema
    names = {
        name: StructuralSchema(type="string", max_length=_capped(metadata.properties.get(name), longest))
        for name, longest in (("name", _MAX_NAME_LENGTH), ("generateName", _MAX_NAME_LENGTH - 1))
    }
    if not changes.NAMES_ARE_CAPPED.holds:
        names = dict.fromkeys(names, _STRING_NODE)
    meta = StructuralSchema(type="object", properties=names)
    properties = schema.properties | {"kind": _STRING_NODE, "apiVersion": _STRING_NODE, "metadata": meta}
    return replace(schema, properties=properties, items=None)


def _capped(schema: StructuralSchema | None, longest: int) -> int:
    if schema is None or schema.max_length is None:
        return longest
    return min(schema.max_length, longest)


def declare(schema: StructuralSchema, *, is_resource: bool) -> DeclaredType | None:
    """Return the type of a schema node in an expression, or None if expressions cannot access it.

    Args:
        schema: The node.
        is_resource: Whether it is the root of a custom resource or of an embedded one.
    """
    if schema.int_or_string:
        return DeclaredType(schema, cel.DYN, max_elements=_longest_text(schema), min_size=1)
    if is_resource:
        schema = with_meta(schema)
    match schema.type:
        case "array":
            return _list(schema)
        case "object":
            return _map(schema) if isinstance(schema.additional_properties, StructuralSchema) else _object(schema)
        case "string":
            return _text(schema)
        case "boolean":
            return DeclaredType(schema, cel.BOOL, min_size=4)
        case "number":
            return DeclaredType(schema, cel.DOUBLE, min_size=1)
        case "integer":
            return DeclaredType(schema, cel.INT, min_size=1)
    return None


def _below(schema: StructuralSchema) -> DeclaredType | None:
    return declare(schema, is_resource=schema.embedded_resource)


def _list(schema: StructuralSchema) -> DeclaredType | None:
    items = None if schema.items is None else _below(schema.items)
    if items is None:
        return None
    most = (MAX_REQUEST_SIZE - 2) // (items.min_size + 1) if schema.max_items is None else max(schema.max_items, 0)
    return DeclaredType(schema, element=items, max_elements=most)


def _map(schema: StructuralSchema) -> DeclaredType | None:
    assert isinstance(schema.additional_properties, StructuralSchema)
    values = _below(schema.additional_properties)
    if values is None:
        return None
    given = schema.max_properties
    most = (MAX_REQUEST_SIZE - 2) // (values.min_size + 6) if given is None else max(given, 0)
    return DeclaredType(schema, element=values, is_map=True, max_elements=most)


def _object(schema: StructuralSchema) -> DeclaredType:
    fields: dict[str, DeclaredType] = {}
    size = 2
    for name, child in schema.properties.items():
        declared = _below(child)
        if declared is None:
            continue
        identifier = escape(name)
        if identifier is not None:
            fields[identifier] = declared
        if name in schema.required and (child.default is ABSENT or child.default is None):
            size += len(name.encode("utf-8", "surrogatepass")) + declared.min_size + 4
    return DeclaredType(schema, fields=fields, min_size=size)


def _text(schema: StructuralSchema) -> DeclaredType:
    known = _STRING_FORMATS.get(schema.format)
    if known is None:
        return DeclaredType(schema, cel.STRING, max_elements=_longest_text(schema))
    kind, smallest, longest = known
    if longest is None:
        longest = MAX_REQUEST_SIZE - 2 if schema.max_length is None else max(schema.max_length, 0)
    return DeclaredType(schema, kind, max_elements=longest, min_size=smallest)


def _longest_text(schema: StructuralSchema) -> int:
    """Return the most bytes of a text; its maxLength counts characters of up to four bytes."""
    if schema.max_length is not None and (not schema.int_or_string or changes.SHORT_INT_OR_STRINGS.holds):
        return max(schema.max_length, 0) * 4
    if schema.enum and not schema.int_or_string:
        return max(len(each.encode("utf-8", "surrogatepass")) if type(each) is str else 0 for each in schema.enum)
    return MAX_REQUEST_SIZE - 2


@dataclass(slots=True)
class _TypeNames:
    """The object types of one environment."""

    has_keywords: bool
    types: list[ObjectType] = field(default_factory=list)

    def of(self, declared: DeclaredType, name: str) -> Type:
        """Return the CEL type of a declared type; a type with fields gets a name."""
        if declared.scalar is not None:
            return declared.scalar
        if declared.fields is None:
            assert declared.element is not None
            if declared.is_map:
                return cel.map_of(cel.STRING, self.of(declared.element, f"{name}.@elem"))
            return cel.list_of(self.of(declared.element, f"{name}.@idx"))
        fields = {identifier: self.of(child, f"{name}.{identifier}") for identifier, child in declared.fields.items()}
        if self.has_keywords:
            # Since 1.31 a field may also be written as the keyword that it is: self.namespace.
            for identifier in declared.fields:
                if identifier.startswith("__") and identifier[2:-2] in RESERVED:
                    fields[identifier[2:-2]] = fields[identifier]
        made = cel.ObjectType(name, fields)
        self.types.append(made)
        return made.type


def cel_type(declared: DeclaredType, compatibility: tuple[int, int]) -> tuple[Type, list[ObjectType]]:
    """Return the CEL type of `self`, and all object types below it.

    Args:
        declared: The type of the node that has a rule.
        compatibility: Version of the environment, see `auditor.cel.kubernetes`.
    """
    names = _TypeNames(compatibility >= _KEYWORDS_AS_FIELDS)
    return names.of(declared, SELF_TYPE), names.types
