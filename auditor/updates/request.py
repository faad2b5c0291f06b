"""The public functions for one value at a time: they find the definition and the version, then audit.

For many values of one kind use an `AuditProgram`; here the programs of the last requested kinds are cached.
"""

from __future__ import annotations

from copy import deepcopy
from threading import local
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError
from auditor.base.records import AuditedObject, Unreadable
from auditor.crds.catalog import CrdCatalog
from auditor.golang.jsontext import encode
from auditor.program.program import AuditProgram
from auditor.releases import Release, active
from auditor.storage_read.read import ReadError, choose_version, decode_value, finish_read
from auditor.updates.body import RefusedRequest, RequestName, read_sent
from auditor.updates.update import (
    REQUESTS,
    CheckedUpdate,
    TriedUpdate,
    UpdateProgram,
    refused_read,
)
from auditor.validation.rules import servable

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition


_MAX_PROGRAMS = 256


class _Kept(local):
    """The programs of one thread, by id of the definition and version.

    The definition is kept beside its program, which may hold another (`servable`): so long no other has its id.
    """

    def __init__(self) -> None:
        self.programs: dict[tuple[int, str, Release], tuple[CustomResourceDefinition, AuditProgram]] = {}
        self.updates: dict[tuple[int, bool], UpdateProgram] = {}


_kept = _Kept()


def _program(definition: CustomResourceDefinition, version: str) -> AuditProgram:
    key = (id(definition), version, active())
    if key not in _kept.programs:
        if len(_kept.programs) >= _MAX_PROGRAMS:
            _kept.programs.clear()
        _kept.programs[key] = definition, AuditProgram(definition, definition.versions[version])
    return _kept.programs[key][1]


