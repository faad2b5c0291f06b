"""All schemas inside a schema, for the checks that an update may skip.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go (SchemaHas).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject

__all__ = ["TYPES", "everywhere", "has_defaults", "has_extensions", "has_invalid_types", "item_schema"]

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
"""The types that a schema may have, as errors list them."""


def item_schema(props: JsonObject) -> JsonObject | None:
    """Return the one schema of the items of a list; None if there is none, or several."""
    items: Any = props.get("items")
    return None if items is None else items.props


def everywhere(props: JsonObject) -> Iterator[JsonObject]:
    """Yield a schema and all schemas in it, at any depth."""
    yield props
    for key in ("allOf", "anyOf", "oneOf"):
        for child in props.get(key, ()):
            yield from everywhere(child)
    for key in ("properties", "patternProperties", "definitions"):
        for child in props.get(key, {}).values():
            yield from everywhere(child)
    if "not" in props:
        yield from everywhere(props["not"])
    holders: list[Any] = [props.get(key) for key in ("items", "additionalProperties", "additionalItems")]
    holders += props.get("dependencies", {}).values()
    for holder in holders:
        if holder is not None and holder.props is not None:
            yield from everywhere(holder.props)
    items: Any = props.get("items")
    if items is not None:
        for child in items.many:
            yield from everywhere(child)


def has_defaults(props: JsonObject) -> bool:
    """Whether any node has a default."""
    return any("default" in one for one in everywhere(props))


_EXTENSIONS: Final = ("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string")
_LISTED: Final = ("x-kubernetes-list-map-keys", "x-kubernetes-validations")
_GIVEN: Final = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type")


def has_extensions(props: JsonObject) -> bool:
    """Whether any node has an extension that needs a structural schema."""
    return any(
        any(one.get(key) for key in (*_EXTENSIONS, *_LISTED)) or any(key in one for key in _GIVEN)
        for one in everywhere(props)
    )


def has_invalid_types(props: JsonObject) -> bool:
    """Whether any node has an unknown type."""
    return any(one.get("type") and one["type"] not in TYPES for one in everywhere(props))
