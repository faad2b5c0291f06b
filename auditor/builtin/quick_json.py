"""Fast check of stored JSON: proves that a value decodes, with msgspec types generated from the Go types of the scheme.

orjson proves the text, msgspec each value of a known field, also for repeated keys. Values with their own Go decoder
(times, quantities, base64) are proven if they have their usual spelling; all others are left to the exact reader.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import orjson

from auditor.builtin.scheme import type_named, types
from auditor.crds.specs import split_spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.builtin.scheme import Target


_SURE_TIME: Final = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII
)
_SURE_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


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
    fields = dict(pairs)
    if len(fields) != len(pairs):  # a server reads both values of a repeated name
        raise _UnprovenError
    return fields


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
        return type(value) is str and _SURE_BASE64.fullmatch(value) is not None
    return type(value) is str and _SURE_TIME.fullmatch(value) is not None


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
    return next(number for number, entry in enumerate(types()) if (entry[0], entry[1]) == wanted)


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


_TIME: Final = (
    r"\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
)
_BASE64: Final = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z"
_CUSTOM: Final[dict[str, Any]] = {
    "v1.Time": Annotated[str, msgspec.Meta(pattern=rf"\A{_TIME}Z\Z")],
    "v1.MicroTime": Annotated[str, msgspec.Meta(pattern=rf"\A{_TIME}\.\d{{6}}Z\Z")],
    "resource.Quantity": Annotated[str, msgspec.Meta(pattern=r"\A\d{1,12}(?:n|u|m|k|[MGTPE]|[KMGTPE]i)?\Z")],
    "intstr.IntOrString": Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)] | str,
    "runtime.RawExtension": msgspec.Raw,
    "v1.FieldsV1": msgspec.Raw,
}
_OTHER_CASE: Final = re.compile(rb"\\u(?:00[4-7]|212|017)|\xe2\x84\xaa|\xc5\xbf")
"""Spellings of `kind` that only a reader which ignores case accepts."""


class _JsonHead(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815 - names of JSON
    kind: str = ""


def _has_other_case(data: bytes) -> bool:
    """Whether there may be a `kind` or an `apiVersion` that only a reader which ignores case accepts."""
    lower = data.lower()
    return (
        lower.count(b'"kind"') != data.count(b'"kind"')
        or lower.count(b'"apiversion"') != data.count(b'"apiVersion"')
        or _OTHER_CASE.search(data) is not None
    )


class JsonProver:
    """Proves values of the kinds of one release; caches its decoders."""

    def __init__(self) -> None:
        self._types: dict[int, Any] = {}
        self._decoders: dict[str, msgspec.json.Decoder[Any] | None] = {}
        self._head = msgspec.json.Decoder(_JsonHead)
        self._specs = ProvenSpecs()

    def prove(self, target: Target, data: bytes) -> tuple[str, bool, bool] | None:
        """Return (stored version, has a namespace, has a name) of a value that decodes; None if this is not proven.

        Args:
            target: The storage form of the kind of its key.
            data: The value.
        """
        try:
            head = self._head.decode(data)
            label = f"{head.apiVersion}/{head.kind}" if "/" in head.apiVersion else f"/{head.apiVersion}/{head.kind}"
            if label not in target.versions:
                return None
            if target.group == "apiextensions.k8s.io":
                return self._definition(label, data)
            if target.group == "apps" and b"deprecated.d" in data:  # annotations that a server reads as numbers
                return None
            if _has_other_case(data):
                return None
            decoder = self._decoder(label)
            if decoder is None:
                return None
            orjson.loads(data)
            metadata = decoder.decode(data).metadata
        except (msgspec.MsgspecError, orjson.JSONDecodeError, UnicodeDecodeError, RecursionError):
            return None
        version = head.apiVersion.rpartition("/")[2]
        if metadata is None:
            return version, False, False
        return version, bool(metadata.namespace), bool(metadata.name)

    def _definition(self, label: str, data: bytes) -> tuple[str, bool, bool] | None:
        rest, digest = self._specs.left_out(label, data)
        definition = None if _has_other_case(rest) else proven_definition(label, rest)
        if definition is None:
            return None
        if digest is not None:
            self._specs.add(digest)
        metadata = definition.get("metadata") or {}
        return label.split("/")[1], bool(metadata.get("namespace")), bool(metadata.get("name"))

    def _decoder(self, label: str) -> msgspec.json.Decoder[Any] | None:
        if label not in self._decoders:
            number = type_named(label)
            self._decoders[label] = msgspec.json.Decoder(self._type(number)) if isinstance(number, int) else None
        return self._decoders[label]

    def _type(self, number: int) -> Any:
        """Return the msgspec type that proves a Go type."""
        prover = self._types.get(number)
        if prover is None:
            prover = self._types[number] = self._made(number, *types()[number])
        return prover

    def _or_null(self, number: int) -> Any:
        prover = self._type(number)
        return prover if prover is msgspec.Raw else prover | None

    def _made(self, number: int, shape: str, name: str, *more: Any) -> Any:
        if shape == "struct":
            fields, names = [], {}
            for position, (path, kind) in enumerate(zip(more[0][::2], more[0][1::2], strict=True)):
                key = path.rpartition(".")[2]
                own = key if key in ("metadata", "name", "namespace") else f"f{position}"
                names[own] = key
                fields.append((own, self._or_null(kind), None))
            return msgspec.defstruct(f"T{number}", fields, rename=names, gc=False)
        if shape == "list":
            return list[self._or_null(more[0])]  # type: ignore[misc]
        if shape == "map":
            return dict[str, self._or_null(more[0])]  # type: ignore[misc]
        if shape == "int":
            return Annotated[int, msgspec.Meta(ge=-(1 << (more[0] - 1)), le=(1 << (more[0] - 1)) - 1)]
        if shape == "bytes":
            return Annotated[str, msgspec.Meta(pattern=_BASE64)]
        if shape == "custom":
            return _CUSTOM[name]
        return {"string": str, "bool": bool, "any": msgspec.Raw}[shape]
