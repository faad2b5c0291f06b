"""A definition from a file, as a cluster has it: with a status, against which the server judges an update.

Without one the server would take a definition for one that was never established, and let its scope and kind change.

Source: apiextensions-apiserver pkg/controller/{status,establish}; pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.crds.outline import stored_versions

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


_CONDITIONS: Final = ("NamesAccepted", "Established")


def has_status(document: JsonObject) -> bool:
    """Return whether a document has a status that a server wrote."""
    status = document.get("status")
    return type(status) is dict and bool(status.get("storedVersions")) and bool(status.get("conditions"))


def status_versions(document: JsonObject) -> list[str]:
    """Return ``status.storedVersions`` of a document; empty means it has none."""
    status = document.get("status")
    given = status.get("storedVersions") if type(status) is dict else None
    return [version for version in given if type(version) is str] if type(given) is list else []


def in_cluster(document: JsonObject, known: JsonObject | None = None) -> JsonObject:
    """Return a document as it is in a cluster.

    Args:
        document: As it is in a file or a dump; one with a status of a server is returned as it is.
        known: The status of the definition of this name that the dump holds; None means it holds none.
    """
    if has_status(document):
        return document
    stored = stored_versions(document)
    if known is not None and has_status({"status": known}):
        own = status_versions(document)
        stored = own or stored
        names = [version for version in known["storedVersions"] if type(version) is str]
        return {**document, "status": {**known, "storedVersions": [*names, *(s for s in stored if s not in names)]}}
    conditions = [{"type": name, "status": "True"} for name in _CONDITIONS]
    status: dict[str, Any] = {"conditions": conditions, "storedVersions": stored}
    spec = document.get("spec")
    own_names = spec.get("names") if type(spec) is dict else None
    if type(own_names) is dict:
        kind = own_names.get("kind")
        filled = {"singular": str(kind).lower(), "listKind": f"{kind}List"} if kind else {}
        status["acceptedNames"] = {**filled, **{key: value for key, value in own_names.items() if value}}
    return {**document, "status": status}
