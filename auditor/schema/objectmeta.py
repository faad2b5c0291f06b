"""Coerces metadata to its type, at the root of an object and in its embedded resources.

After decoding, malformed fields are dropped (`drop`); after a conversion they make the read fail.

Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta/{coerce,algorithm}.go; apimachinery
pkg/apis/meta/v1/{types,time,helpers}.go, pkg/runtime/converter.go (ToUnstructured).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from auditor.base.paths import ROOT
from auditor.golang.go_text import display, float_json, go_syntax, quote, type_name
from auditor.golang.jsontext import encode
from auditor.golang.times import GoTime, GoTimeError, format_rfc3339, parse_rfc3339
from auditor.releases import changes
from auditor.schema.typed import (
    BOOL,
    INT64,
    RAW,
    STRING,
    GoKind,
    GoType,
    GoTypeError,
    TypedDecoder,
    decode_typed,
    list_of,
    map_of,
    named_string,
    struct,
    word_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.paths import KeyPath
    from auditor.base.records import JsonObject
    from auditor.schema.structural import StructuralSchema


@lru_cache(maxsize=4096)
def _moment(text: str) -> GoTime | str:
    """Return a time, or the error for its text. Times repeat: every read decodes metadata twice."""
    try:
        return parse_rfc3339(text)
    except GoTimeError as error:
        return str(error)


def _read_time(decoder: TypedDecoder, value: Any) -> GoTime:
    if type(value) is not str:
        raise GoTypeError(decoder.type_error(word_of(value), "string"))
    moment = _moment(value)
    if isinstance(moment, str):
        raise GoTypeError(moment)
    return moment


TIME: Final = GoType("v1.Time", GoKind.CUSTOM, read=_read_time)
UID: Final = named_string("types.UID")

OWNER_REFERENCE: Final = struct(
    "v1.OwnerReference",
    {
        "apiVersion": STRING,
        "kind": STRING,
        "name": STRING,
        "uid": UID,
        "controller": BOOL,
        "blockOwnerDeletion": BOOL,
    },
)

MANAGED_FIELDS_ENTRY: Final = struct(
    "v1.ManagedFieldsEntry",
    {
        "manager": STRING,
        "operation": named_string("v1.ManagedFieldsOperationType"),
        "apiVersion": STRING,
        "time": TIME,
        "fieldsType": STRING,
        "fieldsV1": RAW,
        "subresource": STRING,
    },
)

OBJECT_META: Final = struct(
    "v1.ObjectMeta",
    {
        **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "resourceVersion"), STRING),
        "uid": UID,
        "generation": INT64,
        "creationTimestamp": TIME,
        "deletionTimestamp": TIME,
        "deletionGracePeriodSeconds": INT64,
        "labels": map_of(STRING),
        "annotations": map_of(STRING),
        "ownerReferences": list_of(OWNER_REFERENCE),
        "finalizers": list_of(STRING),
        "managedFields": list_of(MANAGED_FIELDS_ENTRY),
    },
)

_KEPT_UNLESS_EMPTY: Final = frozenset(
    {
        *("name", "generateName", "namespace", "selfLink", "resourceVersion", "uid", "generation"),
        *("labels", "annotations", "finalizers"),
    }
)


def to_json(decoded: JsonObject) -> JsonObject:
    """Return decoded metadata as JSON data: zero values are left out, times are in UTC without fraction."""
    made: JsonObject = {}
    for key in sorted(decoded):
        value = decoded[key]
        if key in _KEPT_UNLESS_EMPTY:
            if value:
                made[key] = value
        elif key == "deletionGracePeriodSeconds":
            made[key] = value
        elif key == "creationTimestamp":
            if not value.is_zero:
                made[key] = format_rfc3339(value)
        elif key == "deletionTimestamp":
            made[key] = _time(value)
        elif value:
            made[key] = (
                [_owner(item) for item in value] if key == "ownerReferences" else [_entry(item) for item in value]
            )
    return made


def served_metadata(metadata: JsonObject) -> JsonObject:
    """Return metadata of an object (not of an embedded one) as servers show them."""
    if "creationTimestamp" not in metadata and not changes.NO_NULL_TIMES.holds:
        return {**metadata, "creationTimestamp": None}
    return metadata


def reads_the_same(metadata: JsonObject) -> bool:
    """Return whether decoding and encoding served metadata again changes nothing.

    What may change is a time: null, and one whose year has not four digits.
    """
    entries = metadata.get("managedFields", ())
    times = [entry["time"] for entry in entries if "time" in entry]
    times += [metadata[key] for key in ("creationTimestamp", "deletionTimestamp") if key in metadata]
    return all(type(time) is str and len(time) == _LENGTH_OF_TIME for time in times)


_LENGTH_OF_TIME: Final = len("2006-01-02T15:04:05Z")


def _time(value: GoTime) -> str | None:
    """Return the text of an optional time: a zero time is written as null."""
    return None if value.is_zero else format_rfc3339(value)


def _owner(decoded: JsonObject) -> JsonObject:
    return {"apiVersion": "", "kind": "", "name": "", "uid": "", **decoded}


def _entry(decoded: JsonObject) -> JsonObject:
    made: JsonObject = {}
    for key, value in decoded.items():
        if key == "time":
            made[key] = _time(value)
        elif key == "fieldsV1":
            made[key] = _reencoded(value)
        elif value:
            made[key] = value
    return made


def _reencoded(value: Any) -> Any:
    """Return raw JSON after one encoding: floats without fraction become integers.

    Without recursion: fieldsV1 may be nested to any depth.
    """
    if type(value) is not dict and type(value) is not list:
        return _reencoded_scalar(value)
    if not _has_float(value):
        return value
    root = value.copy()
    todo: list[Any] = [root]
    while todo:
        node = todo.pop()
        for key, child in node.items() if type(node) is dict else enumerate(node):
            if type(child) is dict or type(child) is list:
                node[key] = child.copy()
                todo.append(node[key])
            elif type(child) is float:
                node[key] = _reencoded_scalar(child)
    return root


def _has_float(value: Any) -> bool:
    todo = [value]
    for node in todo:
        for child in node.values() if type(node) is dict else node:
            if type(child) is dict or type(child) is list:
                if child:
                    todo.append(child)
            elif type(child) is float:
                return True
    return False


def _reencoded_scalar(value: Any) -> Any:
    if type(value) is float and value.is_integer() and "e" not in float_json(value) and -(2**63) <= value < 2**63:
        return int(value)
    return value


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
    for key, item in value.items() if len(value) > 1 else ():  # a single key was just found to be malformed
        try:
            kept.update(_decode({key: item}, unknown))
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


def read_metadata(value: Any, *, drop: bool, unknown: list[str] | None = None) -> JsonObject:
    """Decode metadata into its type and encode it again, as JSON data.

    Each field is decoded and encoded by itself, so those that this leaves as they are (`_UNCHANGED`) are taken over:
    they are no error and bring no unknown field. If all are, the result is the given object.

    Args, Raises:
        As `decode_metadata`.
    """
    if type(value) is not dict:
        return to_json(decode_metadata(value, drop=drop, unknown=unknown))
    kept: JsonObject = {}
    others: JsonObject = {}
    for key, item in value.items():
        is_unchanged = _UNCHANGED.get(key)
        (kept if is_unchanged is not None and is_unchanged(item) else others)[key] = item
    return {**kept, **to_json(decode_metadata(others, drop=drop, unknown=unknown))} if others else value


def _is_text(value: Any) -> bool:
    return type(value) is str and value != ""


def _is_integer(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _are_texts(value: Any) -> bool:
    """Return whether a list, or a map, has items, and all are texts."""
    for item in value if type(value) is list else value.values():
        if type(item) is not str:
            return False
    return len(value) > 0


is_written_time = re.compile(
    r"[1-9][0-9](?:[0-9]{2}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"|(?:0[48]|[2468][048]|[13579][26])-02-29)T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
).fullmatch
"""Matches times as the server writes them, which is never the zero time: it leaves that out.

