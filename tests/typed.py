"""What the typed tier says of an object, beside what the reference says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from auditor.updates.body import RequestName
from auditor.updates.noop import NoopUpdates

if TYPE_CHECKING:
    from auditor.base.records import AuditedObject
    from auditor.program.program import AuditProgram


def typed_difference(program: AuditProgram, exact: AuditedObject, data: bytes, *, updates: bool = False) -> str | None:
    """Return what the typed tier proves wrongly, empty if all agrees, or None if it proves nothing.

    Args:
        program: At whose version the object is stored.
        exact: What the reference says of the object.
        data: Its bytes.
        updates: Compare what is said of its no-op updates, too.
    """
    typed = program.typed(0)
    made = None if typed is None else typed.prove(data)
    if typed is None or made is None:
        return None
    if exact.unreadable is not None or exact.findings or exact.object is None:
        return f"proven, but {exact.unreadable} {exact.findings}"
    metadata: dict[str, Any] = exact.object["metadata"]
    record = made.metadata
    selected = typed.select(made)
    reported = {
        "pruned": (typed.pruned, exact.pruned),
        "defaulted": (typed.defaulted, exact.defaulted),
        "stored version": (program.version.name, exact.stored_version),
        "selectable texts": (
            selected[::2],
            tuple(exact.selectable[path[1:]] for path in program.version.selectable_fields),
        ),
        "selectable values": (
            selected[1::2],
            tuple(_value(exact.object, path, type(one)) for path, one in _pairs(program, selected)),
        ),
        **{
            name: (None if value is UNSET else value, metadata.get(key))
            for name, key, value in (
                ("name", "name", record.name),
                ("namespace", "namespace", record.namespace),
                ("uid", "uid", record.uid),
                ("labels", "labels", record.labels),
                ("created", "creationTimestamp", record.creation_timestamp),
                ("deleting", "deletionTimestamp", record.deletion_timestamp),
            )
        },
    }
    for name, (ours, theirs) in reported.items():
        if repr(ours) != repr(theirs):
            return f"{name}: {ours!r} / {theirs!r}"
    return _update_difference(program, exact, data) if updates else ""


def _pairs(program: AuditProgram, selected: tuple[Any, ...]) -> list[tuple[str, Any]]:
    return list(zip(program.version.selectable_fields, selected[1::2], strict=True))


def _value(obj: Any, path: str, kind: type) -> Any:
    """Return the value at a path where it is of a type."""
    for step in path[1:].split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj if type(obj) is kind else None


def _update_difference(program: AuditProgram, exact: AuditedObject, data: bytes) -> str:
    assert exact.object is not None
    metadata = exact.object["metadata"]
    identity = (metadata.get("namespace"), metadata["name"], metadata.get("uid"))
    place = RequestName(metadata.get("namespace", ""), metadata["name"])
    noop = NoopUpdates(program)
    if noop.may_be_needed(identity, data, place, defaulted=bool(exact.defaulted)):
        return ""
    tried = noop.judge(exact, place, 7)
    codes = [one.code for one in (tried.put, tried.label, tried.status) if one is not None]
    return "" if set(codes) == {200} else f"updates that were not tried: {codes}"
