"""`fieldPath` of a rule: the place below its node that a false result is reported at.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from auditor.base.trail import Trail, structured
from auditor.schema.structural import StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FieldPathError", "resolve_field_path"]

_ESCAPE = re.compile(r"\\.")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(Exception):
    """A path that leads nowhere, in the server's words."""


def resolve_field_path(
    path: str, schema: StructuralSchema, *, array_notation: bool = True
) -> tuple[str, StructuralSchema]:
    """Return a path as findings print it, and the schema it leads to.

    Args:
        path: Steps ``.name`` or ``['name']``, each a property, or any key of a map.
        schema: The node that has the rule.
        array_notation: Whether ``['name']`` is allowed.

    Raises:
        FieldPathError: It is not valid.
    """
    trail: Trail = None
    tokens = _tokens(path)
    for sign in tokens:
        if sign == ".":
            name = _next(tokens)
        elif sign == "[":
            if not array_notation:
                raise FieldPathError("array notation is not allowed")
            quoted = _next(tokens)
            if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
                raise FieldPathError(f"expected single quoted string but got {quoted}")
            name = _unescaped(quoted[1:-1])
        else:
            raise FieldPathError(f"expected [ or . but got: {sign}")
        if schema.properties:
            below = schema.properties.get(name)
            trail = (trail, name)
        else:
            extra = schema.additional_properties
            below = extra if isinstance(extra, StructuralSchema) else None
            trail = (trail, name, True)
        if below is None:
            raise FieldPathError("does not refer to a valid field")
        schema = below
        if sign == "[":
            closing = _next(tokens)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
    return structured(trail), schema


def _tokens(path: str) -> Iterator[str]:
    """Yield delimiters, quoted texts, and the text between delimiters."""
    start = 0
    while start < len(path):
        if path[start] in ".[]":
            end = start + 1
        elif path[start] == "'":
            end = start + 1
            while end < len(path) and not (path[end] == "'" and path[end - 1] != "\\"):
                end += 1
            end += 1
        else:
            end = start
            while end < len(path) and path[end] not in ".[]":
                end += 1
        yield path[start:end]
        start = end


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _unescaped(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        meant = _ESCAPES.get(found[0][1])
        if meant is None:
            raise FieldPathError(f"invalid string literal: invalid escape char {found[0]}")
        return meant

    return _ESCAPE.sub(replace, text)
