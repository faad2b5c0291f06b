"""One request to the auditor: a stored value, and which definition and version to judge it by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.model import AuditedObject, Unreadable
from auditor.program.audit_program import AuditProgram
from auditor.program.read import ReadError, choose_version, decode_value

if TYPE_CHECKING:
    from auditor.crds.catalog import CrdCatalog
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.model import JsonObject

__all__ = ["audit_object"]

_KEPT = 256
_programs: dict[tuple[int, str], tuple[CustomResourceDefinition, AuditProgram]] = {}


def _group_kind(obj: JsonObject | None) -> tuple[str, str] | None:
    if obj is None:
        return None
    api, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api, str) or not isinstance(kind, str):
        return None
    return (api.partition("/")[0] if "/" in api else "", kind)


def _unreadable(reason: str) -> AuditedObject:
    return AuditedObject(unreadable=Unreadable(reason))


def audit_object(
    catalog: CrdCatalog, data: bytes, resource: str | None = None, version: str | None = None
) -> AuditedObject:
    """Read one stored value as the API server would, and judge it as a create would.

    Args:
        catalog: The definitions.
        data: The stored bytes: JSON or CBOR, decrypted.
        resource: ``plural.group``, as the key says; used whatever the object says. None: by the object's group and
            kind, or the only definition there is.
        version: Read and judge at this version. None: the object's own, where the definition has it (and its group),
            else the storage version.
    Returns:
        The audited object; `unreadable` where there is no such definition or version, or the read fails.
    """
    obj: JsonObject | None = None
    reason = ""
    try:
        obj = decode_value(data)
    except ReadError as error:
        reason = str(error)
    if resource is not None:
        definition = catalog.crds.get(resource)
        if definition is None:
            return _unreadable(f"no definition for resource {resource}")
    else:
        names = _group_kind(obj)
        definition = catalog.by_group_kind(*names) if names else None
        if definition is None and len(catalog.crds) == 1:
            definition = next(iter(catalog.crds.values()))
        if definition is None:
            return _unreadable(reason or "no definition for the object's apiVersion and kind")
    chosen = choose_version(definition, obj, version)
    if chosen is None or chosen not in definition.versions:
        return _unreadable(f"no version {version or chosen!r} in definition {definition.name}")
    return _program(definition, chosen).audit(data)


def _program(definition: CustomResourceDefinition, version: str) -> AuditProgram:
    """Return the program of a version; the most recent ones are kept, with the definition that their key stands for."""
    key = (id(definition), version)
    found = _programs.get(key)
    if found is None:
        if len(_programs) >= _KEPT:
            _programs.pop(next(iter(_programs)))
        found = _programs[key] = (definition, AuditProgram(definition, definition.versions[version]))
    return found[1]
