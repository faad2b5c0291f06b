"""What a definition says of its versions, read from its document without making anything of their schemas.

For tables that list the versions of every definition in a dump: a thousand schemas are not parsed for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.model import JsonObject

__all__ = ["VersionOutline", "outline"]


@dataclass(frozen=True, slots=True)
class VersionOutline:
    """One version of a definition."""

    name: str
    served: bool
    storage: bool
    in_stored_versions: bool


def outline(document: JsonObject) -> list[VersionOutline]:
    """Return the versions of a v1 or v1beta1 document in its order; what no server could decode is left out.

    Source: apiextensions-apiserver pkg/apis/apiextensions/v1beta1/defaults.go (versions, storedVersions).
    """
    spec, status = _mapping(document.get("spec")), _mapping(document.get("status"))
    given = spec.get("versions")
    listed = [_mapping(version) for version in given] if type(given) is list else []
    if not listed and type(spec.get("version")) is str and spec["version"]:
        listed = [{"name": spec["version"], "served": True, "storage": True}]
    names = [version.get("name") for version in listed]
    storage = [name for name, version in zip(names, listed, strict=True) if version.get("storage") is True]
    kept = status.get("storedVersions") or storage[:1]
    made: dict[str, VersionOutline] = {}
    for name, version in zip(names, listed, strict=True):
        if type(name) is str:  # of two versions of one name the server finds the first
            is_kept = type(kept) is list and name in kept
            made.setdefault(
                name, VersionOutline(name, version.get("served") is True, version.get("storage") is True, is_kept)
            )
    return list(made.values())


def _mapping(value: Any) -> JsonObject:
    return value if type(value) is dict else {}
