"""Decodes a stored value of a built-in kind as a server does, with the server's error if it fails.

A server reads values in all forms, not only in the one that it writes: protobuf after its four magic bytes, JSON, YAML,
and any of these in base64. The object must have a kind and version that the release's scheme converts to the kind of
the key. Defaults are not computed, so a panic in a default is not found.

Source: apiserver pkg/server/storage/storage_codec.go; apimachinery pkg/runtime/serializer/{recognizer,json,protobuf,
versioning}; kubernetes pkg/apis/apps/v1/conversion.go.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.builtin import gotyped
from auditor.builtin.gotyped import GoDecodeError, base64_error, check_typed, type_meta
from auditor.builtin.loose_values import SPACE
from auditor.builtin.protobuf import MAGIC, WireError, decode_message, decode_stored, decode_unknown
from auditor.builtin.scheme import scheme_name, scheme_owner, target_of, type_named, types
from auditor.golang.go_text import quote
from auditor.sources.yaml.document_text import yaml_to_json
from auditor.sources.yaml.yaml_error import YamlError

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.builtin.scheme import Target


_INT64: Final = re.compile(r"[+-]?[0-9]+\Z")
_ROLLBACK: Final = "deprecated.deployment.rollback.to"
_GENERATION: Final = "deprecated.daemonset.template.generation"
_INTERNAL: Final = "__internal"


class UndecodableError(ValueError):
    """A value that a server does not decode; the message is the server's.

    Attributes:
        version: The version of the stored apiVersion, if it could be read.
    """

    version: str | None = None


class Stored(NamedTuple):
    """A value that decodes.

    Attributes:
        api_version: As stored; if it is empty, the value is read as the internal form.
        kind: As stored.
        namespace: From its metadata; empty if there is none.
        name: From its metadata; empty if there is none.
    """

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def version(self) -> str | None:
        """The version in its apiVersion."""
        return self.api_version.rpartition("/")[2] or None


def read_stored(target: Target, data: bytes) -> Stored:
    """Decode a value as a server does that lists a kind.

    Args:
        target: The storage form of the kind of its key.
        data: The value, decrypted.
    Raises:
        UndecodableError: A server does not decode it.
    """
    try:
        decoded = _decode(target, data)
        _convert(target, decoded)
    except (GoDecodeError, WireError) as error:
        raise UndecodableError(str(error)) from None
    metadata = decoded.metadata
    return Stored(decoded.api_version, decoded.kind, metadata.get("namespace") or "", metadata.get("name") or "")


def stored_object(target: Target, data: bytes, *, proven: bool = False) -> JsonObject:
    """Return the object in a value that a server decodes.

    Args:
        target: The storage form of the kind of its key.
        data: The value, decrypted.
        proven: Whether it is known to decode.
    Raises:
        UndecodableError: A server does not decode it.
    """
    if not proven:
        read_stored(target, data)
    if not data.startswith(MAGIC) and not _is_json(data):
        try:
            data = _json_of_yaml(data)
            type_meta(data)
        except GoDecodeError:
            data = base64.b64decode(data)
            data = data if data.startswith(MAGIC) or _is_json(data) else _json_of_yaml(data)
    if data.strip() == b"null":
        return {}
    try:
        return decode_stored(data)
    except WireError as error:  # a number beyond float64 in an unknown field
        raise UndecodableError(str(error)) from None


class _StoredType(NamedTuple):
    """The decoded type, apiVersion and kind as stored, the registered type, the metadata."""

    type: int | str
    api_version: str
    kind: str
    label: str
    metadata: dict[str, Any]


def _decode(target: Target, data: bytes) -> _StoredType:
    """Decode by the form of the value; base64 is tried last."""
    for decode in (_decode_plain, _decode_yaml):
        decoded = decode(target, data)
        if decoded is not None:
            return decoded
    text = data.decode("latin-1")
    wrong = base64_error(text)
    if wrong is not None:
        raise GoDecodeError(wrong)
    data = base64.b64decode(text.replace("\r", "").replace("\n", ""))
    decoded = _decode_plain(target, data)
    return _decode_json(target, _json_of_yaml(data)) if decoded is None else decoded


def _decode_plain(target: Target, data: bytes) -> _StoredType | None:
    if data.startswith(MAGIC):
        return _decode_protobuf(target, data)
    return _decode_json(target, data) if _is_json(data) else None


def _decode_yaml(target: Target, data: bytes) -> _StoredType | None:
    try:
        return _decode_json(target, _json_of_yaml(data))
    except (GoDecodeError, UndecodableError):
        return None


def _json_of_yaml(data: bytes) -> bytes:
    try:
        return orjson.dumps(yaml_to_json(data))
    except YamlError as error:
        raise GoDecodeError(str(error).removeprefix("error converting YAML to JSON: ")) from None
    except orjson.JSONEncodeError as error:
        raise GoDecodeError(str(error)) from None


def _is_json(data: bytes) -> bool:
    try:
        head = data[:64].decode("utf-8", "ignore")
    except ValueError:  # pragma: no cover - nothing is refused
        return False
    rest = head.lstrip(SPACE)
    return rest.startswith("{") if rest or len(data) <= 64 else data.decode("utf-8", "replace").lstrip(SPACE)[:1] == "{"


def _undecodable(error: ValueError | str, api_version: str) -> UndecodableError:
    made = UndecodableError(str(error))
    made.version = api_version.rpartition("/")[2] or None
    return made


def _label(api_version: str, kind: str) -> str:
    return f"{api_version}/{kind}" if "/" in api_version else f"/{api_version}/{kind}"


def _is_internal(api_version: str) -> bool:
    return api_version.rpartition("/")[2] == _INTERNAL


def _type_of(target: Target, api_version: str, kind: str) -> int | str:
    """Return the type that a kind is registered with in the scheme of a resource."""
    group = api_version.rpartition("/")[0]
    stored_type: int | str | None = None
    if scheme_owner(group) == scheme_owner(target.group):
        if _is_internal(api_version):
            internal = target_of(group, kind)
            stored_type = None if internal is None else internal.type
        else:
            stored_type = type_named(_label(api_version, kind))
    if stored_type is None:
        of = f"version {quote(api_version)}"
        if _is_internal(api_version):
            of = f"the internal version of group {quote(group)}"
        said = f"no kind {quote(kind)} is registered for {of} in scheme {quote(scheme_name(target.group))}"
        raise _undecodable(said, api_version)
    return stored_type


def _convert(target: Target, found: _StoredType) -> None:
    """Refuse a value that the scheme does not convert to the requested kind."""
    if found.type == target.type:
        return
    if found.label not in target.versions:
        wanted, given = types()[target.type][1], found.type
        name = types()[given][1] if isinstance(given, int) else given
        raise _undecodable(f"converting ({name}) to ({wanted}): unknown conversion", found.api_version)
    _annotations(target, found.api_version, found.kind or target.kind, found.metadata.get("annotations"))


def _annotations(target: Target, api_version: str, kind: str, annotations: Any) -> None:
    """Check the two annotations that a server reads as numbers when it converts objects of apps."""
    if type(annotations) is not dict or target.group != "apps":
        return
    if kind == "Deployment" and api_version in ("apps/v1", "apps/v1beta2"):
        text = annotations.get(_ROLLBACK)
        wrong = _int64_error(text) if type(text) is str and text else None
        if wrong is not None:
            said = f"failed to parse annotation[{_ROLLBACK}]={text} as int64: {wrong}"
            raise _undecodable(said, api_version)
    if kind == "DaemonSet" and api_version in ("apps/v1", "apps/v1beta2"):
        text = annotations.get(_GENERATION)
        wrong = _int64_error(text or "") if _GENERATION in annotations else None
        if wrong is not None:
            raise _undecodable(wrong, api_version)


def _int64_error(text: str) -> str | None:
    if not _INT64.match(text):
        return f"strconv.ParseInt: parsing {quote(text)}: invalid syntax"
    if len(text) > 25 or not -(1 << 63) <= int(text) < 1 << 63:
        return f"strconv.ParseInt: parsing {quote(text)}: value out of range"
    return None


# -- forms -------------------------------------------------------------------------------------------------------------


def _internal(target: Target) -> str:
    return f"{target.group}/{_INTERNAL}" if target.group else _INTERNAL


def _decode_protobuf(target: Target, data: bytes) -> _StoredType:
    stored_version, stored_kind, raw = decode_unknown(data)
    api_version = ("" if stored_version.count("/") > 1 else stored_version) or _internal(target)
    kind = stored_kind or target.kind
    stored_type = _type_of(target, api_version, kind)
    if _is_internal(api_version):
        said = "does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
        raise WireError(f"object *{types()[stored_type][1] if isinstance(stored_type, int) else stored_type} {said}")
    try:
        message = decode_message(_label(api_version, kind), raw)
    except WireError as error:
        raise _undecodable(error, api_version) from None
    metadata = (message or {}).get("metadata") or {}
    return _StoredType(stored_type, stored_version, stored_kind, _label(api_version, kind), metadata)


def _decode_json(target: Target, data: bytes) -> _StoredType:
    stored_version, stored_kind, parsed = type_meta(data)
    if stored_version.count("/") > 1:
        raise GoDecodeError(f"unexpected GroupVersion string: {stored_version}")
    api_version, kind = stored_version or _internal(target), stored_kind or target.kind
    stored_type = _type_of(target, api_version, kind)
    if isinstance(stored_type, int):
        try:
            check_typed(parsed, stored_type)
        except GoDecodeError as error:
            raise _undecodable(error, stored_version) from None
    metadata = gotyped.metadata_of(parsed, is_internal=_is_internal(api_version))
    return _StoredType(stored_type, stored_version, stored_kind, _label(api_version, kind), metadata)
