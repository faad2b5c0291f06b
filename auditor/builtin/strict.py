"""Strict decoding into a Go type of the scheme: lists unknown and repeated fields with their paths.

It does what a server does with ``fieldValidation=Strict``. As there, fields inside types with their own decoder
(schemas that may be a bool or a list, embedded objects) are not checked.

Source: sigs.k8s.io/json, internal/golang/encoding/json decode.go and kubernetes_patch.go.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from auditor.builtin.gotyped import Decoding, GoDecodeError, Members
from auditor.builtin.scheme import types

if TYPE_CHECKING:
    from collections.abc import Callable


UNKNOWN: Final = "unknown field"
REPEATED: Final = "duplicate field"
_MOST: Final = 100
"""Largest number of fields that a server names."""


class _StrictDecoding(Decoding):
    """A decoding that also collects unknown and repeated fields, with their paths."""

    __slots__ = ("noted", "place", "saved_at")

    def __init__(self) -> None:
        super().__init__()
        self.place = self.saved_at = ""
        self.noted: dict[tuple[str, str], None] = {}

    def save(self, word: str, name: str) -> None:
        """As `Decoding.save`."""
        if self.saved is None:
            self.saved_at = self.place
        super().save(word, name)

    def note(self, what: str, key: str) -> None:
        """Record a field, once, up to a hundred."""
        if len(self.noted) < _MOST:
            self.noted[what, f"{self.place}.{key}" if self.place else key] = None

    def check(self, value: Any, number: int) -> None:
        """As `Decoding.check`."""
        shape, _, *more = types()[number]
        place = self.place
        if shape == "list" and type(value) is list:
            for index, item in enumerate(value):
                self.place = f"{place}[{index}]"
                self.check(item, more[0])
        elif shape == "map" and isinstance(value, Members):
            self.entries(value, lambda item: self.check(item, more[0]))
        elif shape == "any":
            self.anything(value)
        else:
            super().check(value, number)
        self.place = place

    def members(self, value: Members, name: str, fields: list[Any]) -> None:
        """As `Decoding.members`."""
        place, struct, field = self.place, self.struct, self.field
        known = {
            path.rpartition(".")[2]: (path, number) for path, number in zip(fields[::2], fields[1::2], strict=True)
        }
        own, seen = name.rpartition(".")[2], set()
        for key, item in value:
            known_member = known.get(key)
            if known_member is None:
                self.note(UNKNOWN, key)
                continue
            if key in seen:
                self.note(REPEATED, key)
            seen.add(key)
            self.struct, self.field = own, (*field, known_member[0])
            self.place = f"{place}.{key}" if place else key
            self.check(item, known_member[1])
            self.place = place
        self.struct, self.field = struct, field

    def entries(self, value: Members, check: Callable[[Any], None]) -> None:
        """Decode the members of an object into the entries of a map."""
        place, seen = self.place, set()
        for key, item in value:
            if key in seen:
                self.note(REPEATED, key)
            seen.add(key)
            self.place = f"{place}.{key}" if place else key
            check(item)
            self.place = place

    def anything(self, value: Any) -> None:
        """Decode a value without a type."""
        if isinstance(value, Members):
            self.entries(value, self.anything)
        elif type(value) is list:
            place = self.place
            for index, item in enumerate(value):
                self.place = f"{place}[{index}]"
                self.anything(item)
            self.place = place


def check_strictly(parsed: Any, number: int) -> list[tuple[str, str]]:
    """Decode a parsed text (`parse_members`) into a type; return (`UNKNOWN` or `REPEATED`, path) for each fault.

    Raises:
        GoDecodeError: It does not decode.
    """
    decoding = _StrictDecoding()
    _decode(decoding, parsed, number)
    return list(decoding.noted)


def metadata_error(parsed: Any) -> GoDecodeError | None:
    """Return kubectl's error for the metadata of an object before it sends it, or None if they decode.

    Args:
        parsed: The metadata, parsed (`parse_members`).

    Source: cli-runtime pkg/resource/metadata_decoder.go.
    """
    decoding = _StrictDecoding()
    decoding.struct, decoding.field, decoding.place = "metadataOnlyObject", ("metadata",), "metadata"
    try:
        _decode(decoding, parsed, _metadata_type())
    except GoDecodeError as error:
        return error
    return None


@functools.cache
def _metadata_type() -> int:
    """Return the number of the type of metadata; all releases share the table of types."""
    return next(position for position, entry in enumerate(types()) if entry[:2] == ["struct", "v1.ObjectMeta"])


def _decode(decoding: _StrictDecoding, parsed: Any, number: int) -> None:
    """Decode into a type.

    Raises:
        GoDecodeError: It does not decode; `place` says where.
    """
    try:
        decoding.check(parsed, number)
    except GoDecodeError as error:
        error.place = decoding.place
        raise
    if decoding.saved is not None:
        wrong = GoDecodeError(decoding.saved)
        wrong.place = decoding.saved_at
        raise wrong
