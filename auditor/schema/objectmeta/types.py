"""The Go type of ObjectMeta, and how a decoded one is encoded again.

Source: apimachinery pkg/apis/meta/v1/{types,time,helpers}.go, pkg/runtime/converter.go (ToUnstructured).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.text import float_json
from auditor.golang.times import GoTime, GoTimeError, format_rfc3339, parse_rfc3339
from auditor.releases import changes
from auditor.schema.typed import (
    BOOL,
    INT64,
    RAW,
    STRING,
    GoType,
    GoTypeError,
    Shape,
    TypedDecoder,
    list_of,
    map_of,
    named_string,
    struct,
    word_of,
)

if TYPE_CHECKING:
    from auditor.base.records import JsonObject

__all__ = ["OBJECT_META", "reads_the_same", "served_metadata", "to_json"]


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


TIME: Final = GoType("v1.Time", Shape.CUSTOM, read=_read_time)
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
            made[key] = [_owner(one) for one in value] if key == "ownerReferences" else [_entry(one) for one in value]
    return made


def served_metadata(decoded: JsonObject) -> JsonObject:
    """Return decoded metadata of an object (not of an embedded one) as JSON data."""
    made = to_json(decoded)
    if "creationTimestamp" not in made and not changes.NO_NULL_TIMES.holds:
        made["creationTimestamp"] = None
    return made


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
