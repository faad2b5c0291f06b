"""`auditor show`: everything that is known of one key: stored, as read, findings, impact, revisions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from auditor.errors import PlanError
from auditor.printing.discovery import Resource
from auditor.printing.jsonprint import to_json
from auditor.printing.yamltext import YamlTextError, to_yaml
from auditor.program.audit_program import AuditProgram
from auditor.program.impact import impacts_of, worst
from auditor.sources.kernels import whole_parquet
from auditor.sources.manifest_rows import read_header
from auditor.sources.registry_key import classify, printable_key, split_key
from pipelines.dump_store import DumpStore, Unreadable
from pipelines.history import check_history, key_revisions
from pipelines.query import Writer, is_damaged, open_store
from pipelines.remote import query_here
from pipelines.report import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.model import JsonObject
    from pipelines.dump_store import StoredRow
    from pipelines.query import QueryOptions

__all__ = ["run_show"]


def run_show(options: QueryOptions, key: str, *, output: str) -> int:
    """Print what is known of a key; return the exit code.

    Raises:
        PlanError: There is no such key.
    """
    with query_here(options) as local:
        return _show(local, key, output)


def _show(options: QueryOptions, key: str, output: str) -> int:
    out, err = Writer(sys.stdout), Writer(sys.stderr)
    report = Path(options.target)
    found: list[dict[str, Any]] = []
    judged = _of_report(report, key) if (report / MANIFEST).exists() else None
    with open_store(options, err) as store:
        if isinstance(store, DumpStore):
            found = [_describe(store, row, options) for row in _rows(store, key)]
        damaged = is_damaged(store)
    if judged is not None:
        found = [{"report": judged}, *found] if judged["objects"] else found
    if not found:
        advice = "keys stand in the column `key` of objects/" if judged is not None else "see `auditor query` for names"
        raise PlanError(options.target, f"no key {key}", "", advice)
    for number, one in enumerate(found):
        if number:
            out("---\n")
        out(to_json(one) if output == "json" else _yaml(one))
    return 3 if damaged else 0


def _yaml(sections: dict[str, Any]) -> str:
    """Return the sections in their order, each as kubectl writes YAML."""
    text = []
    for name, value in sections.items():
        try:
            text.append(to_yaml({name: value}))
        except YamlTextError:  # control characters, which the real writer refuses
            text.append(f"{name}: {to_json(value)}")
    return "".join(text)


def _of_report(report: Path, key: str) -> dict[str, Any]:
    """Return the rows and findings that a report has of a key."""
    objects: list[dict[str, Any]] = []
    for part in sorted((report / "objects").glob("*.parquet")):
        objects += [{k: v for k, v in row.items() if v not in (None, [], ())} for row in _in_part(part, key)]
    columns = ["audited_version", "request", "check", "type", "field", "message"]
    places = ("cluster", "namespace")
    columns[:0] = [place for place in places if len({one.get(place) for one in objects}) > 1]  # whose a finding is
    findings: list[dict[str, Any]] = []
    for part in sorted((report / "findings").glob("*.parquet")):
        findings += [{k: row[k] for k in columns} for row in _in_part(part, key)]
    judged: dict[str, Any] = {"objects": objects, "findings": findings}
    if (report / "changes").exists():  # of `auditor upgrade`
        judged["changes"] = _changes(report, key)
    return judged


def _in_part(part: Path, key: str) -> list[dict[str, Any]]:
    """Return the rows of a part that are of an etcd key, or of [NAMESPACE/]NAME; /NAME is in no namespace."""
    wanted = pc.field("key") == key
    namespace, slash, name = key.rpartition("/")
    if "/" not in namespace:
        place = pc.field("namespace")
        is_there = (place == namespace) if namespace else place.is_null() | (place == "")
        wanted |= (pc.field("name") == name) & is_there if slash else pc.field("name") == name
    with whole_parquet(part):
        return pq.read_table(part, filters=wanted).to_pylist()  # type: ignore[no-any-return]


def _changes(report: Path, key: str) -> list[dict[str, Any]]:
    """Return what an upgrade changes of a key; old and new are JSON text."""
    return [
        {k: row[k] for k in ("audited_version", "change", "path", "old", "new") if row[k] is not None}
        for part in sorted((report / "changes").glob("*.parquet"))
        for row in _in_part(part, key)
    ]


def _rows(store: DumpStore, key: str) -> Iterator[StoredRow]:
    """Yield the rows that a key means: an etcd key, or [NAMESPACE/]NAME in an export."""
    for number, source in enumerate(store.plan.sources):
        if source.is_export:
            for row in store.all_rows(number):
                header = read_header(store.stored_bytes(row))
                if header is not None and key in (header.name, f"{header.namespace}/{header.name}"):
                    yield row
        else:
            yield from store.exact_rows(number, key.encode("utf-8", "surrogateescape"))


def _describe(store: DumpStore, row: StoredRow, options: QueryOptions) -> dict[str, Any]:
    source = store.plan.sources[row.source]
    out: dict[str, Any] = {}
    if row.key is not None:
        out["key"] = printable_key(row.key)
    out["source"] = {"name": source.name, "offset": row.offset, "length": row.length}
    resource, status = _resource(store, row, options)
    if resource is None:
        out["status"] = status
        out["stored"] = store.stored_bytes(row)[:4096].decode("utf-8", "backslashreplace")
    else:
        out |= _of_object(store, row, resource)
    if row.key is not None and source.format.startswith("etcd-"):
        out["revisions"] = _revisions(store, row)
    return out


def _resource(store: DumpStore, row: StoredRow, options: QueryOptions) -> tuple[Resource | None, str]:
    if row.key is None:
        header = read_header(store.stored_bytes(row))
        group, kind = (header.group, header.kind) if header is not None else ("", "")
        found = [one for one in store.discovery.resources if (one.group, one.kind) == (group, kind)]
    else:
        scopes = {name: definition.namespaced for name, definition in store.definitions.items()}
        place = classify(split_key(row.key, options.etcd_prefix), scopes)
        if place.status not in ("custom", "builtin", "definition"):
            return None, f"{place.status}: {place.reason}"
        found = [one for one in store.discovery.resources if one.plural == place.plural]
        found = [one for one in found if one.group == place.group] or found[:1]
    if not found:
        return None, "no kind that is known here"
    definition = store.definition(found[0])
    if definition is not None and definition.storage_version is not None:
        name = definition.storage_version.name
        found = [one for one in found if one.version == name] or [_at(found[0], name)]
    return found[0], ""


def _at(resource: Resource, version: str) -> Resource:
    return Resource(
        resource.group, version, resource.kind, resource.plural, resource.singular, namespaced=resource.namespaced
    )


def _of_object(store: DumpStore, row: StoredRow, resource: Resource) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": resource.kind, "group": resource.group, "version": resource.version}
    definition = store.definition(resource)
    try:
        if definition is not None:
            out |= _judged(definition, resource, store.plain_bytes(row, resource))
        else:
            out["status"] = "builtin"
        out["read"] = store.concealed(resource, store.read(resource, row))
    except Unreadable as error:
        out |= {"status": "unreadable", "reason": str(error)}
    try:
        out["stored"] = store.concealed(resource, store.as_stored(resource, row))
    except Unreadable:
        out["stored"] = store.stored_bytes(row)[:4096].decode("utf-8", "backslashreplace")
    return out


def _judged(definition: CustomResourceDefinition, resource: Resource, data: bytes) -> JsonObject:
    audited = AuditProgram(definition, definition.versions[resource.version]).audit(data)
    impacts = impacts_of(audited, namespaced=definition.namespaced)
    out: JsonObject = {"status": "invalid" if audited.findings else "valid"}
    impact = worst(impacts, invalid=bool(audited.findings))
    if impact is not None:
        out["impact"] = impact
    if impacts:
        out["impacts"] = list(impacts)
    out["findings"] = [
        {"check": one.check, "field": one.field, "type": one.type, "message": one.message} for one in audited.findings
    ]
    out["pruned"] = list(audited.pruned)
    out["defaulted"] = list(audited.defaulted)
    return out


def _revisions(store: DumpStore, row: StoredRow) -> list[JsonObject]:
    source = store.plan.sources[row.source]
    check_history(source)
    out: list[JsonObject] = []
    for one in key_revisions(source, row.key or b"", exact=True):
        if one.deleted:
            out.append({"revision": one.revision, "deleted": True})
        else:
            out.append({"revision": one.revision, "version": one.version, "bytes": one.length, "offset": one.offset})
    return out