Those before the year 1000 and those on 29 February of a year such as 2000 are left to the exact path.
"""

_OWNER_TYPES: Final = {
    **dict.fromkeys(("apiVersion", "kind", "name", "uid"), str),
    **dict.fromkeys(("controller", "blockOwnerDeletion"), bool),
}
_OWNER_TEXTS: Final = frozenset({"apiVersion", "kind", "name", "uid"})
_ENTRY_TEXTS: Final = frozenset({"manager", "operation", "apiVersion", "fieldsType", "subresource"})


def _is_owner(value: Any) -> bool:
    if type(value) is not dict:
        return False
    for key, item in value.items():
        if type(item) is not _OWNER_TYPES.get(key):
            return False
    return value.keys() >= _OWNER_TEXTS


def _is_entry(value: Any) -> bool:
    if type(value) is not dict:
        return False
    for key, item in value.items():
        if key in _ENTRY_TEXTS:
            if type(item) is not str or not item:
                return False
        elif key == "time":
            if type(item) is not str or not is_written_time(item):
                return False
        elif key != "fieldsV1" or item is None or _reencoded(item) is not item:
            return False
    return True


_UNCHANGED: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "resourceVersion", "uid"), _is_text),
    "generation": lambda value: _is_integer(value) and value != 0,
    **dict.fromkeys(
        ("creationTimestamp", "deletionTimestamp"), lambda value: type(value) is str and is_written_time(value)
    ),
    "deletionGracePeriodSeconds": _is_integer,
    **dict.fromkeys(("labels", "annotations"), lambda value: type(value) is dict and _are_texts(value)),
    "ownerReferences": lambda value: type(value) is list and value and all(map(_is_owner, value)),
    "finalizers": lambda value: type(value) is list and _are_texts(value),
    "managedFields": lambda value: type(value) is list and value and all(map(_is_entry, value)),
}
"""Field of metadata to the test whether decoding and encoding certainly leave a value as it is."""


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
            value[key] = read_metadata(child, drop=drop, unknown=seen)
        except CoerceError as error:
            if not drop:
                raise CoerceError(_invalid(below, child, str(error))) from None
            return  # malformed as a whole: the coercion after the conversion handles it
        unknown.extend(f"{below.structured()}.{key}" for key in seen)


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
