"""The store over the index of a report alone, for a report whose dump is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auditor.base.errors import PlanError, SelectorError
from auditor.base.statuses import Status
from auditor.builtin.kinds import builtin_kind
from auditor.crds.conversion import NEEDS_WEBHOOK
from auditor.printing.columns import AGE, age_of
from auditor.printing.discovery import Discovery, Resource
from auditor.printing.get.errors import StatusError, not_found
from auditor.printing.tables import Header
from auditor.selectors.fields import field_text
from auditor.selectors.grammar import FieldRequirement, parse_field_selector, parse_label_selector
from auditor.selectors.pushdown import push_down
from auditor.selectors.query import open_index, selector_filter
from auditor.selectors.row_groups import UNKNOWN, Scan
from auditor.selectors.where import compile_where
from auditor.server.dump import Query
from auditor.server.key_order import in_key_order, tell_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from auditor.base.records import JsonObject
    from auditor.printing.columns import Cell
    from auditor.selectors.filters import Filter
    from auditor.selectors.grammar import LabelRequirement
    from auditor.selectors.query import Index, IndexedKind
    from auditor.server.reader import ReadMode

__all__ = ["IndexOnlyStore", "partition_filter"]


def partition_filter(
    place: IndexedKind, namespace: str, labels: Sequence[LabelRequirement], fields: Sequence[FieldRequirement]
) -> Filter:
    """Return the condition that selectors place on the columns of a partition. Raises SelectorError."""
    names = set(pq.read_schema(place.parts[0]).names)
    return selector_filter(fields, labels, namespace, names, namespaced=place.namespaced)


class IndexOnlyStore:
    """Answers from an index alone, for a report whose dump is missing: names, labels, times, selectable fields."""

    def __init__(self, report: Path, manifest: dict[str, Any], mode: ReadMode, warn: Callable[[str], None]) -> None:
        self.report = report
        self.manifest = manifest
        self.mode = mode
        self.warn = warn
        self.index: Index = open_index(report)
        self.query = Query()
        self.sealed = self.failed = self.corrupt = 0
        self.scan = Scan()
        self.discovery = Discovery.sorted_by_priority(
            Resource(kind.group, kind.version, kind.kind, kind.plural, kind.kind.lower(), namespaced=kind.namespaced)
            for kind in self.index.kinds
            if builtin_kind(kind.group, kind.version, kind.plural) is None
        )

    def ask(self, query: Query) -> None:
        """Set what the next requests ask for."""
        self.query = query

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
        """Yield the matching rows of a partition, as tables."""
        condition = partition_filter(place, namespace, labels, fields)
        if not self.query.where:
            yield from self.index.scan(place, condition, columns=columns, scan=self.scan)
            return
        predicate = push_down(
            compile_where(self.query.where).root,
            pq.read_schema(place.parts[0]),
            unclear=self.index.unclear_fields(place),
        )
        for table in self.index.scan(place, condition, columns=columns, scan=self.scan, where=predicate):
            if pc.any(table[UNKNOWN]).as_py():
                found = "needs fields that are not in the index of the report"
                raise PlanError("--where", found, "", "give the dump of the report with --dump")
            yield table.drop_columns([UNKNOWN])

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterator[JsonObject]:
        """Yield the data of the index about the selected objects."""
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
        """Return an empty text: an index does not know which versions are deprecated."""
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
        """Return what field selectors see of an object that `list_objects` returned."""
        return {label: field_text(label, obj) for label in self._fields(resource)}

    def explain(self) -> str:
        """Return the counts of the scan, as text."""
        return f"  {self.scan.rows} rows, {self.scan.scanned} scanned in the index, {self.scan.kept} returned\n"

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return the data of the index about one object."""
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
        """Return the cells of objects that `list_objects` returned."""
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
    """Return why an object that was read at its stored version is not in the index of another version."""
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
