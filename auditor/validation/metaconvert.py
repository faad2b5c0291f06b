"""Converts the metadata of an object into the server's ObjectMeta, for objects that no storage read has cleaned.

A storage read drops values of wrong types, so this is only needed for objects judged as written by hand. Values that
convert (a whole float as generation, null as absence) are converted; the first one that does not gives an error.

Source: apimachinery pkg/runtime/converter.go (FromUnstructured).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.golang.go_text import type_name

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


_OWNER: Final = {
    "apiVersion": "string",
    "kind": "string",
    "name": "string",
    "uid": "types.UID",
    "controller": "bool",
    "blockOwnerDeletion": "bool",
}
_MANAGED: Final = {
    "manager": "string",
    "operation": "v1.ManagedFieldsOperationType",
    "apiVersion": "string",
    "time": "v1.Time",
    "fieldsType": "string",
    "fieldsV1": "any",
    "subresource": "string",
}
_FIELDS: Final[dict[str, Any]] = {
    "name": "string",
    "generateName": "string",
    "namespace": "string",
    "selfLink": "string",
    "uid": "types.UID",
    "resourceVersion": "string",
    "generation": "int64",
    "creationTimestamp": "v1.Time",
    "deletionTimestamp": "v1.Time",
    "deletionGracePeriodSeconds": "int64",
    "labels": {"*": "string"},
    "annotations": {"*": "string"},
    "ownerReferences": [_OWNER],
    "finalizers": ["string"],
    "managedFields": [_MANAGED],
}
"""Name -> type; in the order of the Go struct, which is the order of conversion."""

_PYTHON: Final = {"bool": bool, "int64": int, "any": object}
_ONLY_STRINGS: Final = frozenset({str})
_KINDS: Final = {dict: "map", list: "slice", str: "string", int: "int64", float: "float64", bool: "bool"}
_TIME_KINDS: Final = {dict: "object", list: "array", int: "number", float: "number", bool: "bool"}


class Mismatch(Exception):
    """A value that does not fit its field, in the converter's words; always caught inside this package."""


def _kinds(fields: dict[str, Any]) -> dict[str, type]:
    """Return the Python type of each field, without those of any type."""
    return {
        name: _PYTHON.get(wanted, str) if type(wanted) is str else type(wanted)
        for name, wanted in fields.items()
        if wanted != "any"
    }


_KIND_OF: Final = _kinds(_FIELDS)
_ITEM_KINDS: Final = {"ownerReferences": _kinds(_OWNER), "managedFields": _kinds(_MANAGED)}


def is_clean(metadata: JsonObject) -> bool:
    """Return whether all known fields have their types and no nulls, as always after a storage read."""
    for name, value in metadata.items():
        kind = type(value)
        if kind is not _KIND_OF.get(name, kind):
            return False
        if kind is dict:
            if name in _KIND_OF and not _ONLY_STRINGS.issuperset(map(type, value.values())):
                return False
        elif kind is list and name in _KIND_OF:
            kinds = _ITEM_KINDS.get(name)
            if not (_ONLY_STRINGS.issuperset(map(type, value)) if kinds is None else _are_clean(value, kinds)):
                return False
    return True


def _are_clean(items: list[Any], kinds: dict[str, type]) -> bool:
    for item in items:
        if type(item) is not dict:
            return False
        for name, value in item.items():
            kind = type(value)
            if kind is not kinds.get(name, kind):
                return False
    return True


def convert_metadata(metadata: JsonObject) -> JsonObject:
    """Return the known fields with the types of ObjectMeta.

    Raises:
        Mismatch: A value does not fit; the first field counts.
    """
    return _struct(metadata, _FIELDS)


def _struct(value: Any, fields: dict[str, Any]) -> JsonObject:
    if type(value) is not dict:
        raise Mismatch(f"cannot restore struct from: {_KINDS[type(value)]}")
    return {name: _convert(value[name], wanted) for name, wanted in fields.items() if value.get(name) is not None}


def _convert(value: Any, wanted: Any) -> Any:
    if type(wanted) is str:
        return _scalar(value, wanted)
    if type(wanted) is dict:
        if type(value) is not dict:
            raise Mismatch(f"cannot restore map from {_KINDS[type(value)]}")
        return {key: "" if item is None else _scalar(item, "string") for key, item in value.items()}
    if type(value) is not list:
        raise Mismatch(f"cannot restore slice from {_KINDS[type(value)]}")
    inner = wanted[0]
    if inner == "string":
        return ["" if item is None else _scalar(item, "string") for item in value]
    return [{} if item is None else _struct(item, inner) for item in value]


def _scalar(value: Any, wanted: str) -> Any:
    kind = type(value)
    if kind is _PYTHON.get(wanted, str) or wanted == "any":
        return value
    if wanted == "int64" and kind is float and value.is_integer():
        return int(value)
    if wanted == "v1.Time":
        raise Mismatch(f"json: cannot unmarshal {_TIME_KINDS[kind]} into Go value of type string")
    # Go can convert an int64 to a string and a float64 to an int64, which the converter refuses by these words.
    if (kind is int and wanted not in ("bool", "int64")) or (kind is float and wanted == "int64"):
        raise Mismatch(f"cannot convert {type_name(value)} to {wanted}")
    raise Mismatch(f"unrecognized type: {wanted if wanted in ('bool', 'int64') else 'string'}")
