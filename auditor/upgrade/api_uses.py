"""At which versions clients wrote an object, by its metadata, and which kinds a Helm release consists of.

Metadata say what a client did once, not what it does now: nothing of it breaks an upgrade by itself.

Source: apimachinery pkg/apis/meta/v1 (ManagedFieldsEntry); kubectl pkg/util/apply.go; helm pkg/storage/driver/util.go.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject


LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
HELM_PREFIX: Final = "sh.helm.release.v1."
"""How the names of Secrets and ConfigMaps begin in which Helm keeps releases."""
DEPLOYED: Final = frozenset({"deployed"})
_MOST_STORED: Final = 16 << 20
_MOST_PLAIN: Final = 16 << 20
"""Bytes of a release, packed and unpacked; larger ones are not read."""
_GZIP: Final = 31
_PACKED: Final = (b"\x1f\x8b", b"{")
"""How a release begins that is no longer base64: gzip, or JSON as old versions of Helm wrote it."""
_API_VERSION: Final = re.compile(r"""^apiVersion:[ \t]*["']?([^\s"'#]+)""", re.MULTILINE)
_KIND: Final = re.compile(r"""^kind:[ \t]*["']?([^\s"'#]+)""", re.MULTILINE)
_DOCUMENTS: Final = re.compile(r"^---", re.MULTILINE)


class Use(NamedTuple):
    """A version at which a client wrote an object.

    Attributes:
        how: ``managedFields`` or ``last-applied``.
        api_version: The version, with its group.
        kind: The kind.
        manager: Who wrote it, by managedFields; empty if not known.
        time: When, as stored; empty if not known.
    """

    how: str
    api_version: str
    kind: str
    manager: str = ""
    time: str = ""


class UnreadableRelease(ValueError):
    """A Secret or ConfigMap that holds no release that can be read."""


class HelmRelease(NamedTuple):
    """A Helm release.

    Attributes:
        name: Its name.
        revision: Its revision.
        kinds: (apiVersion, kind) of each object in its manifest.
        chart: The name of its chart; empty if it is not known.
        values: The values that its user gave.
        manifest: The text of its objects.
        status: Its status, such as ``deployed`` or ``failed``.
    """

    name: str
    revision: int
    kinds: frozenset[tuple[str, str]]
    chart: str = ""
    values: dict[str, Any] = {}  # noqa: RUF012 - it is never changed
    manifest: str = ""
    status: str = "deployed"


def client_uses(obj: JsonObject) -> Iterator[Use]:
    """Yield the versions at which clients wrote an object, by its managedFields and last-applied annotation."""
    metadata, kind = obj.get("metadata"), obj.get("kind")
    if type(metadata) is not dict or type(kind) is not str:
        return
    entries = metadata.get("managedFields")
    for entry in entries if type(entries) is list else ():
        if type(entry) is dict and type(entry.get("apiVersion")) is str:
            yield Use("managedFields", entry["apiVersion"], kind, _text(entry.get("manager")), _text(entry.get("time")))
    annotations = metadata.get("annotations")
    applied = annotations.get(LAST_APPLIED) if type(annotations) is dict else None
    if type(applied) is str:
        document = _parsed(applied)
        api_version, own = document.get("apiVersion"), document.get("kind")
        if type(api_version) is str and type(own) is str:
            yield Use("last-applied", api_version, own)


def helm_release(obj: JsonObject, statuses: frozenset[str] = DEPLOYED) -> HelmRelease | None:
    """Return the release that a Secret or ConfigMap of Helm holds, or None if it has another status.

    Only objects with apiVersion and kind at the beginning of a line are seen, as Helm renders them.

    Raises:
        UnreadableRelease: It holds none, or one that is too large. The text has nothing of its content.
    """
    metadata = obj.get("metadata")
    labels = metadata.get("labels") if type(metadata) is dict else None
    if type(labels) is dict and labels.get("status", "deployed") not in statuses:
        return None
    data = obj.get("data")
    text = data.get("release") if type(data) is dict else None
    if type(text) is not str:
        raise UnreadableRelease("it has no data.release")
    packed = _decoded(text.encode())
    if not packed.startswith(_PACKED):  # data of a Secret: base64 of what Helm wrote, which is base64
        packed = _decoded(packed)
    document = _parsed(_unpacked(packed))
    info, name, revision, manifest = (document.get(key) for key in ("info", "name", "version", "manifest"))
    if type(info) is not dict or type(name) is not str or type(manifest) is not str:
        raise UnreadableRelease("it is no release of Helm 3")
    status = _text(info.get("status"))
    if status not in statuses:
        return None
    metadata, values = (document.get("chart") or {}).get("metadata") or {}, document.get("config")
    return HelmRelease(
        name,
        revision if type(revision) is int else 0,
        _kinds(manifest),
        _text(metadata.get("name")),
        values if type(values) is dict else {},
        manifest,
        status,
    )


def _kinds(manifest: str) -> frozenset[tuple[str, str]]:
    kinds = set()
    for document in _DOCUMENTS.split(manifest):
        api_version, kind = _API_VERSION.search(document), _KIND.search(document)
        if api_version is not None and kind is not None:
            kinds.add((api_version[1], kind[1]))
    return frozenset(kinds)


def _decoded(data: bytes) -> bytes:
    if len(data) > _MOST_STORED:
        raise UnreadableRelease(f"it is larger than {_MOST_STORED >> 20} MiB")
    try:
        return base64.b64decode(data)
    except binascii.Error:
        raise UnreadableRelease("it is no base64") from None


def _unpacked(data: bytes) -> bytes:
    """Return what is packed by gzip; old releases are not packed."""
    if not data.startswith(_PACKED[0]):
        return data
    unpacking = zlib.decompressobj(_GZIP)
    try:
        plain = unpacking.decompress(data, _MOST_PLAIN)
    except zlib.error:
        raise UnreadableRelease("it is no gzip") from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise UnreadableRelease(f"it is larger than {_MOST_PLAIN >> 20} MiB, or cut off")
    return plain


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return {}
    return document if type(document) is dict else {}


def _text(value: Any) -> str:
    return value if type(value) is str else ""
