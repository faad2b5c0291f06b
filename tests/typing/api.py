"""The public API as its users write it; never run, type-checked by `make check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import auditor

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


def audit(documents: list[dict[str, Any]], data: bytes) -> list[str]:
    catalog: auditor.CrdCatalog = auditor.CrdCatalog.from_documents(documents)
    audited: auditor.AuditedObject = auditor.audit_object(catalog, data, resource="widgets.example.com", version=None)
    if audited.unreadable is not None:
        reason: str = audited.unreadable.reason
        return [reason]
    obj: dict[str, Any] = audited.object or {}
    paths: tuple[str, ...] = (*audited.pruned, *audited.defaulted)
    selectable: dict[str, str] = audited.selectable
    return [*map(message, audited.findings), *paths, *selectable, *obj]


def message(finding: auditor.Finding) -> str:
    known: tuple[str, str, str, str, str] = (
        finding.field,
        finding.type,
        finding.detail,
        finding.message,
        finding.check,
    )
    rule: str | None = finding.rule
    return rule or known[3]


def update(catalog: auditor.CrdCatalog, old: bytes, new: bytes) -> list[auditor.Finding]:
    checked: auditor.CheckedUpdate = auditor.check_update(catalog, old, new, resource=None, version="v1")
    tried: auditor.TriedUpdate = auditor.try_update(
        catalog, old, key="/registry/example.com/widgets/d/a", revision=7, new=None, version=None, request="label"
    )
    code: int = tried.code
    unreadable: auditor.Unreadable | None = checked.unreadable
    return [*checked.findings, *checked.unratcheted, *checked.create, *tried.findings] if code and unreadable else []


def definitions(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, ...]:
    checked: auditor.CheckedDefinition = auditor.check_crd(new)
    updated: auditor.CheckedDefinition = auditor.check_crd_update(old, new)
    return (*map(message, checked.findings), *checked.warnings, *updated.warnings)


def rows(report: str) -> int:
    try:
        index = auditor.open_index(report)
        table = index.select("widgets", field_selector="spec.color=blue", label_selector="app", namespace="prod")
    except auditor.AuditorError:
        return 0
    count: int = table.num_rows
    return count


def lake(batches: Iterator[pa.RecordBatch], catalog: auditor.CrdCatalog, documents: list[dict[str, Any]]) -> int:
    made: Iterator[pa.RecordBatch] = auditor.audit_batches(batches, catalog, table="findings", source="lake")
    again = auditor.audit_batches(made, documents)
    columns: list[str] = auditor.batch_schema("objects").names
    count: int = sum(one.num_rows for one in again)
    return count + len(columns)


def opened(path: str) -> int:
    with auditor.open([path], crds=["crds/"], as_of=4, cluster_name="{name}") as one:
        rows: int = one.table("widgets", ["spec"]).num_rows + one.sql("SELECT 1").num_rows + one.kinds().num_rows
        if isinstance(one, auditor.OpenedTables):
            return rows
        for obj in one.objects("widgets", where="spec.size > 3"):
            found: tuple[auditor.Finding, ...] = obj.findings
            rows += len(found) + len(obj["spec"]) + len(obj.name)
        if isinstance(one, auditor.OpenedDump):
            report: auditor.OpenedReport = one.audit("out/", jobs=1)
            rows += report.objects().num_rows + report.findings().num_rows + report.causes().num_rows
            one.upgrade(["new-crds/"]).close()
    return rows


VERSIONS: tuple[str, str] = (auditor.__version__, auditor.KUBERNETES_RELEASE)
