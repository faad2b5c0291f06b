"""The store over a report: rows come from its index, objects from the dump that was audited.

An index names its dump by hash, and any other dump is refused. If the dump is missing, the data of the index is shown,
with a note. Kinds that are not in the index (built-in ones), and answers that need every key of a kind, are read from
the dump itself.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from auditor.base.arrow import parquet_footer
from auditor.base.errors import DamagedDump, PlanError
from auditor.base.statuses import Status
from auditor.base.visible import visible
from auditor.crds.definition import document_name
from auditor.crds.definitions_file import DefinitionEntry, DefinitionsFile, definition_entry
from auditor.crds.outline import is_from_server
from auditor.plan.dumps import open_values
from auditor.plan.run_plan import Plan, make_plan
from auditor.printing.get.server_errors import NotShown
from auditor.selectors.index_query import open_index
from auditor.selectors.pushdown import push_down
from auditor.selectors.row_groups import FAILS, UNKNOWN, Scan
from auditor.selectors.where import Failures, unparse
from auditor.server.catalog import resource_name
from auditor.server.dump import DumpStore, Steps
from auditor.server.dump_rows import DumpRows, ListRequest, RowToRead, StoredRow
from auditor.server.index_only import in_key_order, namespaces_of, partition_filter, rows_named, tell_missing
from auditor.server.not_read import NotRead
from auditor.server.object_reader import UndecodedObject
from auditor.sources.files.state import states_below
from auditor.sources.files.unpacking import compression_of
from auditor.sources.registry_key import printable_key
from auditor.sources.source_plan import Damage, SourcePlan
from auditor.store.manifest import MANIFEST, manifest_bytes, parse_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.cel.syntax.ast import Expr
    from auditor.plan.options import AuditOptions
    from auditor.printing.discovery import Resource
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.selectors.index_query import IndexedKind
    from auditor.selectors.predicates import Predicate
    from auditor.server.audited_report import AuditedReport
    from auditor.server.catalog import Catalog
    from auditor.server.object_reader import ReadMode


_POSITION = ("source", "offset", "length", "mod_revision")


class ReportRows(DumpRows):
    """The rows of the dumps of a report; a live table is built only if a request needs it."""

    def __init__(self, plan: Plan, catalog: Catalog, *, dumps: list[Path], workdir: Path) -> None:
        super().__init__(plan, catalog)
        self._dumps = dumps
        self._workdir = workdir
        self._values: dict[int, Any] = {}

    def source(self, number: int) -> tuple[Any, Any]:
        """Return the mapped (live table, values) of a source; the table is built on first use."""
        if not self.plan.sources[number].live:
            options = replace(self.plan.options, dumps=tuple(map(str, self._dumps)))
            sources = make_plan(options, self._workdir).sources
            self.plan = replace(self.plan, sources=sources)
        return super().source(number)

    def values(self, number: int) -> Any:
        """Return the mapped file that holds the values; the table is not built for it."""
        if self.plan.sources[number].live:
            return super().source(number)[1]
        values = self._values.get(number)
        if values is None:
            values = self._values[number] = open_values(self.plan.sources[number])
        return values

    def stored_bytes(self, row: StoredRow) -> bytes:
        """Return the bytes of a row as stored."""
        if row.encoding:
            return super().stored_bytes(row)
        return bytes(self.values(row.source)[row.offset : row.offset + row.length])


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
        self.manifest = manifest
        self.scan = Scan()
        super().__init__(plan, mode, warn, partial(ReportRows, dumps=dumps, workdir=workdir))

    @cached_property
    def audited(self) -> AuditedReport:
        """What the report says of the objects, read once for all kinds."""
        from auditor.server.audited_report import AuditedReport  # noqa: PLC0415 - queries need no causes

        return AuditedReport(self.report, self.manifest)

    def partition(self, resource: Resource) -> IndexedKind | None:
        """Return the partition that answers for a resource, or None if only the dump can answer."""
        definition = self.catalog.definition(resource)
        if self.mode.as_server or self.mode.any_field or definition is None or scope_of(self.manifest):
            return None
        if self.mode.stored and self.query.where:  # an index has the fields of objects as read
            return None
        place = self.index.partition(resource.group, resource.version, resource.kind, resource.plural)
        if place is not None and (definition.conversion == "Webhook" or self._has_sealed(resource)):
            # An index lacks objects that were sealed or that only a webhook reads: the dump shows the latter, and may
            # decrypt the former.
            rows = sum(parquet_footer(path).num_rows for path in place.parts)
            return place if rows == self.objects_of(resource) else None
        return place

    def objects_of(self, resource: Resource) -> int:
        """Return how many objects of a kind there are, of definitions by the manifest."""
        if self.catalog.definition(resource) is None:
            return super().objects_of(resource)
        return sum(count["objects"] for count in self._counts_of(resource))

    def _has_sealed(self, resource: Resource) -> bool:
        return any(count["statuses"].get(Status.SEALED) for count in self._counts_of(resource))

    def _counts_of(self, resource: Resource) -> list[dict[str, Any]]:
        """Return what the manifest counts of a kind."""
        kinds = self.manifest["kinds"]
        return [kind for kind in kinds if (kind["group"], kind["kind"]) == (resource.group, resource.kind)]

    def index_rows(
        self,
        place: IndexedKind,
        namespace: str,
        labels: tuple[LabelRequirement, ...],
        fields: Sequence[FieldRequirement],
        columns: Sequence[str] | None,
        where: Predicate | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the matching rows of a partition, as tables."""
        condition = partition_filter(place, namespace, labels, fields)
        yield from self.index.scan(place, condition, columns=columns, scan=self.scan, where=where)

    def predicate(self, resource: Resource, place: IndexedKind, expr: Expr) -> Predicate:
        """Return the part of a predicate that the index can answer."""
        unclear = self.index.unclear_fields(place, self.catalog.definition(resource))
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
        where = self.selection.where_of(resource) if self.query.where else None
        predicate = None if where is None else self.predicate(resource, place, where.root)
        self.refuse_scan(
            resource, self.index.rows_to_scan(place, partition_filter(place, namespace, labels, fields), predicate)
        )
        self.tell_missing(resource, place, namespace)
        notes = NotRead(resource, self.reader.left_out)
        steps = self.steps[resource_name(resource)] = Steps()
        self.scan = Scan()
        failures = Failures()
        if where is not None:
            self.where_failures[resource] = failures
        names_only = self.query.names_only
        positions = _POSITION[:1] if names_only and predicate is None else _POSITION
        tables = self.index_rows(place, namespace, labels, fields, (*positions, "namespace", "name"), predicate)
        rows = self._rows_to_read(resource, tables, steps)
        for row, known in self.read_ahead(ListRequest(resource, "", (), ()), rows):
            if row.is_left and row.is_tested and failures.failed:  # the first one is read, for its error
                failures.failed += 1
                continue
            obj = row.light
            if row.is_tested or not names_only:
                steps.read += 1
                obj = self._read_of_index(resource, row.row, notes) if known is None else known.object
                if known is None and obj is not None:
                    is_selected = where is None or not row.is_tested or where.test(obj, failures)
                    obj = self.reader.shown(resource, row.row, obj) if is_selected else None
            if obj is not None:
                steps.kept += 1
                yield row.row.source, row.light if names_only and row.light is not None else obj
        steps.rows, steps.scanned = self.scan.rows, self.scan.scanned
        failures.tried = self.scan.rows
        failures.is_tried_known = not (namespace or labels or fields)
        notes.note(self.warn)

    def _rows_to_read(self, resource: Resource, tables: Iterator[pa.Table], steps: Steps) -> Iterator[RowToRead]:
        """Yield the rows of an index in key order, with what it has of their objects."""
        sources = {source["name"]: number for number, source in enumerate(self.manifest["inputs"])}
        for table in in_key_order(tables, self.manifest["inputs"]):
            steps.fitted += table.num_rows
            for row in table.to_pylist():
                decided = row.pop(UNKNOWN, 0)
                light = {"metadata": {key: row[key] for key in ("namespace", "name") if row[key] is not None}}
                if self.query.names_only and not decided:
                    no_place = StoredRow(sources[row["source"]], None, None, 0, 0, 0)
                    yield RowToRead(no_place, is_tested=False, is_left=True, light=light)
                else:
                    stored = self.stored_row(resource, row)
                    yield RowToRead(stored, is_tested=bool(decided), is_left=decided == FAILS, light=light)

    def _read_of_index(self, resource: Resource, stored: StoredRow, notes: NotRead) -> JsonObject | None:
        """Return the object of a row of the index; None if it cannot be read, which is counted."""
        try:
            return self.reader.read_or_stored(resource, stored, notes)
        except UndecodedObject as error:
            self.corrupt_objects.add(printable_key(stored.key or b""), str(error))
        except Exception as error:  # noqa: BLE001 - it is left out
            self.leave_out(printable_key(stored.key or b""), error)
        return None

    def stored_row(self, resource: Resource, row: dict[str, Any]) -> StoredRow:
        """Return the position in the dump of the object of an index row."""
        inputs = self.manifest["inputs"]
        position = [source["name"] for source in inputs].index(row["source"])
        key = None
        if not inputs[position]["is_export"]:
            middle = f"{row['namespace']}/" if resource.namespaced and row["namespace"] else ""
            key = f"{self.catalog.key_prefix(resource)}{middle}{row['name']}".encode("utf-8", "surrogatepass")
        encoding = int(inputs[position]["format"] == "etcdctl-json")
        return StoredRow(position, key, row["mod_revision"], row["offset"], row["length"], encoding)

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return the object at a key, found by the report; if the report lacks it, the dump is read."""
        if self.partition(resource) is not None:
            for row in rows_named(self.report, self.manifest["inputs"], resource, namespace, name):
                stored = self.stored_row(resource, row)
                notes = NotRead(resource, self.reader.left_out)
                try:
                    obj = self._got(resource, stored, notes)
                    notes.note(self.warn)
                    return self.reader.shown(resource, stored, obj)
                except UndecodedObject:
                    break  # encrypted, and no key for it was given: reading the dump reports it
                except Exception as error:  # noqa: BLE001 - it is left out
                    self.leave_out(place := printable_key(stored.key or b""), error)
                    raise NotShown(f"{place} is not shown") from None
        return super().get_object(resource, namespace, name)

    def namespaces(self) -> set[str]:
        """Return the names of the Namespaces that the report has; the dump is not read for them."""
        return namespaces_of(self.report, self.manifest)

    def plan_of(self, resource: Resource) -> str:
        """Return the plan for the rows of a kind, as text."""
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
        for part in self.selection.parts_of(resource):
            predicate = self.predicate(resource, place, part)
            how = "index" if predicate.is_decided() else "index, then object" if predicate.columns() else "object"
            lines.append(f"  {how}: {visible(unparse(part))}")
        return "\n".join(lines) + "\n"

    def tell_missing(self, resource: Resource, place: IndexedKind, namespace: str) -> None:
        """Report which objects of a kind, by their keys in a namespace, are not in the index."""

        def why(row: dict[str, Any]) -> str:
            try:
                self.reader.read(resource, self.stored_row(resource, row))
            except UndecodedObject as error:
                return str(error)
            return f"not in the index at {resource.version}"

        kinds = self.manifest["kinds"]
        unjudged = tell_missing(self.report, kinds, resource, place, namespace, why, self.corrupt_objects, self.warn)
        self.left_out.corrupt += unjudged  # after those that `corrupt_objects` has counted


def read_manifest(report: Path) -> dict[str, Any]:
    """Return the manifest of a report.

    Raises:
        PlanError: The folder is not a report, or its manifest is damaged.
    """
    path = report / MANIFEST
    if not path.exists():
        raise PlanError(str(report), "is not a report (it has no manifest.json)", "the --report folder of an audit")
    content = parse_manifest(manifest_bytes(report))
    if content is None:
        raise PlanError(str(report), f"is not a report (its {MANIFEST} is damaged)", "the --report folder of an audit")
    return content


def _damage_of(source: dict[str, Any]) -> tuple[Damage, ...]:
    """Return from a manifest which parts of a dump could not be read."""
    return tuple(Damage(**entry) for entry in source["damage"])


def find_dumps(manifest: dict[str, Any], report: Path, given: Sequence[str]) -> list[Path] | None:
    """Return the paths of the dumps of a report, as given or by their names; None if one of them is missing."""
    if given:
        return [Path(path) for path in given]
    dumps = []
    for source in manifest["inputs"]:
        places = (Path(source["name"]), report.parent / source["name"], report.parent / Path(source["name"]).name)
        place = next((place for place in places if place.exists()), None)
        if place is None or source["name"] == "-":
            return None
        dumps.append(place)
    return dumps


class OtherDump(PlanError):
    """A dump has the name of one of a report, and is another: it was overwritten since."""

    state = "is not the dump that the report was made from"


class UnverifiedDump(OtherDump):
    """A dump has the name of one of a report, which has no digest of it."""

    state = "may not be the dump that the report was made from"


def _check_hash(path: str, found: str, manifest: dict[str, Any], at: int) -> None:
    wanted = manifest["inputs"][at]["sha256"]
    if wanted is None:
        raise UnverifiedDump(
            path, f"{UnverifiedDump.state}: it has no SHA-256 of it", "", "query the dump itself, or audit it anew"
        )
    if found != wanted:
        made = manifest["started"]
        raise OtherDump(
            path,
            f"{OtherDump.state} on {made}: its SHA-256 is {found[:12]}..., that of the report's {wanted[:12]}...",
            "",
            "give the right one with --dump, or audit this one anew",
        )


def check_dumps(plan: Plan, manifest: dict[str, Any]) -> None:
    """Make sure that the opened dumps are those that the report was made from.

    Raises:
        OtherDump: They are others.
    """
    if len(plan.sources) != len(manifest["inputs"]):
        raise OtherDump(plan.sources[0].name, "is not what the report was made from", "as many dumps as it names")
    for position, source in enumerate(plan.sources):
        _check_hash(source.name, source.sha256, manifest, position)


def report_plan(report: Path, manifest: dict[str, Any], dumps: list[Path], options: AuditOptions) -> Plan | None:
    """Return a plan from a report, without a scan of its dumps; None if only a scan can make one.

    Raises:
        OtherDump: A dump is not that of the report.
    """
    definitions = DefinitionsFile(report)
    inputs = manifest["inputs"]
    if not definitions.exists() or len(dumps) != len(inputs):
        return None
    sources = []
    for position, (path, source) in enumerate(zip(dumps, inputs, strict=True)):
        if source["format"] != "etcd-snapshot" or not path.is_file():
            return None
        states = states_below(str(path))
        with path.open("rb") as stream:
            if compression_of(stream.read(64)):
                return None
            stream.seek(0)
            _check_hash(str(path), hashlib.file_digest(stream, "sha256").hexdigest(), manifest, position)
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
        stored = name not in from_files and (not exported or is_from_server(document))
        yield definition_entry(name, document, stored, at, len(line) - 1)
        at += len(line)


def scope_of(manifest: dict[str, Any]) -> str:
    """Return the scope to which the index of a report is limited, as text; empty if it has all objects of its kinds."""
    scope = manifest["options"]["scope"]
    names = {"namespace": "namespace", "labels": "label selector", "fields": "field selector"}
    return ", ".join(f"{name} {scope[key]}" for key, name in names.items() if scope[key])
