"""`auditor show`: everything known about one key: its value as stored and as read, findings, impact, revisions."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError
from auditor.base.statuses import Impact, KeyClass, Status
from auditor.base.wording import counted
from auditor.builtin.judge import judge_at, judge_exported
from auditor.causes.follows import with_notes
from auditor.output.views.marks import Marks
from auditor.printing.discovery import Resource, UnknownResource
from auditor.printing.get.server_errors import OF_THE_COMMAND, left_out
from auditor.printing.jsonprint import to_json
from auditor.printing.print_rows import DATA, print_rows
from auditor.printing.yamltext import YamlTextError, to_yaml
from auditor.program.impact import cache_key_fault, impacts_of, worst
from auditor.program.program import AuditProgram
from auditor.server.comparison import are_different
from auditor.server.dump import DumpStore
from auditor.server.history import check_history, key_revisions
from auditor.server.object_reader import UndecodedObject
from auditor.shards.finding_rows import BoundedTexts
from auditor.sources.manifests.export_table import read_header
from auditor.sources.registry_key import classify, printable_key, split_key
from auditor.store.manifest import MANIFEST, manifest_bytes, parse_manifest, whole_report
from auditor.store.selected_rows import is_one_of, rows_where
from pipelines.run.objects.row_kind import resource_of
from pipelines.run.query import TextWriter, open_stores
from pipelines.run.remote import query_here
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.server.dump_rows import StoredRow
    from pipelines.run.objects.query_options import QueryOptions


_CAUSE: Final = re.compile("[0-9a-f]{8,64}")
_COLUMNS: Final = ("audited_version", "request", "check", "type", "field", "message")
_SAME: Final = ("audited_version", "check", "type", "field", "rule", "bad_value", "message")
"""Columns that are equal if several requests report the same finding."""
_MARKS: Final = ("cause", "severity", "accepted", "owner")
_OF_OBJECT: Final = ("key", "kind", "group", "stored_version", "status", "impact", "impacts", "reason")
_IF_KNOWN: Final = ("verdict", "guard_path", "rule", "last_manager", "change")


def run_show(options: QueryOptions, key: str, *, output: str) -> int:
    """Print everything known about a key; return the exit code.

    Args:
        options: The dump or report, and how it is read.
        key: The key.
        output: A form of rows; yaml and json are documents of the key, the others rows of it.

    Raises:
        PlanError: There is no such key, or the report is of another release.
    """
    with query_here(options) as local:
        return _show(local, key, output)


def _show(options: QueryOptions, key: str, output: str) -> int:
    out, err = TextWriter(sys.stdout), ErrorLines()
    report = Path(options.target)
    documents: list[dict[str, Any]] = []
    failed = 0
    keys: set[str] = set()
    has_report = (report / MANIFEST).exists()
    with open_stores(replace(options, rows_of_other=not options.dumps), err) as opened:
        for cluster, store in opened.stores.items():
            if isinstance(store, DumpStore):
                named = {"cluster": cluster} if opened.is_fleet else {}
                rows = list(rows_of(store, key, options.namespace))
                keys |= {printable_key(row.key) for row in rows if row.key is not None}
                for row in rows:
                    try:
                        documents.append({**named, **_describe(store, row, options)})
                    except Exception as error:  # noqa: BLE001 - it is left out
                        store.leave_out(key, error)
            failed += store.failed
        damaged = opened.is_incomplete()
        clusters = list(opened.stores) if opened.is_fleet else []
    if has_report:
        with whole_report(options.target):
            judged = _of_report(report, next(iter(keys), key), clusters)
        if judged["objects"]:
            documents = [
                {"report": judged},
                *({k: v for k, v in document.items() if k != "findings"} for document in documents),
            ]
    if not (documents or failed):
        if has_report and (of_cause := _of_cause(options, key)):
            return _show(*of_cause, output)
        advice = "the column `key` of objects/ lists the keys" if has_report else "`auditor query` prints the names"
        raise PlanError(options.target, f"there is no key {key}", "", advice)
    printed = 0
    for document in documents:
        try:
            text = _text(document, output, headers=not printed)
        except OF_THE_COMMAND:
            raise
        except Exception as error:  # noqa: BLE001 - it is left out
            failed += 1
            err(left_out(key, error))
            continue
        out(f"---\n{text}" if printed and output in ("json", "yaml") else text)
        printed += 1
    return 3 if damaged or failed else 0


def _of_cause(options: QueryOptions, cause: str) -> tuple[QueryOptions, str] | None:
    """Return options and key of the first example of a cause, given its id; None if the report has no such cause."""
    from auditor.causes.model import FindingsModel  # noqa: PLC0415 - only when asked

    if not _CAUSE.fullmatch(cause):
        return None
    causes = [
        candidate
        for candidate in FindingsModel.open(options.target).causes
        if candidate.digest.startswith(cause) and candidate.examples
    ]
    if len(causes) != 1:
        return None
    clusters = (causes[0].example_clusters[0],) if causes[0].clusters else options.clusters
    return replace(options, clusters=clusters), causes[0].examples[0]


def _text(sections: dict[str, Any], output: str, *, headers: bool) -> str:
    if output == "json":
        return to_json(sections)
    if output == "yaml":
        return _yaml(sections)
    rows = sections["report"]["objects"] if "report" in sections and output not in DATA else [sections]
    wide = ("group", "stored_version", "impacts")
    return "".join(print_rows(rows, _OF_OBJECT, output, wide=wide, headers=headers))


def _yaml(sections: dict[str, Any]) -> str:
    """Return the sections in their order, in YAML as kubectl writes it; one object is printed once."""
    text = []
    is_same = "read" in sections and not are_different(sections["read"], sections.get("stored"))
    for name, value in sections.items():
        if name == "stored" and is_same:
            text.append("# stored: as read, without resourceVersion\n")
            continue
        try:
            text.append(to_yaml({name: value}, for_terminal=sys.stdout.isatty()))
        except YamlTextError:  # control characters, which the YAML writer refuses
            text.append(f"{name}: {to_json(value)}")
    return "".join(text)


def _of_report(report: Path, key: str, clusters: list[str]) -> dict[str, Any]:
    """Return the rows and findings of a key in a report, optionally only of some clusters."""
    objects: list[dict[str, Any]] = []
    marks = Marks(report, parse_manifest(manifest_bytes(report)) or {"options": {}})
    for part in sorted((report / "objects").glob("*.parquet")):
        for table in _tables(part, key, clusters):
            for row, causes in zip(table.to_pylist(), marks.objects(table), strict=True):
                objects.append({k: v for k, v in (row | {"causes": causes}).items() if v not in (None, [], ())})
    places = [place for place in ("cluster", "namespace") if len({obj.get(place) for obj in objects}) > 1]
    findings = _findings(report / "findings", key, places, clusters, marks)
    judged: dict[str, Any] = {"objects": objects, "findings": findings}
    if fixed := _findings(report / "fixed", key, places, clusters, marks):  # of `auditor audit --diff`
        judged["fixed"] = fixed
    if (report / "changes").exists():  # of `auditor upgrade`
        judged["changes"] = _changes(report, key)
    return judged


def _findings(folder: Path, key: str, places: list[str], clusters: list[str], marks: Marks) -> list[dict[str, Any]]:
    """Return the findings of a key in a table of a report, each once; `requests` lists those that report it too.

    Args:
        folder: The table.
        key: As in `_in_part`.
        places: Columns that identify the object of a finding, if several objects have the key.
        clusters: As in `_in_part`.
        marks: Returns cause, severity and owner of each.
    """
    of_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in sorted(folder.glob("*.parquet")):
        tables = _tables(part, key, clusters)
        rows = (
            row | mark for t in tables for row, mark in zip(t.to_pylist(), marks.findings(t, part.name), strict=True)
        )
        for row in rows:
            whose = (row["cluster"], row["key"], row["namespace"], row["name"])
            same = (*whose, *(row[name] for name in _SAME))
            if same in of_key:  # the same finding of another request
                requests = of_key[same].setdefault("requests", [of_key[same]["request"]])
                requests += [row["request"]] if row["request"] not in requests else []
                continue
            row_of_key = {name: row[name] for name in (*_MARKS, *places, *_COLUMNS) if name in row}
            row_of_key |= {name: row[name] for name in _IF_KNOWN if row.get(name) is not None}
            if row["last_write"] is not None:
                row_of_key["last_write"] = row["last_write"].strftime("%Y-%m-%dT%H:%M:%SZ")
            of_key[same] = row_of_key
    of_objects: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for same, row_of_key in of_key.items():
        of_objects.setdefault(same[:4], []).append(row_of_key)
    return [note for findings in of_objects.values() for note in with_notes(findings)]


def _in_part(part: Path, key: str, clusters: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a part, as `_tables` finds them."""
    return [row for table in _tables(part, key, clusters) for row in table.to_pylist()]


