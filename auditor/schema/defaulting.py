"""Nulls and defaults: values that a read drops, values that it fills in, and the preparation of defaults.

Source: apiextensions-apiserver pkg/apiserver/schema/defaulting/{algorithm,prunenulls,prune,surroundingobject}.go.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from auditor.base.errors import NotStructural
from auditor.schema.objectmeta import coerce_embedded, has_embedded
from auditor.schema.pruning import as_resource, prune, prune_below
from auditor.schema.structural import ABSENT, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def copy_json(value: Any) -> Any:
    """Return a deep copy of JSON data."""
    if type(value) is dict:
        return {key: copy_json(child) for key, child in value.items()}
    if type(value) is list:
        return [copy_json(child) for child in value]
    return value


def drop_nulls(value: Any, schema: StructuralSchema | None) -> None:
    """Remove, in place, keys with value null if the schema neither allows null nor has a default for them.

    Null items of lists remain, and values without a schema are unchanged.
    """
    if schema is None:
        return
    if type(value) is dict:
        gone: list[str] = []
        properties = schema.properties
        additional = None if type(schema.additional_properties) is bool else schema.additional_properties
        for key, child in value.items():
            if child is None or type(child) is dict or type(child) is list:
                below = properties.get(key, additional)
                if child is not None:
                    drop_nulls(child, below)
                elif below is not None and not below.nullable and below.default is ABSENT:
                    gone.append(key)
        for key in gone:
            del value[key]
    elif type(value) is list and schema.items is not None:
        for child in value:
            if type(child) is dict or type(child) is list:
                drop_nulls(child, schema.items)


def default(value: Any, schema: StructuralSchema | None) -> list[str]:
    """Fill in, in place, defaults for values that are absent (or null if null is not allowed); from the root down.

    Returns:
        Dotted paths that received a default, sorted; without the paths inside that default.
    """
    needed = None if schema is None else _needed_of(schema)
    filled = None if needed is None else _default(value, needed)
    return sorted(path.removeprefix(".") for path in filled) if filled else []


def _needed(schema: StructuralSchema) -> StructuralSchema | None:
    """Return a schema without the nodes at and below which there is no default; None if nothing is left."""
    properties = {key: _needed(below) for key, below in schema.properties.items()}
    rest, items = schema.additional_properties, schema.items
    rest = None if rest is None or type(rest) is bool else _needed(rest)
    items = None if items is None else _needed(items)
    if rest is None:  # else all properties are needed: it applies to other keys
        properties = {key: below for key, below in properties.items() if below is not None}
    kept = {key: below or StructuralSchema(nullable=True) for key, below in properties.items()}
    if not kept and rest is None and items is None and schema.default is ABSENT:
        return None
    return StructuralSchema(
        default=schema.default, nullable=schema.nullable, properties=kept, additional_properties=rest, items=items
    )


_needed_of = lru_cache(maxsize=256)(_needed)


def _default(value: Any, schema: StructuralSchema) -> list[str]:
    """Do `default` below `value`; return paths, each with its leading dot or bracket, unordered."""
    filled: list[str] = []
    if type(value) is dict:
        properties = schema.properties
        for key, below in properties.items():
            child = value.get(key)
            if type(child) is dict or type(child) is list:
                paths = _default(child, below)
                if paths:
                    filled += [f".{key}{path}" for path in paths]
            elif child is None and below.default is not ABSENT and not (below.nullable and key in value):
                value[key] = made = copy_json(below.default)
                _default(made, below)
                filled.append(f".{key}")
        additional = schema.additional_properties
        if additional is not None and type(additional) is not bool:
            others = [(key, child) for key, child in value.items() if key not in properties]
            _default_elements(value, others, additional, ".{}{}", filled)
    elif type(value) is list and schema.items is not None:
        _default_elements(value, enumerate(value), schema.items, "[{}]{}", filled)
    return filled


def _default_elements(
    holder: Any, elements: Iterable[tuple[Any, Any]], schema: StructuralSchema, path: str, filled: list[str]
) -> None:
    """Default map values or list items, which can be null but not absent."""
    for key, child in elements:
        if type(child) is dict or type(child) is list:
            below = _default(child, schema)
            if below:
                filled += [path.format(key, rest) for rest in below]
        elif child is None and schema.default is not ABSENT and not schema.nullable:
            holder[key] = made = copy_json(schema.default)
            _default(made, schema)
            filled.append(path.format(key, ""))


@lru_cache(maxsize=4096)
def keeps_defaults(schema: StructuralSchema | None) -> bool:
    """Return whether pruning, and dropping nulls, changes nothing in an object that was pruned and defaulted before.

    They never do twice what they did once, so only what defaulting inserts can change, and the metadata of embedded
    resources, which are coerced in between.
    """
    return schema is None or (not has_embedded(schema) and all(map(_is_kept, _nodes(schema))))


def _is_kept(schema: StructuralSchema) -> bool:
    if type(schema.default) is not dict and type(schema.default) is not list:
        return True
    made = copy_json(schema.default)
    _default(made, schema)
    kept = copy_json(made)
    prune_below(kept, schema)
    drop_nulls(kept, schema)
    return repr(kept) == repr(made)  # 1 differs from 1.0 and true


def _nodes(schema: StructuralSchema) -> Iterator[StructuralSchema]:
    yield schema
    for below in (*schema.properties.values(), schema.items, schema.additional_properties):
        if isinstance(below, StructuralSchema):
            yield from _nodes(below)


def prune_defaults(schema: StructuralSchema) -> StructuralSchema:
    """Return the schema with every default pruned and coerced, as a server prepares it.

    A default may vanish by that; the node then has none. Unchanged nodes are shared with the original.

    Raises:
        NotStructural: The default of the root is not an object, so no server could serve the schema.
    Source: apiextensions-apiserver pkg/apiserver/schema/defaulting/prune.go (PruneDefaults).
    """
    return _prune_defaults(schema, schema, ())


def _prune_defaults(
    schema: StructuralSchema, root: StructuralSchema, steps: tuple[str | None, ...]
) -> StructuralSchema:
    """Prepare the defaults at and below a node. Steps lead to it: a key, ``*`` for any key, None for an item."""
    changes: dict[str, Any] = {}
    if schema.default is not ABSENT:
        made = _fitted(schema.default, root, steps)
        if made is ABSENT or made != schema.default:
            changes["default"] = made
    if schema.properties:
        properties = {key: _prune_defaults(child, root, (*steps, key)) for key, child in schema.properties.items()}
        if any(properties[key] is not child for key, child in schema.properties.items()):
            changes["properties"] = properties
    for name, step in (("additional_properties", "*"), ("items", None)):
        below = getattr(schema, name)
        if isinstance(below, StructuralSchema):
            child = _prune_defaults(below, root, (*steps, step))
            if child is not below:
                changes[name] = child
    return replace(schema, **changes) if changes else schema


def _fitted(value: Any, root: StructuralSchema, steps: tuple[str | None, ...]) -> Any:
    """Return a default after a read of an object that contains nothing else, or ABSENT."""
    whole = copy_json(value)
    for step in reversed(steps):
        whole = [whole] if step is None else {step: whole}
    if type(whole) is not dict:
        raise NotStructural("", "failed to prune default value: object root default value must be of object type")
    coerce_embedded(whole, as_resource(root), drop=True)
    prune(whole, root)
    for step in steps:
        if step is None:
            if not whole:
                return ABSENT
            whole = whole[0]
        elif step not in whole:
            return ABSENT
        else:
            whole = whole[step]
    return ABSENT if whole is None else whole
