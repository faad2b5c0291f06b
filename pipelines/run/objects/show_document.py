"""What a dump knows about a value: as stored and as read, judged as an audit does, and its revisions."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from auditor.base.statuses import Impact, KeyClass, Status
from auditor.base.wording import counted
from auditor.builtin.judge import judge_at, judge_exported
from auditor.causes.follows import with_notes
from auditor.crds.conversion import LostWebhook
from auditor.program.impact import cache_key_fault, impacts_of, worst
from auditor.program.program import AuditProgram
from auditor.server.history import check_history, key_revisions
from auditor.server.object_reader import UndecodedObject
from auditor.sources.manifests.object_header import read_header
from auditor.sources.registry_key import classify, printable_key, split_key
from auditor.validation.bounded_texts import BoundedTexts
from pipelines.run.objects.row_kind import resource_of

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.server.dump_rows import StoredRow
    from pipelines.run.objects.query_options import QueryOptions


def document_of(store: DumpStore, row: StoredRow, options: QueryOptions, *, with_revisions: bool) -> dict[str, Any]:
    """Return what is known about a value, by name."""
    source = store.plan.sources[row.source]
    out: dict[str, Any] = {}
    if row.key is not None:
        out["key"] = printable_key(row.key)
    out["source"] = {"name": source.name, "offset": row.offset, "length": row.length}
    resource, status = resource_of(store, row, options.etcd_prefix)
    if resource is None:
        out |= {"status": status} | _builtin(row, None, store.rows.stored_bytes(row), options)
        out["stored"] = _undecoded(store, row, resource)
    else:
        out |= _of_object(store, row, resource, options)
        if store.catalog.definition(resource) is not None and (why := _why_misplaced(store, row, options)):
            out = _as_misplaced(out, why, namespaced=resource.namespaced)
    if with_revisions and row.key is not None and source.format.startswith("etcd-"):
        out["revisions"] = _revisions(store, row)
    return out


def _of_object(store: DumpStore, row: StoredRow, resource: Resource, options: QueryOptions) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": resource.kind, "group": resource.group, "version": resource.version}
    definition = store.catalog.definition(resource)
    try:
        if definition is not None:
            out |= _judged(definition, resource, store.reader.plain_bytes(row, resource))
        else:
            out |= _builtin(row, resource, store.reader.plain_bytes(row, resource), options)
        out["read"] = store.reader.concealed(resource, store.reader.read(resource, row))
    except UndecodedObject as error:
        if error.lacks_key:
            out |= {"status": Status.SEALED.value, "reason": str(error), "impact": Impact.UNKNOWN.value}
        elif not error.needs_webhook:
            out |= {"status": Status.UNREADABLE.value, "reason": str(error)}
        elif definition is not None and not isinstance(definition.webhook, LostWebhook):
            impact = Impact.NEEDS_WEBHOOK.value
            out |= {"status": Status.NEEDS_CONVERSION.value, "reason": str(error), "impact": impact}
    try:
        out["stored"] = store.reader.concealed(resource, store.reader.as_stored(resource, row))
    except UndecodedObject:
        out["stored"] = _undecoded(store, row, resource)
    return out


def _undecoded(store: DumpStore, row: StoredRow, resource: Resource | None) -> str:
    """Return the beginning of a value that cannot be decoded; of what may be a Secret only its size and digest."""
    data = store.rows.stored_bytes(row)
    is_secret = (
        b"Secret" in data or b"/secrets/" in (row.key or b"") or (resource is not None and resource.one == "secret")
    )
    if is_secret and not store.reader.mode.show_secrets:
        digest = hashlib.sha256(data).hexdigest()
        return f"*** ({counted(len(data), 'byte')}, SHA-256 {digest[:12]}...; --show-secrets prints it)"
    return data[:4096].decode("utf-8", "backslashreplace")


def _why_misplaced(store: DumpStore, row: StoredRow, options: QueryOptions) -> str:
    """Return why a key below the prefix of a custom kind fits no object of it; empty if it fits one."""
    if row.key is None:
        return ""
    place = classify(split_key(row.key, options.etcd_prefix), store.catalog.scopes)
    return place.reason or "" if place.status is KeyClass.OTHER else ""


def _as_misplaced(out: dict[str, Any], why: str, *, namespaced: bool) -> dict[str, Any]:
    """Return the result for an object whose key only a LIST reads, as in an audit."""
    if out.get("status") not in (Status.VALID, Status.INVALID):
        return out
    answer: dict[str, Any] = {"status": Status.OTHER.value, "reason": why}
    if fault := cache_key_fault(out.get("read"), namespaced=namespaced):
        breaking = Impact.BREAKS_WATCH.value
        answer = {"status": Status.UNREADABLE.value, "reason": f"couldn't compute key: {fault}"}
        answer |= {"impact": breaking, "impacts": [breaking]}
    content: dict[str, Any] = {name: out[name] for name in ("pruned", "defaulted", "read", "stored") if name in out}
    left = (*answer, *content, "impact", "impacts", "findings")
    return {**{name: value for name, value in out.items() if name not in left}, **answer, **content}


def _builtin(row: StoredRow, resource: Resource | None, data: bytes, options: QueryOptions) -> JsonObject:
    """Return the result of an audit for a value of a built-in kind."""
    if row.key is None:
        header = read_header(data)
        judged = None if resource is None or header is None else judge_exported(header.group, header.kind, data)
    else:
        place = classify(split_key(row.key, options.etcd_prefix), {})
        judged = judge_at(place.group, place.plural, data, place.name) if place.status is KeyClass.BUILTIN else None
    if judged is None:
        return {}
    out: JsonObject = {"status": judged.status.value}
    if judged.version is not None:
        out["stored_version"] = judged.version
    if judged.reason is not None:
        out["reason"] = judged.reason
    if judged.impact is not None:
        out["impact"] = judged.impact.value
    if judged.impacts:
        out["impacts"] = [impact.value for impact in judged.impacts]
    return out


def _judged(definition: CustomResourceDefinition, resource: Resource, data: bytes) -> JsonObject:
    audited = AuditProgram(definition, definition.versions[resource.version]).audit(data)
    impacts = impacts_of(audited, namespaced=definition.namespaced)
    out: JsonObject = {"status": (Status.INVALID if audited.findings else Status.VALID).value}
    if audited.unreadable is not None:
        out |= {"status": Status.UNREADABLE.value, "reason": audited.unreadable.reason}
    impact = worst(impacts, invalid=bool(audited.findings))
    if impact is not None:
        out["impact"] = impact.value
    if impacts:
        out["impacts"] = [impact.value for impact in impacts]
    texts = BoundedTexts()
    findings = [
        {
            "check": finding.check,
            "field": texts.bounded(finding.field),
            "type": finding.type,
            "message": texts.bounded(finding.words),
        }
        for finding in audited.findings
    ]
    out["findings"] = with_notes(findings)
    out["pruned"] = list(audited.pruned)
    out["defaulted"] = list(audited.defaulted)
    return out


def _revisions(store: DumpStore, row: StoredRow) -> list[JsonObject]:
    source = store.plan.sources[row.source]
    check_history(source)
    out: list[JsonObject] = []
    for revision in key_revisions(source, row.key or b"", exact=True):
        if revision.deleted:
            out.append({"revision": revision.revision, "deleted": True})
        else:
            out.append(
                {
                    "revision": revision.revision,
                    "version": revision.version,
                    "bytes": revision.length,
                    "offset": revision.offset,
                }
            )
    return out
