"""The header of an object: what sorts it, and distinguishes lists from objects."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from auditor.golang import jsontext

EXACT_LIMIT: Final = 64 << 20
"""Size in bytes of a value up to which the exact decoder reads it if the fast one refuses."""


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""


class ObjectHeader(msgspec.Struct, frozen=True, gc=False):
    """The fields that sort an object and distinguish lists from objects; empty if absent or not text."""

    apiVersion: str = ""  # noqa: N815 - the name in the JSON text
    kind: str = ""
    metadata: _Metadata = _Metadata()

    @property
    def group(self) -> str:
        """The group in apiVersion; empty for the core group."""
        group, slash, _ = self.apiVersion.partition("/")
        return group if slash else ""

    @property
    def namespace(self) -> str:
        """metadata.namespace."""
        return self.metadata.namespace

    @property
    def name(self) -> str:
        """metadata.name."""
        return self.metadata.name


_DECODER: Final = msgspec.json.Decoder(ObjectHeader)


def header_of(value: Any) -> ObjectHeader | None:
    """Return the header of a decoded object, or None for any other value."""
    if type(value) is not dict:
        return None
    metadata = value.get("metadata")
    if type(metadata) is not dict:
        metadata = {}
    fields = [value.get("apiVersion"), value.get("kind"), metadata.get("namespace"), metadata.get("name")]
    version, kind, namespace, name = (text if type(text) is str else "" for text in fields)
    return ObjectHeader(version, kind, _Metadata(namespace, name))


def fast_header(data: bytes | memoryview) -> ObjectHeader | None:
    """Return the header as `read_header`, or None if the fast decoder refuses the text."""
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def fast_headers(data: bytes | memoryview) -> list[ObjectHeader] | None:
    """Return the headers of objects that follow one another, or None if the fast decoder refuses any of them."""
    try:
        return _DECODER.decode_lines(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_header(data: bytes | memoryview, *, exact: bool = True) -> ObjectHeader | None:
    """Return the header of the object in some bytes, or None if the server could not decode them as an object.

    The fast decoder checks the syntax of the whole text without building it; the exact one decides about texts that it
    refuses, unless `exact` is False.
    """
    header = fast_header(data)
    if header is not None:
        return header
    if not exact or len(data) > EXACT_LIMIT:
        return None
    try:
        return header_of(jsontext.decode(bytes(data)))
    except jsontext.GoJsonError:
        return None