def _update_program(program: AuditProgram, *, ratcheting: bool = True) -> UpdateProgram:
    key = (id(program), ratcheting)
    update_program = _kept.updates.get(key)
    if update_program is None:
        if len(_kept.updates) >= _MAX_PROGRAMS:
            _kept.updates.clear()
        update_program = _kept.updates[key] = UpdateProgram(program, ratcheting=ratcheting)
    return update_program


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
        resource: ``plural.group``, from the value's key; used whatever the object says. None means the definition of
            the object's group and kind, or the only one there is.
        version: Read and judge at this version. None means the object's own, where the definition has it (and its
            group), else the storage version.
    Returns:
        The result. A value that the server could not read, or an unknown resource or version, is `unreadable`; no
        invalid value raises.
    Raises:
        PlanError: The catalog is not one, or the value is not bytes.
    """
    _check_given(catalog, data)
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
            definition = catalog.by_group_kind(api_version.rpartition("/")[0], kind)
            if definition is not None:
                return definition
    return next(iter(catalog.crds.values())) if len(catalog.crds) == 1 else None


def _unknown(resource: str | None, header: Any, reason: str) -> str:
    if resource is not None:
        return f'no CRD "{resource}"'
    if header is None:
        return reason
    return f"no CRD for kind {header.get('kind')!r} in {header.get('apiVersion')!r}"


def check_update(
    catalog: CrdCatalog,
    old: bytes | JsonObject,
    new: bytes | JsonObject,
    resource: str | None = None,
    version: str | None = None,
) -> CheckedUpdate:
    """Read two stored values and judge the update from one to the other: the strategy alone, on both as given.

    Args:
        catalog: The definitions.
        old: The stored value: JSON or CBOR, or decoded (numbers by their Python type).
        new: The new value. It is not completed from the old one: status and generation count as given.
        resource: ``plural.group``; None means the definition of the new object's group and kind, or the only one there
            is.
        version: Read and judge both at this version. None means that of the new object, as in `audit_object`.

    Returns:
        What came of it. A value that the server could not read, or a resource or version that is not there, is
        `unreadable`; no bad value raises.
    Source: apiextensions-apiserver pkg/registry/customresource/strategy.go (ValidateUpdate).
    """
    _check_given(catalog, old, new, decoded=True)
    try:
        old_obj = _decoded(old)
    except ReadError as error:
        return CheckedUpdate(unreadable=Unreadable(f"old: {error}"))
    try:
        new_obj = _decoded(new)
    except ReadError as error:
        return CheckedUpdate(unreadable=Unreadable(f"new: {error}"))
    definition = catalog.crds.get(resource) if resource is not None else _by_kind(catalog, new_obj)
    if definition is None:
        return CheckedUpdate(unreadable=Unreadable(_unknown(resource, new_obj, "")))
    name = choose_version(definition, new_obj, version)
    if name not in definition.versions:
        shown = "" if name is None else f' "{name}"'
        return CheckedUpdate(unreadable=Unreadable(f"no version{shown} in CRD {definition.name}"))
    definition = servable(definition)
    reason = definition.versions[name].unserved_reason
    if reason:
        return CheckedUpdate(unreadable=Unreadable(f"unusable CRD {definition.name}: {reason}"))
    read_old, read_new = finish_read(definition, name, old_obj), finish_read(definition, name, new_obj)
    for which, read in (("old", read_old), ("new", read_new)):
        if read.object is None:
            return CheckedUpdate(unreadable=Unreadable(f"{which}: {read.unreadable}"))
    assert read_old.object is not None
    assert read_new.object is not None
    return _update_program(_program(definition, name)).check(read_old.object, read_new.object)


def try_update(
    catalog: CrdCatalog,
    stored: bytes,
    *,
    key: str,
    revision: int,
    new: bytes | JsonObject | None = None,
    version: str | None = None,
    request: str = "put",
    ratcheting: bool = True,
) -> TriedUpdate:
    """Answer an update of a stored object as the server would answer a client.

    Args:
        catalog: The definitions.
        stored: The bytes of the value, decrypted: JSON or CBOR.
        key: Its etcd key, e.g. ``/registry/example.com/widgets/default/a``: kind, namespace and name of the request.
        revision: The key's modification revision, the object's resourceVersion.
        new: The body of the client, with the resourceVersion that it read; None for the object as a GET shows it, sent
            back unchanged (patches add their change).
        version: The version of the request. None means that of `new`, or of what is stored, as in `audit_object`.
        request: ``put``; ``label``: a merge patch that adds one label; ``status``: a PUT of /status;
            ``remove-finalizer``: a merge patch that removes all finalizers; or ``apply``: a server-side apply of one
            label.
        ratcheting: Whether the server has CRDValidationRatcheting on; always on since Kubernetes 1.33.

    Returns:
        The code, the message and, for a 422, the causes; no invalid value raises.

    Raises:
        ValueError: `request` is another text.
    """
    if request not in REQUESTS:
        raise ValueError(f"request {request!r}: expected one of {', '.join(REQUESTS)}")
    _check_given(catalog, stored)
    parts = _by_key(catalog, key)
    if parts is None:
        return TriedUpdate(404, "the server could not find the requested resource")
    definition, place = parts
    refusal: RefusedRequest | None = None
    header: Any = None
    try:
        header = body = None if new is None else read_sent(definition, new)
        if new is None:
            header = decode_value(stored)
    except RefusedRequest as error:
        refusal = error
    except ReadError:
        pass  # the audit reports it
    name = choose_version(definition, header, version)
    if name not in definition.versions or (version is not None and not definition.versions[name].served):
        return TriedUpdate(404, "the server could not find the requested resource")
    program = _program(definition, name)
    update = _update_program(program, ratcheting=ratcheting)
    try:
        update.check_served(request, place)
        if refusal is not None:
            raise refusal
        audited = program.audit(stored)
        if audited.object is not None:
            return update.attempt(request, audited.object, place, revision, body)
        if body is not None:
            update.read_body(body, place)
    except RefusedRequest as error:
        return TriedUpdate(error.code, str(error))
    return refused_read("" if audited.unreadable is None else audited.unreadable.reason, revision)


def _check_given(catalog: CrdCatalog, *values: Any, decoded: bool = False) -> None:
    """Check what a caller gave.

    Raises:
        PlanError: The catalog is none, or a value is neither bytes nor, if that is possible, a decoded object.
    """
    if not isinstance(catalog, CrdCatalog):
        given = type(catalog).__name__
        raise PlanError("catalog", f"{given} is given", "a CrdCatalog; CrdCatalog.from_documents makes one")
    for value in values:
        if not isinstance(value, (bytes, dict) if decoded else bytes):
            expected = "the stored bytes, or the decoded object" if decoded else "the stored bytes"
            raise PlanError("value", f"{type(value).__name__} is given", expected)


def _decoded(value: bytes | JsonObject) -> JsonObject:
    """Decode a value; a decoded one is copied, because reading changes it."""
    if isinstance(value, bytes):
        return decode_value(value)
    kind = value.get("kind")
    if type(kind) is not str or not kind:
        raise ReadError(f"Object 'Kind' is missing in '{encode(value)}'")
    return deepcopy(value)


def _by_key(catalog: CrdCatalog, key: str) -> tuple[CustomResourceDefinition, RequestName] | None:
    """Return the definition of a key, under any prefix, and the namespace and name in it."""
    parts = key.strip("/").split("/")
    for position in range(len(parts) - 1):
        definition = catalog.crds.get(f"{parts[position + 1]}.{parts[position]}")
        if definition is not None:
            rest = parts[position + 2 :]
            if len(rest) == (2 if definition.namespaced else 1):
                return definition, RequestName(rest[0] if definition.namespaced else "", rest[-1])
    return None
