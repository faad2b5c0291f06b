"""Fast check of stored definitions: walks their JSON and proves that a server decodes them.

Schemas contain schemas, and some of their fields accept several types, which the types of `quick_json` cannot express.
The walk proves common definitions: names in exact spelling and once in an object, finite numbers. All others are left
to the exact reader, which takes a hundred times as long.

Clusters of a fleet mostly have the same definitions: a spec that was proven once is not walked again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.builtin.scheme import type_named, types
from auditor.crds.specs import split_spec

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ProvenSpecs", "proven_definition"]

_TIME: Final = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


class ProvenSpecs:
    """The specs of proven definitions, by digest; the other fields of a definition do not matter.

    Args:
        most: Largest number of specs to remember.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._known: set[bytes] = set()

    def left_out(self, label: str, data: bytes) -> tuple[bytes, bytes | None]:
        """Return the JSON of a definition with ``{}`` for its spec if that was proven already; it proves as much.

        Args:
            label: Its API version and kind.
            data: Its JSON.
        Returns:
            The JSON, and the digest to `add` once it is proven, or None if there is nothing to add.
        Raises:
            msgspec.MsgspecError: It is not JSON.
        """
        parts = split_spec(data)
        if parts is None:
            return data, None
        rest, spec = parts
        digest = hashlib.sha256(label.encode() + spec).digest()
        return (rest, None) if digest in self._known else (data, digest)

    def add(self, digest: bytes) -> None:
        """Remember the spec of a definition that was proven."""
        if len(self._known) >= self._most:
            self._known.clear()
        self._known.add(digest)


class _UnprovenError(ValueError):
    """A value that the walk does not prove."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):  # a server reads both values of a repeated name
        raise _UnprovenError
    return found


def proven_definition(label: str, data: bytes) -> dict[str, Any] | None:
    """Return a definition that a server decodes, or None if that is not proven.

    Args:
        label: Its API version and kind, ``apiextensions.k8s.io/v1/CustomResourceDefinition``.
        data: Its JSON.
    """
    number = type_named(label)
    if not isinstance(number, int):
        return None
    try:
        orjson.loads(data)  # it refuses invalid UTF-8, lone surrogates and NaN
        document: dict[str, Any] = json.loads(data, object_pairs_hook=_once)
        _check(number, document)
    except (ValueError, RecursionError):
        return None
    return document


def _check(number: int, value: Any) -> None:
    if value is None:
        return
    shape, name, *more = types()[number]
    if shape == "struct":
        _check_struct(number, value)
    elif shape == "list":
        _check_items(more[0], value if type(value) is list else None)
    elif shape == "map":
        _check_items(more[0], value.values() if type(value) is dict else None)
    elif shape == "custom" and name != "v1.Time":
        _check_custom(name, value)
    elif not _is_scalar(shape, more, value):
        raise _UnprovenError


def _check_items(number: int, items: Iterable[Any] | None) -> None:
    if items is None:
        raise _UnprovenError
    for item in items:
        _check(number, item)


@functools.cache
def _fields(number: int) -> tuple[dict[str, int], frozenset[str]]:
    """Return the fields of a struct with their types, and their names in lower case."""
    fields = types()[number][2]
    known = {path.rpartition(".")[2]: kind for path, kind in zip(fields[::2], fields[1::2], strict=True)}
    return known, frozenset(name.lower() for name in known)


def _check_struct(number: int, value: Any) -> None:
    if type(value) is not dict:
        raise _UnprovenError
    known, lower = _fields(number)
    for key, item in value.items():
        kind = known.get(key)
        if kind is not None:
            _check(kind, item)
            continue
        if not key.isascii() or key.lower() in lower:  # some decoders accept it for the field
            raise _UnprovenError
        _check_any(item)


def _is_scalar(shape: str, more: list[Any], value: Any) -> bool:
    """Whether a value is proven for a type that is neither struct, list nor map."""
    if shape == "string":
        return type(value) is str
    if shape == "bool":
        return type(value) is bool
    if shape == "int":
        return type(value) is int and -(1 << (more[0] - 1)) <= value < 1 << (more[0] - 1)
    if shape == "float":
        return type(value) in (int, float) and abs(value) < 1e300
    if shape == "bytes":
        return type(value) is str and _BASE64.fullmatch(value) is not None
    return type(value) is str and _TIME.fullmatch(value) is not None


def _check_custom(name: str, value: Any) -> None:
    """Check a value of a type that has its own decoder."""
    version, _, form = name.partition(".")
    if form in ("JSON", "FieldsV1"):
        _check_any(value)
    elif form == "JSONSchemaPropsOrBool" and type(value) is bool:
        return
    elif form.startswith("JSONSchemaPropsOr") and type(value) is dict:
        _check(_schema_type(version), value)
    elif form == "JSONSchemaPropsOrArray" and type(value) is list:
        _check_items(_schema_type(version), value)
    elif form == "JSONSchemaPropsOrStringArray" and type(value) is list:
        if not all(type(item) is str for item in value):
            raise _UnprovenError
    else:
        raise _UnprovenError


@functools.cache
def _schema_type(version: str) -> int:
    wanted = ("struct", f"{version}.JSONSchemaProps")
    return next(number for number, one in enumerate(types()) if (one[0], one[1]) == wanted)


def _check_any(value: Any) -> None:
    """Check a value that is stored unchanged."""
    if type(value) is dict:
        for item in value.values():
            _check_any(item)
    elif type(value) is list:
        for item in value:
            _check_any(item)
    elif (type(value) is float and not isfinite(value)) or (type(value) is int and abs(value) >= 1 << 63):
        raise _UnprovenError
