"""Coerces metadata to its type, at the root of an object and in its embedded resources.

After decoding, malformed fields are dropped (`drop`); after a conversion they make the read fail.

Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta/{coerce,algorithm}.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from auditor.base.paths import ROOT
from auditor.golang.jsontext import encode
from auditor.golang.text import display, float_json, go_syntax, quote, type_name
from auditor.releases import changes
from auditor.schema.objectmeta.types import OBJECT_META, to_json
from auditor.schema.typed import GoTypeError, decode_typed

if TYPE_CHECKING:
    from auditor.base.paths import KeyPath
    from auditor.base.records import JsonObject
    from auditor.schema.structural import StructuralSchema

__all__ = ["CoerceError", "coerce_embedded", "decode_metadata"]


class CoerceError(Exception):
    """Metadata that makes the read fail; the text is the server's."""


def decode_metadata(value: Any, *, drop: bool, unknown: list[str] | None = None) -> JsonObject:
    """Decode metadata into its type.

    Args:
        value: The value of the key ``metadata``, which exists.
        drop: Leave out keys with a malformed value, one by one.
        unknown: Collects the paths of unknown fields, relative to metadata.
    Raises:
        CoerceError: It is malformed, and nothing may be dropped or nothing remains.
    """
    try:
        return _decode(value, unknown)
    except GoTypeError as error:
        if not drop:
            raise CoerceError(str(error)) from None
    if type(value) is not dict:
        raise CoerceError(f"invalid metadata: expected object, got {type_name(value)}")
    kept: JsonObject = {}
    for key, one in value.items():
        try:
            kept.update(_decode({key: one}, unknown))
        except GoTypeError:
            continue
    return kept


def _decode(value: Any, unknown: list[str] | None) -> JsonObject:
    if type(value) is dict:
        value = {key: value[key] for key in sorted(value)}  # Go encodes it once before decoding: keys are sorted
    seen: list[str] | None = None if unknown is None else []
    decoded: JsonObject = decode_typed(value, OBJECT_META, number=float_json, unknown=seen)
    if unknown is not None and seen:
        unknown.extend(seen)
    return decoded


def coerce_embedded(obj: Any, schema: StructuralSchema | None, *, drop: bool) -> list[str]:
    """Coerce apiVersion, kind and metadata of embedded resources, in place.

    The root is an embedded resource only if its schema says so.

    Args:
        obj: JSON data.
        schema: Its schema; None leaves the object unchanged.
        drop: Delete malformed metadata, keep other malformed values; otherwise fail.
    Returns:
        Paths of unknown metadata fields that vanished, unordered.
    Raises:
        CoerceError: With path, value and reason.
    Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta/algorithm.go.
    """
    unknown: list[str] = []
    if schema is not None and has_embedded(schema):
        _coerce(obj, schema, ROOT, unknown, drop=drop)
    return unknown


@lru_cache(maxsize=4096)
def has_embedded(schema: StructuralSchema) -> bool:
    """Whether a schema has an embedded resource at a position that is coerced."""
    return _has_embedded(schema)


def _has_embedded(schema: StructuralSchema) -> bool:
    additional = schema.additional_properties
    return (
        schema.embedded_resource
        or any(map(_has_embedded, schema.properties.values()))
        or (schema.items is not None and _has_embedded(schema.items))
        or (additional is not None and type(additional) is not bool and _has_embedded(additional))
    )


def _coerce(value: Any, schema: StructuralSchema, path: KeyPath, unknown: list[str], *, drop: bool) -> None:
    if type(value) is dict:
        properties = schema.properties
        additional = schema.additional_properties
        for key, child in list(value.items()):
            if schema.embedded_resource:
                _coerce_key(value, key, child, path, unknown, drop=drop)
            below = properties.get(key)
            if below is not None:
                if type(child) is dict or type(child) is list:
                    _coerce(child, below, _child(path, key), unknown, drop=drop)
            elif (
                additional is not None and type(additional) is not bool and (type(child) is dict or type(child) is list)
            ):
                _coerce(child, additional, path.key(key), unknown, drop=drop)
    elif type(value) is list and schema.items is not None:
        for index, child in enumerate(value):
            if type(child) is dict or type(child) is list:
                _coerce(child, schema.items, path.index(index), unknown, drop=drop)


def _child(path: KeyPath, name: str) -> KeyPath:
    """Return the path of a property; an empty name prints as an empty pair of brackets."""
    return path.field(name) if name else path.key(name)


def _coerce_key(value: JsonObject, key: str, child: Any, path: KeyPath, unknown: list[str], *, drop: bool) -> None:
    if key in ("apiVersion", "kind"):
        if type(child) is str:
            return
        if not drop:
            raise CoerceError(_invalid(path.field(key), child, "must be a string"))
        del value[key]
    elif key == "metadata":
        below = path.field(key)
        seen: list[str] = []
        try:
            decoded = decode_metadata(child, drop=drop, unknown=seen)
        except CoerceError as error:
            if not drop:
                raise CoerceError(_invalid(below, child, str(error))) from None
            return  # malformed as a whole: the coercion after the conversion handles it
        value[key] = to_json(decoded)
        unknown.extend(f"{below.structured()}.{one}" for one in seen)


def _invalid(path: KeyPath, value: Any, detail: str) -> str:
    """Return the text of an Invalid field error. Source: apimachinery pkg/util/validation/field/errors.go."""
    if type(value) is str:
        shown = quote(value)
    elif value is None or type(value) is dict or type(value) is list:
        as_go = '"null"' if value is None else go_syntax(value)
        shown = encode(value) if changes.VALUES_AS_JSON.holds else as_go
    else:
        shown = display(value)
    return f"{path.structured()}: Invalid value: {shown}: {detail}"
