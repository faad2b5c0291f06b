"""Pruning: removes fields that a schema does not know.

Fields are dropped by position, not by type: an object at a position of type string loses all its keys. Paths are built
only if something was dropped, from the leaf up.

Source: apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from auditor.schema.structural import StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.base.records import JsonObject


META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Keys of a resource, at the root or embedded, that pruning does not touch."""

_EMPTY_RESOURCE: Final = StructuralSchema(embedded_resource=True)


def prune(obj: JsonObject, schema: StructuralSchema | None) -> list[str]:
    """Remove fields that the schema of a resource does not know, in place.

    Args:
        obj: The resource: apiVersion, kind and metadata are not touched.
        schema: Its schema; None removes all other fields.
    Returns:
        Dotted paths of removed fields, sorted.
    """
    return prune_below(obj, _EMPTY_RESOURCE if schema is None else as_resource(schema))


@lru_cache(maxsize=4096)
def as_resource(schema: StructuralSchema) -> StructuralSchema:
    """Return the same schema, marked as that of a resource."""
    return schema if schema.embedded_resource else replace(schema, embedded_resource=True)


def prune_below(value: Any, schema: StructuralSchema | None) -> list[str]:
    """Do `prune` for a value that is not a resource itself."""
    dropped = _prune(value, schema)
    return sorted(path.removeprefix(".") for path in dropped) if dropped else []


def _prune(value: Any, schema: StructuralSchema | None) -> list[str] | None:
    """Prune and return paths below `value`, each with its leading dot or bracket; None if nothing was removed."""
    if schema is None:
        return _strip(value)
    keep = schema.preserve_unknown_fields
    if type(value) is dict:
        return _prune_object(value, schema, keep=keep)
    if type(value) is list:
        return _prune_skipped_list(value, schema.items) if keep else _prune_list(value, schema.items)
    return None


def _prune_object(value: JsonObject, schema: StructuralSchema, *, keep: bool) -> list[str] | None:
    dropped: list[str] | None = None
    gone: list[str] | None = None
    properties = schema.properties
    additional = schema.additional_properties
    embedded = schema.embedded_resource
    for key, child in value.items():
        if embedded and key in META_FIELDS:
            continue
        below = properties.get(key)
        if below is None:
            if additional is None:
                if not keep:
                    if gone is None:
                        gone = []
                    gone.append(key)
                continue
            below = None if type(additional) is bool else additional  # any bool, even false, keeps the key
        if type(child) is dict or type(child) is list:
            paths = _prune(child, below)
            if paths:
                dropped = _joined(dropped, (f".{key}{path}" for path in paths))
    if gone is not None:
        for key in gone:
            del value[key]
        dropped = _joined(dropped, (f".{key}" for key in gone))
    return dropped


def _prune_list(value: list[Any], items: StructuralSchema | None) -> list[str] | None:
    dropped: list[str] | None = None
    for index, child in enumerate(value):
        if type(child) is dict or type(child) is list:
            paths = _prune(child, items)
            if paths:
                dropped = _joined(dropped, (f"[{index}]{path}" for path in paths))
    return dropped


def _prune_skipped_list(value: list[Any], items: StructuralSchema | None) -> list[str] | None:
    """Prune a list that keeps unknown fields: its items keep theirs, too, even if their schema says otherwise."""
    if items is None:
        return None
    dropped: list[str] | None = None
    for index, child in enumerate(value):
        paths: list[str] | None = None
        if type(child) is dict:
            paths = _prune_object(child, items, keep=True)
        elif type(child) is list:
            paths = _prune_skipped_list(child, items.items)
        if paths:
            dropped = _joined(dropped, (f"[{index}]{path}" for path in paths))
    return dropped


def _strip(value: Any) -> list[str] | None:
    """Empty every object that is reached through lists alone. Without recursion: no schema limits the depth here."""
    dropped: list[str] | None = None
    todo: list[tuple[Any, str]] = [(value, "")]
    while todo:
        node, path = todo.pop()
        if type(node) is dict:
            if node:
                dropped = _joined(dropped, [f"{path}.{key}" for key in node])
                node.clear()
        elif type(node) is list:
            todo.extend(
                (child, f"{path}[{index}]")
                for index, child in enumerate(node)
                if type(child) is dict or type(child) is list
            )
    return dropped


def _joined(dropped: list[str] | None, paths: Iterable[str]) -> list[str]:
    if dropped is None:
        return list(paths)
    dropped.extend(paths)
    return dropped
