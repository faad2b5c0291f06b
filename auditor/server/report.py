"""The store over a report: rows come from its index, objects from the dump that it was made of.

An index knows its dump by hash and refuses another. Where the dump is not there any more, what the index itself holds
is shown, and said so. Kinds that are not in the index (built-in ones), and answers that need every key of a kind, are
looked up in the dump itself.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auditor.base.arrow import parquet_footer
from auditor.base.errors import DamagedDump, PlanError, SelectorError
from auditor.base.statuses import Status
from auditor.base.visible import visible
from auditor.builtin.kinds import builtin_kind
from auditor.crds.conversion import NEEDS_WEBHOOK
from auditor.crds.definition import document_name
from auditor.crds.definitions_file import DefinitionEntry, DefinitionsFile, definition_entry
from auditor.plan.plan import Plan, make_plan
from auditor.printing.columns import AGE, age_of
from auditor.printing.discovery import Discovery, Resource
from auditor.printing.get import NotShown, StatusError, not_found
from auditor.printing.tables import Header
from auditor.report.manifest import MANIFEST, manifest_bytes, parse_manifest
from auditor.selectors.fields import field_text
from auditor.selectors.grammar import FieldRequirement, parse_field_selector, parse_label_selector
from auditor.selectors.pushdown import push_down
from auditor.selectors.query import open_index, selector_filter
from auditor.selectors.row_groups import UNKNOWN, Scan
from auditor.selectors.where import compile_where, unparse
from auditor.server.dump import DumpStore, Steps, StoredRow, Unreadable, name_of
from auditor.server.key_order import in_key_order, rows_named, tell_missing
from auditor.server.not_read import NotRead
from auditor.sources.files.compression import compression_of
from auditor.sources.files.state import states_below
from auditor.sources.plan import Damage, SourcePlan
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.cel.syntax.ast import Expr
    from auditor.plan.options import AuditOptions
    from auditor.printing.columns import Cell
    from auditor.selectors.filters import Filter
    from auditor.selectors.grammar import LabelRequirement
    from auditor.selectors.predicates import Predicate
    from auditor.selectors.query import Index, IndexedKind
    from auditor.server.dump import ReadMode

__all__ = ["IndexOnlyStore", "ReportStore", "check_dumps", "find_dumps", "read_manifest", "report_plan", "scope_of"]

_POSITION = ("source", "offset", "length", "mod_revision")


def read_manifest(report: Path) -> dict[str, Any]:
    """Return the manifest of a report.

    Raises:
        PlanError: The folder is none, or its manifest is damaged.
    """
    path = report / MANIFEST
    if not path.exists():
        raise PlanError(str(report), "is no report (it has no manifest.json)", "the --report folder of an audit")
    content = parse_manifest(manifest_bytes(report))
    if content is None:
        raise PlanError(str(report), f"is no report (its {MANIFEST} is damaged)", "the --report folder of an audit")
    return content


def _damage_of(source: dict[str, Any]) -> tuple[Damage, ...]:
    """Return what of a dump could not be read, as a manifest tells it."""
    return tuple(Damage(**one) for one in source["damage"])


def find_dumps(manifest: dict[str, Any], report: Path, given: Sequence[str]) -> list[Path] | None:
    """Return where the dumps of a report are: as given, or by their names; None if one of them is missing."""
    if given:
        return [Path(one) for one in given]
    found = []
    for source in manifest["inputs"]:
        places = (Path(source["name"]), report.parent / source["name"], report.parent / Path(source["name"]).name)
        place = next((one for one in places if one.exists()), None)
        if place is None or source["name"] == "-":
            return None
        found.append(place)
    return found


def _check_hash(path: str, found: str, manifest: dict[str, Any], at: int) -> None:
    wanted = manifest["inputs"][at]["sha256"]
    if found != wanted:
        made = manifest["started"]
        raise PlanError(
            path,
            f"is not the dump that the report was made from on {made}: its SHA-256 is {found[:12]}..., that of the "
            f"report's {wanted[:12]}...",
            "",
            "give the right one with --dump, or audit this one anew",
        )


def check_dumps(plan: Plan, manifest: dict[str, Any]) -> None:
    """Make sure that what was opened is what a report was made from.

    Raises:
        PlanError: It is something else.
    """
    if len(plan.sources) != len(manifest["inputs"]):
        raise PlanError(plan.sources[0].name, "is not what the report was made from", "as many dumps as it names")
    for at, source in enumerate(plan.sources):
        _check_hash(source.name, source.sha256, manifest, at)


def report_plan(report: Path, manifest: dict[str, Any], dumps: list[Path], options: AuditOptions) -> Plan | None:
    """Return a plan that needs no scan: the dumps as they are, the definitions of the report, or None if it takes one.

    Raises:
        PlanError: A dump is another one.
    """
    definitions = DefinitionsFile(report)
    inputs = manifest["inputs"]
    if not definitions.exists() or len(dumps) != len(inputs):
        return None
    sources = []
    for at, (path, source) in enumerate(zip(dumps, inputs, strict=True)):
        if source["format"] != "etcd-snapshot" or not path.is_file():
            return None
        states = states_below(str(path))
        with path.open("rb") as stream:
            if compression_of(stream.read(64)):
                return None
            stream.seek(0)
            _check_hash(str(path), hashlib.file_digest(stream, "sha256").hexdigest(), manifest, at)
        sources.append(
            SourcePlan(
                name=source["name"],
                format=source["format"],
                mapped=str(path),
                sha256=source["sha256"],
                revision=source["revision"],
                compacted_revision=source["compacted_revision"],
                is_export=False,
                live="",
                rows=source["keys"],
                damage=_damage_of(source),
                states=states,
            )
        )
    return Plan(
        sources=tuple(sources),
        definitions=str(definitions.path),
        entries=tuple(_entries(definitions, manifest)),
        from_files=frozenset(manifest["definitions"]["from_files"]),
        crds_sha256=manifest["definitions"]["sha256"],
        options=options,
    )


def _entries(definitions: DefinitionsFile, manifest: dict[str, Any]) -> Iterator[DefinitionEntry]:
    from_files = set(manifest["definitions"]["from_files"])
    exported = all(source["is_export"] for source in manifest["inputs"])
    at = 0
    for line in definitions.lines():
        try:
            document = json.loads(line)
        except ValueError as error:
            expected = "the definitions as an audit writes them"
            raise DamagedDump(str(definitions.path), "is damaged", expected, "audit anew") from error
        name = document_name(document)
        stored = name not in from_files and (not exported or "status" in document)
        yield definition_entry(name, document, stored, at, len(line) - 1)
        at += len(line)


class ReportStore(DumpStore):
    """Objects of a dump, found by the index of its report."""

    def __init__(
        self,
        plan: Plan,
        mode: ReadMode,
        warn: Callable[[str], None],
        *,
        report: Path,
        dumps: list[Path],
        workdir: Path,
        manifest: dict[str, Any],
    ) -> None:
        self.index = open_index(report)
        self.report = report
        self.dumps = dumps
        self.workdir = workdir
        self.manifest = manifest
        self.names_only = False
        self.scan = Scan()
        super().__init__(plan, mode, warn)

    def source(self, number: int) -> tuple[Any, Any]:
        """Return the mapped (live table, values); the table is built on first use."""
        if not self.plan.sources[number].live:
            options = replace(self.plan.options, dumps=tuple(map(str, self.dumps)))
            sources = make_plan(options, self.workdir).sources
            self.plan = replace(self.plan, sources=sources)
        return super().source(number)

    def values(self, number: int) -> Any:
        """Return the mapped file that values are cut from; no table is needed for that."""
        if self.plan.sources[number].live:
            return super().source(number)[1]
        from auditor.plan.plan import open_values  # noqa: PLC0415 - next to its only use

        found = self._sources.get(-1 - number)
        if found is None:
            found = self._sources[-1 - number] = (None, open_values(self.plan.sources[number]))
        return found[1]

    def stored_bytes(self, row: StoredRow) -> bytes:
        """Return the bytes of a row as the dump has them."""
        if row.encoding:
            return super().stored_bytes(row)
        return bytes(self.values(row.source)[row.offset : row.offset + row.length])

    def partition(self, resource: Resource) -> IndexedKind | None:
        """Return the partition that answers for a resource, or None if only the dump can."""
        definition = self.definition(resource)
        if self.mode.as_server or self.mode.any_field or definition is None or scope_of(self.manifest):
            return None
        place = self.index.partition(resource.group, resource.version, resource.kind, resource.plural)
        if place is not None and (definition.conversion == "Webhook" or self._has_sealed(resource)):
            # No index has what a webhook reads and what was sealed: the dump shows the former, and may open the latter.
            rows = sum(parquet_footer(path).num_rows for path in place.parts)
            return place if rows == self._objects_of(resource) else None
        return place

    def _objects_of(self, resource: Resource) -> int:
        return sum(one["objects"] for one in self._counts_of(resource))

    def _has_sealed(self, resource: Resource) -> bool:
        return any(one["statuses"].get(Status.SEALED) for one in self._counts_of(resource))

    def _counts_of(self, resource: Resource) -> list[dict[str, Any]]:
        """Return what the manifest counts of a kind."""
        kinds = self.manifest["kinds"]
        return [one for one in kinds if (one["group"], one["kind"]) == (resource.group, resource.kind)]

    def index_rows(
        self,
        place: IndexedKind,
        namespace: str,
        labels: tuple[LabelRequirement, ...],
        fields: Sequence[FieldRequirement],
        columns: Sequence[str] | None,
        where: Predicate | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of a partition that fit, as tables."""
        condition = _condition(place, namespace, labels, fields)
        yield from self.index.scan(place, condition, columns=columns, scan=self.scan, where=where)

    def predicate(self, resource: Resource, place: IndexedKind, expr: Expr) -> Predicate:
        """Return what the index can say of a predicate."""
        unclear = self.index.unclear_fields(place, self.definition(resource))
        return push_down(expr, pq.read_schema(place.parts[0]), unclear=unclear)

    def _selected(
        self,
        resource: Resource,
        namespace: str,
        labels: tuple[LabelRequirement, ...],
        fields: Sequence[FieldRequirement],
    ) -> Iterator[tuple[int, JsonObject]]:
        place = self.partition(resource)
        if place is None:
            yield from super()._selected(resource, namespace, labels, fields)
            return
        where = self.where_of(resource) if self.where else None
        predicate = None if where is None else self.predicate(resource, place, where.root)
        self.refuse_scan(
            resource, self.index.rows_to_scan(place, _condition(place, namespace, labels, fields), predicate)
        )
        self._tell_missing(resource, place)
        notes = NotRead(resource, self.unsealer)
        steps = self.steps[name_of(resource)] = Steps()
        self.scan = Scan()
        positions = _POSITION[:1] if self.names_only and predicate is None else _POSITION
        found = self.index_rows(place, namespace, labels, fields, (*positions, "namespace", "name"), predicate)
        sources = {source["name"]: number for number, source in enumerate(self.manifest["inputs"])}
        for table in in_key_order(found, self.manifest["inputs"]):
            steps.fitted += table.num_rows
            for row in table.to_pylist():
                unknown = row.pop(UNKNOWN, False)
                number = sources[row["source"]]
                light = {"metadata": {key: row[key] for key in ("namespace", "name") if row[key] is not None}}
                if self.names_only and not unknown:
                    steps.kept += 1
                    yield number, light
                    continue
                stored = self._stored_row(resource, row)
                steps.read += 1
                try:
                    obj = self.read_or_stored(resource, stored, notes)
                except Unreadable as error:
                    self.corrupt += 1
                    self.warn(f"500: corrupt object {printable_key(stored.key or b'')}: {error}\n")
                    continue
                except Exception as error:  # noqa: BLE001 - it is left out
                    self.leave_out(printable_key(stored.key or b""), error)
                    continue
                if obj is None:
                    continue
                if not unknown or where is None or where.test(obj):
                    steps.kept += 1
                    yield number, light if self.names_only else self.shown(resource, stored, obj)
        steps.rows, steps.scanned = self.scan.rows, self.scan.scanned
        notes.note(self.warn)

    def _stored_row(self, resource: Resource, row: dict[str, Any]) -> StoredRow:
        """Return where the object of an index row is stored."""
        inputs = self.manifest["inputs"]
        at = [source["name"] for source in inputs].index(row["source"])
        key = None
        if not inputs[at]["is_export"]:
            middle = f"{row['namespace']}/" if resource.namespaced and row["namespace"] else ""
            key = f"{self.key_prefix(resource)}{middle}{row['name']}".encode("utf-8", "surrogatepass")
        encoding = int(inputs[at]["format"] == "etcdctl-json")
        return StoredRow(at, key, None, row["mod_revision"], None, row["offset"], row["length"], encoding)

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return the object at a key, found by the report; what is not in it is looked up in the dump."""
        if self.partition(resource) is not None:
            for row in rows_named(self.report, self.manifest["inputs"], resource, namespace, name):
                stored = self._stored_row(resource, row)
                notes = NotRead(resource, self.unsealer)
                try:
                    obj = self._got(resource, stored, notes)
                    notes.note(self.warn)
                    return self.shown(resource, stored, obj)
                except Unreadable:
                    break  # encrypted, and its keys are not given here: the dump has the words for it
                except Exception as error:  # noqa: BLE001 - it is left out
                    self.leave_out(place := printable_key(stored.key or b""), error)
                    raise NotShown(f"{place} is not shown") from None
        return super().get_object(resource, namespace, name)

    def plan_of(self, resource: Resource) -> str:
        """Return what is done with the rows of a kind, as text."""
        place = self.partition(resource)
        if place is None:
            return super().plan_of(resource)
        size = sum(path.stat().st_size for path in place.parts)
        rows = sum(parquet_footer(path).num_rows for path in place.parts)
        passed = f"{self.scan.skipped} of {self.scan.row_groups} row groups skipped by their statistics"
        size_each = f"{size / max(rows, 1):.1f} bytes an object"
        made = visible(f"from the index of {self.manifest['started']}")
        name = visible(f"{resource.group_resource} {resource.version}")
        lines = [f"{name}: {made} ({rows} rows, {size_each}, {passed})"]
        for part in self.parts_of(resource):
            predicate = self.predicate(resource, place, part)
            how = "index" if predicate.is_decided() else "index, then object" if predicate.columns() else "object"
            lines.append(f"  {how}: {visible(unparse(part))}")
        return "\n".join(lines) + "\n"

    def _tell_missing(self, resource: Resource, place: IndexedKind) -> None:
        """Say which objects of a kind are not in the index."""

        def why(row: dict[str, Any]) -> str:
            try:
                self.read(resource, self._stored_row(resource, row))
            except Unreadable as error:
                return str(error)
            return f"not in the index at {resource.version}"

        self.corrupt += tell_missing(self.report, self.manifest["kinds"], resource, place, why, self.warn)


def scope_of(manifest: dict[str, Any]) -> str:
    """Return which objects of its kinds alone are in the index of a report, as text; empty: all are."""
    scope = manifest["options"]["scope"]
    names = {"namespace": "namespace", "labels": "label selector", "fields": "field selector"}
    return ", ".join(f"{name} {scope[key]}" for key, name in names.items() if scope[key])


def _condition(
    place: IndexedKind, namespace: str, labels: Sequence[LabelRequirement], fields: Sequence[FieldRequirement]
) -> Filter:
    names = set(pq.read_schema(place.parts[0]).names)
    return selector_filter(fields, labels, namespace, names, namespaced=place.namespaced)


class IndexOnlyStore:
    """What an index alone can answer, where the dump is not there: names, labels, times, selectable fields."""

    def __init__(self, report: Path, manifest: dict[str, Any], mode: ReadMode, warn: Callable[[str], None]) -> None:
        self.report = report
        self.manifest = manifest
        self.mode = mode
        self.warn = warn
        self.index: Index = open_index(report)
        self.names_only = False
        self.sealed = self.failed = self.corrupt = 0
        self.scan = Scan()
        self.where = ""
        self.max_scan: int | None = None
        self.discovery = Discovery.sorted_by_priority(
            Resource(kind.group, kind.version, kind.kind, kind.plural, kind.kind.lower(), namespaced=kind.namespaced)
            for kind in self.index.kinds
            if builtin_kind(kind.group, kind.version, kind.plural) is None
        )

    def _place(self, resource: Resource) -> IndexedKind:
        found = self.index.partition(resource.group, resource.version, resource.kind, resource.plural)
        if found is None:
            raise not_found(resource, "")
        return found

    def partition(self, resource: Resource) -> IndexedKind | None:
        """Return the partition of a resource."""
        return self.index.partition(resource.group, resource.version, resource.kind, resource.plural)

    def schema(self, resource: Resource) -> pa.Schema:
        """Return the columns of the partition of a resource."""
        return pq.read_schema(self._place(resource).parts[0])

    def index_rows(
        self,
        place: IndexedKind,
        namespace: str,
        labels: tuple[LabelRequirement, ...],
        fields: Sequence[FieldRequirement],
        columns: Sequence[str] | None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of a partition that fit, as tables."""
        condition = _condition(place, namespace, labels, fields)
        if not self.where:
            yield from self.index.scan(place, condition, columns=columns, scan=self.scan)
            return
        predicate = push_down(
            compile_where(self.where).root, pq.read_schema(place.parts[0]), unclear=self.index.unclear_fields(place)
        )
        for table in self.index.scan(place, condition, columns=columns, scan=self.scan, where=predicate):
            if pc.any(table[UNKNOWN]).as_py():
                found = "needs fields that are not in the index of the report"
                raise PlanError("--where", found, "", "give the dump of the report with --dump")
            yield table.drop_columns([UNKNOWN])

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterator[JsonObject]:
        """Yield what the index holds of the selected objects."""
        place = self._place(resource)
        try:
            found = self.index_rows(place, namespace, parse_label_selector(labels), parse_field_selector(fields), None)
            self.corrupt += tell_missing(
                self.report,
                self.manifest["kinds"],
                resource,
                place,
                lambda row: row["reason"] or _unconverted(resource, row),
                self.warn,
            )
            self._tell_sealed(resource)
            for table in in_key_order(found, self.manifest["inputs"]):
                for row in table.to_pylist():
                    yield _from_index(resource, row)
        except SelectorError as error:
            raise StatusError(400, "BadRequest", error.found) from None

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return objects as they are; built-in kinds are not in an index."""
        del resource
        return objects

    def warning_of(self, resource: Resource) -> str:
        """Return nothing: an index does not know which versions are going away."""
        del resource
        return ""

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Refuse: an index has no whole objects."""
        del resource, obj
        raise PlanError(
            "--subresource", f"{subresource} of an object is not in the index", "", "name its dump with --dump"
        )

    def _tell_sealed(self, resource: Resource) -> None:
        counts = [
            one for one in self.manifest["kinds"] if (one["group"], one["kind"]) == (resource.group, resource.kind)
        ]
        if number := sum(one["statuses"].get(Status.SEALED, 0) for one in counts):
            self.sealed += number
            self.warn(f"note: {number} objects of {resource.group_resource} are sealed, and not in the index\n")

    def fields_of(self, resource: Resource, obj: JsonObject) -> dict[str, str]:
        """Return what field selectors see of an object that `list_objects` gave."""
        return {label: field_text(label, obj) for label in self._fields(resource)}

    def explain(self) -> str:
        """Return the counts of the scan, as text."""
        return f"  {self.scan.rows} rows, {self.scan.scanned} scanned in the index, {self.scan.kept} returned\n"

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return what the index holds of one object."""
        fields = f"metadata.name={name}"
        for one in self.list_objects(resource, namespace, "", fields):
            return one
        raise not_found(resource, name)

    def has_namespace(self, name: str) -> bool:
        """Return True: the index does not show which namespaces exist."""
        del name
        return True

    def _fields(self, resource: Resource) -> list[str]:
        names = pq.read_schema(self._place(resource).parts[0]).names
        return [name.removeprefix("field:") for name in names if name.startswith("field:")]

    def headers(self, resource: Resource) -> Sequence[Header]:
        """Return NAME, the selectable fields and AGE."""
        return [Header("Name", is_name=True), *map(Header, self._fields(resource)), Header(AGE.name)]

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the cells of objects that `list_objects` gave."""
        del listed
        labels = self._fields(resource)
        return [
            [
                one["metadata"].get("name", ""),
                *(field_text(label, one) for label in labels),
                age_of(one["metadata"].get("creationTimestamp", ""), now),
            ]
            for one in objects
        ]


def _unconverted(resource: Resource, row: dict[str, Any]) -> str:
    """Return why an object that was read at the version it is stored at is not in the index of another."""
    group = resource.group
    return f"{NEEDS_WEBHOOK}: from {group}/{row['stored_version']} to {group}/{resource.version}"


def _from_index(resource: Resource, row: dict[str, Any]) -> JsonObject:
    created = row["created"]
    metadata = {
        "name": row["name"],
        "namespace": row["namespace"],
        "uid": row["uid"],
        "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ") if created else None,
        "labels": dict(row["labels"] or ()) or None,
        "resourceVersion": None if row["mod_revision"] is None else str(row["mod_revision"]),
    }
    obj: JsonObject = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {key: value for key, value in metadata.items() if value is not None},
    }
    for column, value in row.items():
        if column.startswith("value:") and value is not None:
            *steps, last = column.removeprefix("value:").split(".")
            place = obj
            for step in steps:
                place = place.setdefault(step, {})
            place[last] = value
    return obj
