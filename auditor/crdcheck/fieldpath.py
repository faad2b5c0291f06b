"""Simple JSON paths into a schema: those of selectable fields and of a rule's fieldPath.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject

__all__ = ["FieldPathError", "FoundField", "ServerPanic", "find_field"]

_END: Final = "unexpected end of JSON path"
_UNKNOWN: Final = "does not refer to a valid field"
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}
_ESCAPE: Final = re.compile(r"\\.")


class FieldPathError(ValueError):
    """A path that leads nowhere; the text is the server's."""


class ServerPanic(Exception):
    """The server fails on this (code 500) instead of judging it: it follows a pointer to nothing."""

    def __init__(self) -> None:
        super().__init__("panic: runtime error: invalid memory address or nil pointer dereference")


@dataclass(frozen=True, slots=True)
class FoundField:
    """Where a path leads.

    Attributes:
        path: As the server prints it: ``spec.m[k]``.
        root: The first step.
        schema: The schema there, decoded; None where any value may be (additionalProperties: true).
    """

    path: str
    root: str
    schema: JsonObject | None


def _words(path: str) -> Iterator[str]:
    at = 0
    while at < len(path):
        if path[at] == "'":
            end = at + 1
            while end < len(path) and not (path[end] == "'" and path[end - 1] != "\\"):
                end += 1
            end = min(end + 1, len(path))
        elif path[at] in ".[]":
            end = at + 1
        else:
            end = at
            while end < len(path) and path[end] not in ".[]":
                end += 1
        yield path[at:end]
        at = end


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        letter = match[0][1]
        if letter not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
        return _ESCAPES[letter]

    return _ESCAPE.sub(one, text)


def find_field(path: str, schema: JsonObject | None, *, brackets: bool = True) -> FoundField:
    """Follow a path through a schema.

    Args:
        path: ``.spec.color``; with brackets also ``['spec'].color``.
        schema: Decoded with `schema_type`; None where there is none.
        brackets: Whether ``['name']`` is allowed.
    Raises:
        FieldPathError: It does not parse, or names what the schema does not have.
        ServerPanic: It goes on where the server has no schema.
    """
    words = _words(path)
    at: JsonObject | None = schema
    shown = root = ""
    for word in words:
        if word == "[":
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _bracketed(words)
        elif word == ".":
            name = next(words, "")
            if not name:
                raise FieldPathError(_END)
        else:
            raise FieldPathError(f"expected [ or . but got: {word}")
        if at is None:
            raise ServerPanic
        is_property, at = _step(at, name)
        shown = (f"{shown}.{name}" if shown else name) if is_property else f"{shown}[{name}]"
        root = root or (name if is_property else f"[{name}]")
        if word == "[" and (closing := next(words, "")) != "]":
            raise FieldPathError(f"expected ] but got {closing}" if closing else _END)
    return FoundField(shown, root, at)


def _bracketed(words: Iterator[str]) -> str:
    word = next(words, "")
    if not word:
        raise FieldPathError(_END)
    if len(word) < 2 or word[0] != "'" or word[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {word}")
    return _unescape(word[1:-1])


def _step(schema: JsonObject, name: str) -> tuple[bool, JsonObject | None]:
    """Return whether the name is that of a property, and the schema below."""
    properties = schema.get("properties")
    if properties:
        if name not in properties:
            raise FieldPathError(_UNKNOWN)
        return True, properties[name]
    extra: Any = schema.get("additionalProperties")
    if extra is None:
        raise FieldPathError(_UNKNOWN)
    return False, extra.props
