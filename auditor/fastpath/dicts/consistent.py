"""Finds schemas whose keywords contradict each other; no code is generated for them.

The emitters write code for a value by its type, and rely on checks that a server makes for new definitions: a list type
needs an array, an embedded resource needs an object, and so on. A definition in a dump may contradict itself
nevertheless. The reference audits its objects: it applies each keyword separately.

Source: apiextensions-apiserver pkg/apiserver/schema/validation.go; pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.schema.structural import ABSENT, ListType, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["contradiction"]

_TYPES: Final = frozenset(("", "string", "integer", "number", "boolean", "object", "array"))
_SCALARS: Final = frozenset(("string", "integer", "number", "boolean"))


def contradiction(schema: StructuralSchema | None) -> str:
    """Return the contradiction in a schema; empty if there is none."""
    if schema is None:
        return ""
    pending = [(schema, False)]
    seen = set()
    while pending:
        node, nested = pending.pop()
        if (id(node), nested) in seen:
            continue
        seen.add((id(node), nested))
        if found := _nested(node) if nested else _own(node):
            return found
        pending += [(child, nested) for child in _children(node)]
        pending += [(child, True) for child in _branches(node)]
    return ""


def _children(node: StructuralSchema) -> Iterator[StructuralSchema]:
    yield from node.properties.values()
    if node.items is not None:
        yield node.items
    if isinstance(node.additional_properties, StructuralSchema):
        yield node.additional_properties


def _branches(node: StructuralSchema) -> Iterator[StructuralSchema]:
    yield from node.all_of
    yield from node.any_of
    yield from node.one_of
    if node.not_ is not None:
        yield node.not_


def _own(node: StructuralSchema) -> str:
    """Return the contradiction in a node, outside of allOf, anyOf, oneOf and not."""
    kind = node.type
    if kind not in _TYPES:
        return "an unknown type"
    if node.int_or_string and (
        kind not in ("", "integer", "string") or node.preserve_unknown_fields or node.embedded_resource
    ):
        return "an integer or string that holds others"
    if node.embedded_resource and (kind != "object" or node.additional_properties is not None):
        return "an embedded resource that is no object, or has additionalProperties"
    if kind not in ("", "object") and (node.properties or node.additional_properties is not None):
        return "properties of a value that is no object"
    if node.items is not None and kind not in ("", "array"):
        return "items of a value that is no array"
    if node.properties and node.additional_properties is not None:
        return "properties beside additionalProperties"
    return _list_type(node) if node.list_type is not None or node.list_map_keys else ""


def _list_type(node: StructuralSchema) -> str:
    if node.type != "array" or node.items is None:
        return "a list type of a value that is no array"
    keys, items = node.list_map_keys, node.items
    if node.list_type is not ListType.MAP:
        return "keys of a list that is no map" if keys else ""
    if not keys or len(set(keys)) != len(keys) or items.type != "object":
        return "a map list without keys"
    for key in keys:
        child = items.properties.get(key)
        if child is None or not (child.type in _SCALARS or child.int_or_string):
            return "a key of a map list that is no scalar"
    return ""


def _nested(node: StructuralSchema) -> str:
    """Return the keyword that has no meaning in a node below allOf, anyOf, oneOf or not."""
    if (
        node.default is not ABSENT
        or node.preserve_unknown_fields
        or node.embedded_resource
        or node.list_type is not None
        or node.type not in _TYPES
    ):
        return "what concerns a whole value, in a part of its validation"
    return ""
