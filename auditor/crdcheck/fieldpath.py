"""Simple JSON paths into a schema: those of selectable fields and of the fieldPath of rules.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.schema.field_path import UNKNOWN_FIELD, FieldPathError, field_names

if TYPE_CHECKING:
    from auditor.base.records import JsonObject

__all__ = ["FoundField", "ServerPanic", "find_field"]


class ServerPanic(Exception):
    """The server fails on this (code 500) instead of checking it: it dereferences a nil pointer."""

    def __init__(self) -> None:
        super().__init__("panic: runtime error: invalid memory address or nil pointer dereference")


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
    at: JsonObject | None = schema
    shown = root = ""
    for name in field_names(path, brackets=brackets):
        if at is None:
            raise ServerPanic
        is_property, at = _step(at, name)
        shown = (f"{shown}.{name}" if shown else name) if is_property else f"{shown}[{name}]"
        root = root or (name if is_property else f"[{name}]")
    return FoundField(shown, root, at)


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
