"""The versions of a definition, read from its document without parsing their schemas.

It serves tables that list the versions of every definition in a dump, without the cost of a thousand schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from auditor.golang import jsontext

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


@dataclass(frozen=True, slots=True)
class VersionOutline:
    """One version of a definition."""

    name: str
    served: bool
    storage: bool


class _Version(msgspec.Struct):
    name: Any = msgspec.UNSET
    served: Any = msgspec.UNSET
    storage: Any = msgspec.UNSET


class _OutlineSpec(msgspec.Struct):
    version: Any = msgspec.UNSET
    versions: list[_Version] | msgspec.UnsetType = msgspec.UNSET


class _Status(msgspec.Struct):
    storedVersions: Any = msgspec.UNSET  # noqa: N815 - the name in the JSON text


class _Document(msgspec.Struct):
    spec: _OutlineSpec | msgspec.UnsetType = msgspec.UNSET
    status: _Status | msgspec.UnsetType = msgspec.UNSET


_DECODER = msgspec.json.Decoder(_Document)


def skeleton(text: bytes) -> JsonObject:
    """Return the part of a document's JSON that `outline` and `stored_versions` need; schemas are skipped.

    Raises:
        GoJsonError: The text is not JSON.
    """
    try:
        made: JsonObject = msgspec.to_builtins(_DECODER.decode(text))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # only the exact decoder may accept it
        made = jsontext.decode(text)
    return made


def outline(document: JsonObject) -> list[VersionOutline]:
    """Return the versions of a v1 or v1beta1 document in its order; parts that no server could decode are left out."""
    made: dict[str, VersionOutline] = {}
    for version in _listed(document):
        name = version.get("name")
        if type(name) is str:  # the server uses the first of two versions of the same name
            version_outline = VersionOutline(name, version.get("served") is True, version.get("storage") is True)
            made.setdefault(name, version_outline)
    return list(made.values())


def stored_versions(document: JsonObject) -> list[str]:
    """Return ``status.storedVersions``, or the storage version if the status has none.

    Source: apiextensions-apiserver pkg/apis/apiextensions/v1beta1/defaults.go.
    """
    kept = _mapping(document.get("status")).get("storedVersions")
    names = [name for name in kept if type(name) is str] if type(kept) is list else []
    return names or [version.name for version in outline(document) if version.storage][:1]


def is_from_server(document: JsonObject) -> bool:
    """Return whether a server wrote the status of a document; one without a true condition is that of a manifest.

    Generators of manifests write an empty status (``conditions: []``), which a server drops.
    """
    return any(condition.get("status") == "True" for condition in conditions_of(document))


def conditions_of(document: JsonObject) -> list[JsonObject]:
    """Return the conditions in the status of a document that may be malformed."""
    conditions = _mapping(document.get("status")).get("conditions")
    return [condition for condition in conditions if type(condition) is dict] if type(conditions) is list else []


def _listed(document: JsonObject) -> list[JsonObject]:
    spec = _mapping(document.get("spec"))
    given = spec.get("versions")
    listed = [_mapping(version) for version in given] if type(given) is list else []
    if not listed and type(spec.get("version")) is str and spec["version"]:
        listed = [{"name": spec["version"], "served": True, "storage": True}]
    return listed


def _mapping(value: Any) -> JsonObject:
    return value if type(value) is dict else {}
