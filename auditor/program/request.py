"""What callers ask for one value at a time: find the definition and the version, then audit.

For many values of one kind keep an `AuditProgram`; here the programs of the last kinds asked for are kept.
"""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING, Any

from auditor.model import AuditedObject, Unreadable
from auditor.program.audit_program import AuditProgram
from auditor.program.read import ReadError, choose_version, decode_value

if TYPE_CHECKING:
    from auditor.crds.catalog import CrdCatalog
    from auditor.crds.definition import CustomResourceDefinition

__all__ = ["audit_object"]

_MAX_PROGRAMS = 256


class _Kept(local):
    """The programs of one thread, by definition and version; a program keeps its definition, so the id stays taken."""

    def __init__(self) -> None:
        self.programs: dict[tuple[int, str], AuditProgram] = {}


_kept = _Kept()


def _program(definition: CustomResourceDefinition, version: str) -> AuditProgram:
    key = (id(definition), version)
    found = _kept.programs.get(key)
    if found is None:
        if len(_kept.programs) >= _MAX_PROGRAMS:
            _kept.programs.clear()
        found = _kept.programs[key] = AuditProgram(definition, definition.versions[version])
    return found


def audit_object(
    catalog: CrdCatalog,
    data: bytes,
    resource: str | None = None,
    version: str | None = None,
) -> AuditedObject:
    """Read one stored value as the API server would, and judge it as a create would.

    Args:
        catalog: The definitions.
        data: The bytes of the value, decrypted: JSON or CBOR.
        resource: ``plural.group``, from the value's key; used whatever the object says. None: the definition of the
            object's group and kind, or the only one there is.
        version: Read and judge at this version. None: the object's own, where the definition has it (and its group),
            else the storage version.
    Returns:
        What came of it. A value that the server could not read, or a resource or version that is not there, is
        `unreadable`; no bad value raises.
    """
    header: Any = None
    reason = ""
    try:
        header = decode_value(data)
    except ReadError as error:
        reason = str(error)
    definition = catalog.crds.get(resource) if resource is not None else _by_kind(catalog, header)
    if definition is None:
        return AuditedObject(Unreadable(_unknown(resource, header, reason)))
    name = choose_version(definition, header, version)
    if name not in definition.versions:
        shown = "" if name is None else f' "{name}"'
        return AuditedObject(Unreadable(f"no version{shown} in CRD {definition.name}"))
    return _program(definition, name).audit(data, header)


def _by_kind(catalog: CrdCatalog, header: Any) -> CustomResourceDefinition | None:
    if header is not None:
        api_version, kind = header.get("apiVersion"), header.get("kind")
        if type(api_version) is str and type(kind) is str:
            found = catalog.by_group_kind(api_version.rpartition("/")[0], kind)
            if found is not None:
                return found
    return next(iter(catalog.crds.values())) if len(catalog.crds) == 1 else None


def _unknown(resource: str | None, header: Any, reason: str) -> str:
    if resource is not None:
        return f'no CRD "{resource}"'
    if header is None:
        return reason
    return f"no CRD for kind {header.get('kind')!r} in {header.get('apiVersion')!r}"
