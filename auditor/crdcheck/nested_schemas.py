"""All schemas inside a schema, for the checks that an update may skip; and simple JSON paths into a schema.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go (SchemaHas);
pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.schema.schema_path import UNKNOWN_FIELD, FieldPathError, field_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject


class ServerPanic(Exception):
    """The server panics on a definition instead of checking it, and closes the connection of the request."""

    def __init__(self, text: str = "panic: runtime error: invalid memory address or nil pointer dereference") -> None:
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class FoundField:
    """The schema position that a path refers to.

    Attributes:
        path: As the server prints it: ``spec.m[k]``.
        root: The first step.
        schema: The decoded schema of the position; None if any value is allowed (additionalProperties: true).
    """

    path: str
    root: str
    schema: JsonObject | None


def find_field(path: str, schema: JsonObject | None, *, brackets: bool = True) -> FoundField:
    """Follow a path through a schema.

    Args:
        path: ``.spec.color``; with brackets also ``['spec'].color``.
        schema: Decoded with `schema_type`; None if there is none.
        brackets: Whether ``['name']`` is allowed.
    Raises:
        FieldPathError: It does not parse, or names an unknown field.
        ServerPanic: It continues at a position for which the server has no schema.
    """
    node: JsonObject | None = schema
    shown = root = ""
    for name in field_names(path, brackets=brackets):
        if node is None:
            raise ServerPanic
        is_property, node = _step(node, name)
        shown = (f"{shown}.{name}" if shown else name) if is_property else f"{shown}[{name}]"
        root = root or (name if is_property else f"[{name}]")
    return FoundField(shown, root, node)


def _step(schema: JsonObject, name: str) -> tuple[bool, JsonObject | None]:
    """Return whether the name is that of a property, and the schema below it."""
    properties = schema.get("properties")
    if properties:
        if name not in properties:
            raise FieldPathError(UNKNOWN_FIELD)
        return True, properties[name]
    extra: Any = schema.get("additionalProperties")
    if extra is None:
        raise FieldPathError(UNKNOWN_FIELD)
    return False, extra.props


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
    return any("default" in node for node in everywhere(props))


_EXTENSIONS: Final = ("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string")
_LISTED: Final = ("x-kubernetes-list-map-keys", "x-kubernetes-validations")
_GIVEN: Final = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type")


def has_extensions(props: JsonObject) -> bool:
    """Whether any node has an extension that needs a structural schema."""
    return any(
        any(node.get(key) for key in (*_EXTENSIONS, *_LISTED)) or any(key in node for key in _GIVEN)
        for node in everywhere(props)
    )


def has_invalid_types(props: JsonObject) -> bool:
    """Whether any node has an unknown type."""
    return any(node.get("type") and node["type"] not in TYPES for node in everywhere(props))
