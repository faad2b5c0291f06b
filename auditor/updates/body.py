"""The body of a PUT, and whether it may replace the stored object: decoding, address and preconditions.

Source: apiserver pkg/endpoints/handlers/{update,rest}.go (transformDecodeError, checkName),
pkg/registry/rest/meta.go, pkg/registry/generic/registry/store.go (Update), pkg/storage/interfaces.go (Preconditions);
apimachinery pkg/runtime/serializer/json.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.crds.conversion import parse_group_version
from auditor.golang.go_text import quote
from auditor.golang.jsontext import GoJsonError, decode, encode
from auditor.schema.defaulting import default
from auditor.schema.objectmeta import CoerceError
from auditor.storage_read.read import ReadError, coerce, decode_value

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


class RequestName(NamedTuple):
    """Namespace (empty if cluster-scoped) and name in the URL of a request, as in the object's key."""

    namespace: str
    name: str


class RefusedRequest(Exception):
    """An answer before anything was validated.

    Attributes:
        code: HTTP status; the text of the exception is the server's message.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


# -- decoding ------------------------------------------------------------------------------------------------------

_NO_HEADER: Final = "couldn't get version/kind; json parse error: "
_HEADER: Final = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_CBOR: Final = b"\xd9"
_SHOWN: Final = 30
"""Bytes of a body that an error quotes."""
_JSON_WORDS: Final[dict[type, str]] = {bool: "bool", str: "string", list: "array", dict: "object"}


def read_sent(definition: CustomResourceDefinition, body: bytes | JsonObject) -> JsonObject:
    """Decode the JSON of a body as far as its header; a decoded body is copied, because reading changes it.

    Raises:
        RefusedRequest: The server answers with code 400.
    """
    try:
        value: Any = (
            (decode_value if body[:1] == _CBOR else decode)(body) if isinstance(body, bytes) else deepcopy(body)
        )
    except (GoJsonError, ReadError) as error:
        raise _unrecognized(definition, body, f"{_NO_HEADER}{error}") from None
    reason = _header_error(value, body)
    if reason:
        raise _unrecognized(definition, body, reason)
    sent: JsonObject = value
    return sent


def _header_error(value: Any, body: bytes | JsonObject) -> str:
    """Return why the header of a decoded body cannot be read; empty if it can."""
    if value is not None and type(value) is not dict:
        return f"{_NO_HEADER}json: cannot unmarshal {_word(value)} into Go value of type {_HEADER}"
    header = value or {}
    for name, member in header.items():
        if name in ("apiVersion", "kind") and member is not None and type(member) is not str:
            return f"{_NO_HEADER}json: cannot unmarshal {_word(member)} into Go struct field .{name} of type string"
    api_version = header.get("apiVersion") or ""
    if parse_group_version(api_version) is None:
        return f"unexpected GroupVersion string: {api_version}"
    return "" if header.get("kind") else f"Object 'Kind' is missing in '{_text(body)}'"


def _word(value: Any) -> str:
    return _JSON_WORDS.get(type(value), "number")


def _text(body: bytes | JsonObject) -> str:
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else encode(body)


def _unrecognized(definition: CustomResourceDefinition, body: bytes | JsonObject, reason: str) -> RefusedRequest:
    data = body if isinstance(body, bytes) else encode(body).encode("utf-8", "surrogatepass")
    shown = data[:_SHOWN].decode("utf-8", "replace") if data[:1] == b"{" else data[:_SHOWN].hex()
    summary = shown + (" ..." if len(data) > _SHOWN else "") if data else "<empty>"
    text = f"the object provided is unrecognized (must be of type {definition.kind}): {reason} ({summary})"
    return RefusedRequest(400, text)


def decode_sent(definition: CustomResourceDefinition, version: CrdVersion, sent: JsonObject) -> JsonObject:
    """Decode the body of a client, in place: strictly coerced, pruned and defaulted at the version it names.

    Raises:
        RefusedRequest: The server answers with code 400.
    """
    reason = _header_error(sent, sent)
    if reason:
        raise _unrecognized(definition, sent, reason)
    kind, api_version = sent["kind"], sent.get("apiVersion") or ""
    _, named = parse_group_version(api_version) or ("", "")
    try:
        coerce(definition, sent, drop=False)
    except (CoerceError, ReadError) as error:
        prefix = f"{kind} in version {quote(named)} cannot be handled as a {definition.kind}"
        raise RefusedRequest(400, f"{prefix}: {error}") from None
    expected = f"{definition.group}/{version.name}"
    if api_version != expected:
        text = f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
        raise RefusedRequest(400, text)
    if kind == definition.kind:
        default(sent, version.structural)
    return sent


# -- address and preconditions -------------------------------------------------------------------------------------


def complete_address(definition: CustomResourceDefinition, metadata: JsonObject, place: RequestName) -> None:
    """Compare metadata with the URL of the request, and complete their namespace from there.

    Raises:
        RefusedRequest: They name another object; the server answers with code 400.
    """
    wanted = place.namespace if definition.namespaced else ""
    namespace = metadata.get("namespace", "")
    if namespace != wanted:
        if namespace and wanted:
            text = "the namespace of the provided object does not match the namespace sent on the request"
            raise RefusedRequest(400, text)
        metadata["namespace"] = wanted
        if not wanted:
            del metadata["namespace"]
    name = metadata.get("name", "")
    if not name:
        text = f"the name of the object ({place.name} based on URL) was undeterminable: name must be provided"
        raise RefusedRequest(400, text)
    if name != place.name:
        text = f"the name of the object ({name}) does not match the name on the URL ({place.name})"
        raise RefusedRequest(400, text)


def check_preconditions(
    definition: CustomResourceDefinition,
    metadata: JsonObject,
    live: JsonObject,
    place: RequestName,
    revision: int,
    *,
    is_patch: bool = False,
) -> None:
    """Compare uid and resourceVersion of an update with those of the stored object.

    Custom resources have no unconditional update: a resourceVersion is required.

    Args:
        definition: The definition of both.
        metadata: Those of the body, decoded.
        live: Those of the stored object.
        place: Namespace and name in the URL.
        revision: The modification revision of the stored object.
        is_patch: Whether the request is a patch; its uid is validated later, as an immutable field.

    Raises:
        RefusedRequest: The server answers with code 409, 422 or 500.
    """
    uid, live_uid = metadata.get("uid", ""), live.get("uid", "")
    conflict = f'Operation cannot be fulfilled on {definition.resource} "{place.name}": '
    if uid and uid != live_uid and not is_patch:
        key = "/".join(filter(None, ("/registry", definition.group, definition.plural, *place)))
        text = (
            f"{conflict}StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {live_uid}"
        )
        raise RefusedRequest(409, text)
    sent = metadata.get("resourceVersion", "")
    if sent and not re.fullmatch("[0-9]+", sent):
        raise RefusedRequest(500, f"strconv.ParseUint: parsing {quote(sent)}: invalid syntax")
    number = int(sent or "0") if len(sent) < _MANY_DIGITS else int(sent.lstrip("0")[:_MANY_DIGITS] or "0")
    if number >= 2**64:
        raise RefusedRequest(500, f"strconv.ParseUint: parsing {quote(sent)}: value out of range")
    if not number:
        text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        raise RefusedRequest(422, f'{definition.resource} "{place.name}" is invalid: {text}')
    if number != revision:
        text = "the object has been modified; please apply your changes to the latest version and try again"
        raise RefusedRequest(409, conflict + text)


_MANY_DIGITS: Final = 1000
"""Digits of a number that is beyond 64 bits for certain; Python refuses to read many more."""
