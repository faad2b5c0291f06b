"""The store over the index of a report alone, for a report whose dump is missing.

An index is sorted by namespace and name, part by part. A server lists by key, where ``a-b/x`` comes before ``a/x``:
`in_key_order` yields rows so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import proxy

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auditor.base.arrow import parquet_footer, read_parquet
from auditor.base.errors import PlanError, SelectorError
from auditor.base.statuses import Status
from auditor.base.wording import are, objects
from auditor.builtin.builtin_kinds import builtin_kind
from auditor.crds.conversion import NEEDS_WEBHOOK
from auditor.printing.discovery import Discovery, Resource
from auditor.printing.get.server_errors import StatusError, not_found
from auditor.printing.printer_columns import AGE, age_of
from auditor.printing.tables import ColumnHeader
from auditor.selectors.grammar import FieldRequirement, parse_field_selector, parse_label_selector
from auditor.selectors.index_query import open_index, selector_filter
from auditor.selectors.pushdown import push_down
from auditor.selectors.row_groups import FAILS, UNDECIDED, UNKNOWN, Scan
from auditor.selectors.selectable_fields import field_text
from auditor.selectors.where import Failures, compile_where, place_of
from auditor.server.dump import Query
from auditor.server.not_read import CorruptObjects, LeftOut
from auditor.shards.result import NOT_JUDGED
from auditor.store.selected_rows import is_one_of, rows_where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from auditor.base.records import JsonObject
    from auditor.printing.printer_columns import Cell
    from auditor.selectors.filters import Filter
    from auditor.selectors.grammar import LabelRequirement
    from auditor.selectors.index_query import Index, IndexedKind
    from auditor.server.object_reader import ReadMode


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
        self.left_out = LeftOut()
        self.corrupt_objects = CorruptObjects(self.left_out, warn)
        self.scan = Scan()
        self.where_failures: dict[Resource, Failures] = {}
        self.discovery = Discovery.sorted_by_priority(
            Resource(kind.group, kind.version, kind.kind, kind.plural, kind.kind.lower(), namespaced=kind.namespaced)
            for kind in self.index.kinds
            if builtin_kind(kind.group, kind.version, kind.plural) is None
        )
        own = proxy(self)
        self.discovery.count = lambda resource: own._count(resource)  # noqa: PLW0108, SLF001 - no circle

    def ask(self, query: Query) -> None:
        """Set what the next requests ask for."""
        self.query = query

    def _place(self, resource: Resource) -> IndexedKind:
        partition = self.index.partition(resource.group, resource.version, resource.kind, resource.plural)
        if partition is None:
            raise not_found(resource, "")
        return partition

    def _count(self, resource: Resource) -> int:
        return sum(pq.read_metadata(path).num_rows for path in self._place(resource).parts)

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
        labels: Sequence[LabelRequirement],
        fields: Sequence[FieldRequirement],
        columns: Sequence[str] | None,
    ) -> Iterator[pa.Table]:
        """Yield the matching rows of a partition, as tables."""
        self.scan = Scan()
        condition = partition_filter(place, namespace, labels, fields)
        yield from self.index.scan(place, condition, columns=columns, scan=self.scan)

    def _rows_where(self, resource: Resource, place: IndexedKind, condition: Filter) -> Iterator[pa.Table]:
        """Yield the rows of a partition that match a condition and the predicate, as tables."""
        self.scan = Scan()
        predicate = push_down(
            compile_where(self.query.where).root,
            pq.read_schema(place.parts[0]),
            unclear=self.index.unclear_fields(place),
        )
        failures = self.where_failures[resource] = Failures()
        for table in self.index.scan(place, condition, scan=self.scan, where=predicate):
            if pc.any(pc.equal(table[UNKNOWN], UNDECIDED)).as_py():
                reason = "needs fields that are not in the index of the report"
                raise PlanError("--where", reason, "", "give the dump of the report with --dump")
            failing = table.filter(pc.equal(table[UNKNOWN], FAILS))
            for row in failing.select(["namespace", "name"]).to_pylist():
                metadata = {key: value for key, value in row.items() if value is not None}
                failures.add(place_of({"metadata": metadata}), "the index has no value of that type for a field")
            yield table.filter(pc.equal(table[UNKNOWN], 0)).drop_columns([UNKNOWN])
        failures.tried, failures.is_tried_known = self.scan.rows, not condition.columns()

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterator[JsonObject]:
        """Yield the data of the index about the selected objects."""
        place = self._place(resource)
        try:
            wanted = parse_label_selector(labels), parse_field_selector(fields)
            if self.query.where:
                index_rows = self._rows_where(resource, place, partition_filter(place, namespace, *wanted))
            else:
                index_rows = self.index_rows(place, namespace, *wanted, None)
            self.tell_missing(resource, place, namespace)
            for table in in_key_order(index_rows, self.manifest["inputs"]):
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

    def tell_missing(self, resource: Resource, place: IndexedKind, namespace: str) -> None:
        """Report which objects of a kind, by their keys in a namespace, are not in the index."""
        kinds = self.manifest["kinds"]

        def why(row: dict[str, Any]) -> str:
            return row["reason"] or _unconverted(resource, row)

        unjudged = tell_missing(self.report, kinds, resource, place, namespace, why, self.corrupt_objects, self.warn)
        self.left_out.corrupt += unjudged  # after those that `corrupt_objects` has counted
        counts = [kind for kind in kinds if (kind["group"], kind["kind"]) == (resource.group, resource.kind)]
        number = sum(count["statuses"].get(Status.SEALED, 0) for count in counts)
        if number and namespace:
            wanted = _is_of(resource, (Status.SEALED,), **_below(resource, namespace))
            number = sum(table.num_rows for table in _objects(_parts(self.report), wanted))
        if number:
            self.left_out.sealed += number
            self.warn(
                f"note: {objects(number)} of {resource.group_resource} {are(number)} sealed, and not in the index\n"
            )

    def fields_of(self, resource: Resource, obj: JsonObject) -> dict[str, str]:
        """Return what field selectors see of an object that `list_objects` returned."""
        return {label: field_text(label, obj) for label in self._fields(resource)}

    def explain(self) -> str:
        """Return the counts of the scan, as text."""
        return f"  {self.scan.rows} rows, {self.scan.scanned} scanned in the index, {self.scan.kept} returned\n"

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return the data of the index about one object."""
        fields = f"metadata.name={name}"
        for obj in self.list_objects(resource, namespace, "", fields):
            return obj
        raise not_found(resource, name)

    def namespaces(self) -> set[str]:
        """Return the names of the Namespaces that the report has."""
        return namespaces_of(self.report, self.manifest)

    def _fields(self, resource: Resource) -> list[str]:
        names = pq.read_schema(self._place(resource).parts[0]).names
        return [name.removeprefix("field:") for name in names if name.startswith("field:")]

    def headers(self, resource: Resource) -> Sequence[ColumnHeader]:
        """Return NAME, the selectable fields and AGE."""
        return [ColumnHeader("Name", is_name=True), *map(ColumnHeader, self._fields(resource)), ColumnHeader(AGE.name)]

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the cells of objects that `list_objects` returned."""
        del listed
        labels = self._fields(resource)
        return [
            [
                obj["metadata"].get("name", ""),
                *(field_text(label, obj) for label in labels),
                age_of(obj["metadata"].get("creationTimestamp", ""), now),
            ]
            for obj in objects
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


Numbers = np.ndarray[Any, Any]

_MOST_NAMED: Final = 10
_BATCH: Final = 1 << 13
"""Rows that become Python objects at the same time."""
_NO_OFFSETS: Final = np.empty(0, dtype=np.int64)
_READ: Final = tuple(status for status in Status if status.is_listed)
"""Statuses of objects that a LIST of their kind has to read."""


def in_key_order(found: Iterable[pa.Table], inputs: Sequence[Mapping[str, Any]]) -> Iterator[pa.Table]:
    """Yield rows of an index dump by dump, those of each dump in the order in which a server lists them.

    Args:
        found: Tables with columns ``source`` and ``namespace``, sorted part by part by namespace and name.
        inputs: The dumps in the order of the manifest.
    """
    tables = list(found)
    if not tables:
        return
    table = pa.concat_tables(tables)
    dumps = [source["name"] for source in inputs]
    pairs = list(zip(table["source"].to_pylist(), table["namespace"].to_pylist(), strict=True))
    ranks = {pair: rank for rank, pair in enumerate(sorted(set(pairs), key=lambda pair: _place(pair, dumps)))}
    order = np.fromiter((ranks[pair] for pair in pairs), np.int64, len(pairs))
    if (order[1:] < order[:-1]).any():
        table = table.take(np.argsort(order, kind="stable"))
    for first in range(0, table.num_rows, _BATCH):
        yield table.slice(first, _BATCH)


def tell_missing(
    report: Path,
    kinds: Sequence[Mapping[str, Any]],
    resource: Resource,
    place: IndexedKind,
    namespace: str,
    why: Callable[[dict[str, Any]], str],
    corrupt: CorruptObjects,
    warn: Callable[[str], None],
) -> int:
    """Report on standard error which objects of a kind are not in the index of a version, as they cannot be read at it.

    Args:
        kinds: The counts of the report's manifest.
        resource: The kind and version.
        place: The partition of `resource`.
        namespace: Only objects whose key is in this namespace; empty for all.
        why: Returns the reason for a row of the report's objects that was read only at another version.
        corrupt: Gets the objects that no server can read.
        warn: Called with the text about the others.

    Returns:
        How many objects the audit did not judge.
    """
    parts = _parts(report)
    for part in parts:
        parquet_footer(part)
    rows = sum(parquet_footer(part).num_rows for part in place.parts)
    if any((kind["group"], kind["kind"], kind["objects"]) == (resource.group, resource.kind, rows) for kind in kinds):
        return 0
    indexed: dict[str, list[Numbers]] = {}
    for part in place.parts:
        for source, own in _by_source(read_parquet(part, ["source", "offset"])):
            indexed.setdefault(source, []).append(own["offset"].to_numpy())
    offsets = {source: np.sort(np.concatenate(some)) for source, some in indexed.items()}
    unconverted = unjudged = 0
    for row in _not_indexed(parts, _is_of(resource, _READ, **_below(resource, namespace)), offsets):
        here = row["reason"] and row["audited_version"] in (None, resource.version)
        reason = row["reason"] if here else why(row)
        if reason.startswith(NEEDS_WEBHOOK):
            unconverted += 1
            continue
        name = row["key"] or f"{row['source']} at byte {row['offset']}"
        if reason.startswith(NOT_JUDGED):
            unjudged += 1
            if unjudged <= _MOST_NAMED:
                warn(f"note: {name} is not in the index: {reason[:297]}\n")
            continue
        corrupt.add(name, reason, resource)
    if unjudged > _MOST_NAMED:
        warn(f"note: and {unjudged - _MOST_NAMED} more, which the audit did not judge\n")
    if unconverted:
        warn(
            f"note: {objects(unconverted)} of {resource.group_resource} {are(unconverted)} not in the index at "
            f"{resource.version}, "
            "where only the conversion webhook can read them; the dump has them as stored\n"
        )
    return unjudged


def _not_indexed(
    parts: Sequence[Path], wanted: Callable[[pa.Table], Numbers], offsets: dict[str, Numbers]
) -> Iterator[dict[str, Any]]:
    """Yield the first row of each object that is wanted and whose offset is not among the given, which ascend."""
    seen: set[tuple[str, int]] = set()  # an object that was read at several versions has several rows
    for table in _objects(parts, wanted):
        for source, own in _by_source(table):
            known, own_offsets = offsets.get(source, _NO_OFFSETS), own["offset"].to_numpy()
            left = np.searchsorted(known, own_offsets) == np.searchsorted(known, own_offsets, side="right")
            for row in own.filter(pa.array(left)).to_pylist():
                if (source, row["offset"]) not in seen:
                    seen.add((source, row["offset"]))
                    yield row


def _by_source(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for source in pc.unique(table["source"]).to_pylist():
        yield source, table.filter(pc.equal(table["source"], source))


def _place(pair: tuple[str, str | None], dumps: list[str]) -> tuple[int, str]:
    source, namespace = pair
    return dumps.index(source), f"{namespace or ''}/"


def rows_named(
    report: Path, inputs: Sequence[Mapping[str, Any]], resource: Resource, namespace: str, name: str
) -> list[dict[str, Any]]:
    """Return the rows of a report's objects whose key ends with a name, in the order of keys.

    The index has the names of the objects' metadata, which may differ from the names in their keys.

    Args:
        inputs: The dumps, as the manifest lists them.
        namespace: The namespace of the key; empty for any.
    """
    names = {"name": name, **_below(resource, namespace)}
    dumps = [source["name"] for source in inputs]
    objects = [row for table in _objects(_parts(report), _is_of(resource, _READ, **names)) for row in table.to_pylist()]
    return sorted(objects, key=lambda row: _place((row["source"], row["namespace"]), dumps))


def namespaces_of(report: Path, manifest: Mapping[str, Any]) -> set[str]:
    """Return the names of the Namespaces of a report; none if part of its dumps could not be read."""
    if any(source["damage"] for source in manifest["inputs"]):
        return set()
    wanted = _is_of(Resource("", "v1", "Namespace", "namespaces", namespaced=False), tuple(Status))
    compared = ("group", "plural", "kind", "status")
    tables = (table for part in _parts(report) for table in rows_where(part, wanted, compared, ["name"]))
    return {name for table in tables for name in table["name"].to_pylist()}


def _below(resource: Resource, namespace: str) -> dict[str, str]:
    """Return a namespace as a condition on the rows of a kind; none if it is empty, or the kind has none."""
    return {"namespace": namespace} if namespace and resource.namespaced else {}


def _is_of(resource: Resource, statuses: Sequence[Status], **names: str) -> Callable[[pa.Table], Numbers]:
    """Return a condition that selects the rows of a kind with some statuses, and optionally of some names."""

    def wanted(rows: pa.Table) -> Numbers:
        mask = is_one_of(rows["plural"], resource.plural)  # a value of an export that was not judged has its kind alone
        mask |= is_one_of(rows["plural"], None) & is_one_of(rows["kind"], resource.kind)
        mask &= is_one_of(rows["group"], resource.group) & is_one_of(rows["status"], *statuses)
        for column, value in names.items():
            mask &= is_one_of(rows[column], value)
        return mask

    return wanted


def _parts(report: Path) -> list[Path]:
    return sorted((report / "objects").glob("*.parquet"))


def _objects(parts: Sequence[Path], wanted: Callable[[pa.Table], Numbers]) -> Iterator[pa.Table]:
    columns = ["key", "source", "offset", "length", "namespace", "name", "mod_revision"]
    columns += ["stored_version", "audited_version", "reason"]
    for part in parts:
        yield from rows_where(part, wanted, ["group", "plural", "kind", "status", "name", "namespace"], columns)
