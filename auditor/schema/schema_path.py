"""Simple JSON paths into a schema, as selectable fields and the fieldPath of rules have them, split into field names.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


UNKNOWN_FIELD: Final = "does not refer to a valid field"
_WORD: Final = re.compile(r"'.*?(?:(?<!\\)'|\Z)|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\.")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """A path that refers to no field; the text is the server's."""


def field_names(path: str, *, brackets: bool = True) -> Iterator[str]:
    """Yield the names in a path; look up each before asking for the next, as a server reports errors in this order.

    Args:
        path: ``.spec.color``; with brackets also ``['spec'].color``.
        brackets: Whether ``['name']`` is allowed.
    Raises:
        FieldPathError: It does not parse.
    """
    words = (word[0] for word in _WORD.finditer(path))
    for word in words:
        if word == ".":
            yield _next(words)
        elif word != "[":
            raise FieldPathError(f"expected [ or . but got: {word}")
        elif not brackets:
            raise FieldPathError("array notation is not allowed")
        else:
            quoted = _next(words)
            if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
                raise FieldPathError(f"expected single quoted string but got {quoted}")
            yield _ESCAPE.sub(_meant, quoted[1:-1])
            if (closing := _next(words)) != "]":
                raise FieldPathError(f"expected ] but got {closing}")


def _next(words: Iterator[str]) -> str:
    for word in words:
        return word
    raise FieldPathError("unexpected end of JSON path")


def _meant(escape: re.Match[str]) -> str:
    if escape[0][1] not in _ESCAPES:
        raise FieldPathError(f"invalid string literal: invalid escape char {escape[0]}")
    return _ESCAPES[escape[0][1]]