def _tables(part: Path, key: str, clusters: Sequence[str] = ()) -> list[pa.Table]:
    """Return the rows of a part with an etcd key or [NAMESPACE/]NAME; /NAME means no namespace.

    With clusters, only the rows of these clusters.
    """
    namespace, slash, name = key.rpartition("/")

    def wanted(rows: pa.Table) -> Any:
        mask = is_one_of(rows["key"], key)
        if "/" not in namespace:
            places = (namespace,) if namespace else (None, "")
            mask |= is_one_of(rows["name"], name) & (is_one_of(rows["namespace"], *places) if slash else True)
        return mask & is_one_of(rows["cluster"], *clusters) if clusters else mask

    compared = ["key", "namespace", "name", *(["cluster"] if clusters else [])]
    return list(rows_where(part, wanted, compared))


def _changes(report: Path, key: str) -> list[dict[str, Any]]:
    """Return the changes that an upgrade makes to a key; old and new are JSON text."""
    return [
        {k: row[k] for k in ("audited_version", "change", "path", "old", "new") if row[k] is not None}
        for part in sorted((report / "changes").glob("*.parquet"))
        for row in _in_part(part, key)
    ]


def rows_of(store: DumpStore, key: str, namespace: str = "") -> Iterator[StoredRow]:
    """Yield the rows of a key: an etcd key, [NAMESPACE/]NAME in an export, or else KIND/NAME."""
    is_found = False
    for number, source in enumerate(store.plan.sources):
        if source.is_export:
            for row in store.rows.all(number):
                header = read_header(store.rows.stored_bytes(row))
                if header is not None and key in (header.name, f"{header.namespace}/{header.name}"):
                    is_found = True
                    yield row
        else:
            for row in store.rows.exact(number, key.encode("utf-8", "surrogateescape")):
                is_found = True
                yield row
    kind, slash, name = key.partition("/")
    if is_found or not (kind and slash and name) or "/" in name:
        return
    try:
        resource = store.discovery.resolve(kind)
    except UnknownResource:
        return
    if namespace or not resource.namespaced:
        yield from store.rows.of(resource, namespace, name)
    else:
        yield from store.rows.anywhere(resource, name)


def _describe(store: DumpStore, row: StoredRow, options: QueryOptions) -> dict[str, Any]:
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
    if row.key is not None and source.format.startswith("etcd-"):
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
        elif definition is not None:
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
    scopes = {name: definition.namespaced for name, definition in store.catalog.definitions.items()}
    place = classify(split_key(row.key, options.etcd_prefix), scopes)
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
        judged = judge_exported(resource.group, resource.kind, data) if resource is not None else None
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
