"""`auditor fields`: the selectable fields of each version of a kind, and their values."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc

from auditor.builtin.selectable import rules_of
from auditor.printing.discovery import UnknownResource
from auditor.printing.get.server_errors import StatusError
from auditor.printing.print_rows import DATA, print_rows
from auditor.selectors.selectable_fields import field_types
from auditor.server.dump import DumpStore
from auditor.server.index_only import IndexOnlyStore
from auditor.server.report import ReportStore
from pipelines.run.query import TextWriter, open_stores
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.printing.discovery import Resource
    from auditor.server.fleet_store import OneStore
    from pipelines.run.objects.query_options import QueryOptions


class _Row(NamedTuple):
    """A field of a kind at a version, and the number of objects with each value."""

    cluster: str
    resource: Resource
    field: str
    type: str
    counts: Counter[str]


_IDENTITY = ("metadata.name", "metadata.namespace")


def run_fields(options: QueryOptions, kind: str, *, values: bool, limit: int, output: str) -> int:
    """Print the fields of a kind; return the exit code."""
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_stores(options, err) as opened:
        rows: list[_Row] = []
        unknown: list[str] = []
        stores = opened.stores
        has_kind = [name for name, store in stores.items() if _resolved(store, kind, err) is not None]
        for cluster, store in stores.items():
            if cluster not in has_kind:
                unknown.append(cluster)
                continue
            try:
                rows += _rows(store, cluster, kind, options.namespace, values=values)
            except StatusError as error:
                err(f"Error from server ({error.reason}): {error.message}\n")
                return 1
        if not has_kind:
            return _no_kind(next(iter(stores.values())), kind, err)
        for cluster in unknown:
            err(f"note: cluster {cluster} does not serve {kind}\n")
        damaged = opened.is_incomplete()
    lines: Iterator[dict[str, Any]]
    if output in DATA:
        lines = (_as_json(row, values=values, fleet=opened.is_fleet) for row in rows)
    else:
        lines = _lines(rows, values=values, limit=limit)
    columns = [*(["cluster"] if opened.is_fleet else []), "apiVersion", "field", "type"]
    for part in print_rows(lines, [*columns, *(["objects", "value"] if values else [])], output):
        out(part)
    return 3 if damaged else 0


def _resolved(store: OneStore, kind: str, err: Callable[[str], None]) -> Resource | None:
    try:
        return store.discovery.resolve(kind, lambda text: err(text + "\n"))
    except UnknownResource:
        return None


def _no_kind(store: OneStore, kind: str, err: Callable[[str], None]) -> int:
    try:
        store.discovery.resolve(kind)
    except UnknownResource as error:
        err(f"error: {error}\n")
        if near := store.discovery.similar(error.name):
            err(f"did you mean {' or '.join(near)}?\n")
    return 1


def _rows(store: OneStore, cluster: str, kind: str, namespace: str, *, values: bool) -> Iterator[_Row]:
    """Yield the fields of a kind in one cluster."""
    wanted = store.discovery.resolve(kind)
    for resource in _versions(store, wanted, only=kind.count(".") > 1):
        counts = _values(store, resource, namespace) if values else {}
        for name, type_name in _fields(store, resource):
            yield _Row(cluster, resource, name, type_name, counts.get(name, Counter()))


def _versions(store: OneStore, wanted: Resource, *, only: bool) -> list[Resource]:
    """Return the kind at each version, or only at the given version."""
    same = [
        resource
        for resource in store.discovery.resources
        if (resource.group, resource.plural) == (wanted.group, wanted.plural)
    ]
    return [wanted] if only else same


def _fields(store: OneStore, resource: Resource) -> list[tuple[str, str]]:
    if isinstance(store, IndexOnlyStore):
        schema = store.schema(resource)
        known = {"bool": "boolean", "int64": "integer"}
        labels = [name.removeprefix("value:") for name in schema.names if name.startswith("value:")]
        own = [(label, known.get(str(schema.field(f"value:{label}").type), "string")) for label in labels]
        return [(label, "string") for label in _IDENTITY[: 1 + resource.namespaced]] + own
    definition = store.catalog.definition(resource)
    if definition is not None:
        own = field_types(definition.versions[resource.version])
        return [(label, "string") for label in _IDENTITY[: 1 + resource.namespaced]] + own
    rules = rules_of(resource.group, resource.kind)
    names = _IDENTITY[: 1 + rules.metadata_namespace]
    labels = [*names, *sorted([*rules.values, *rules.unmatched, *rules.aliases])]
    return [(label, "string") for label in labels]


def _values(store: OneStore, resource: Resource, namespace: str) -> dict[str, Counter[str]]:
    """Count the texts of each field; from the index if there is one."""
    counts: dict[str, Counter[str]] = {}
    place = store.partition(resource) if isinstance(store, (ReportStore, IndexOnlyStore)) else None
    if place is not None and isinstance(store, (ReportStore, IndexOnlyStore)):
        columns = {"metadata.name": "name", "metadata.namespace": "namespace"}
        store.tell_missing(resource, place)
        names = [label for label, _ in _fields(store, resource)]
        wanted = [columns.get(label, f"field:{label}") for label in names]
        for table in store.index_rows(place, namespace, (), (), wanted):
            for label, column in zip(names, wanted, strict=True):
                counted = counts.setdefault(label, Counter())
                for count in pc.value_counts(table[column]).to_pylist():
                    counted[count["values"] or ""] += count["counts"]
        return counts
    if not isinstance(store, DumpStore):
        return counts
    rules = rules_of(resource.group, resource.kind) if store.catalog.definition(resource) is None else None
    for obj in store.list_objects(resource, namespace, "", ""):
        try:
            seen = store.fields_of(resource, obj)
        except Exception as error:  # noqa: BLE001 - it is left out
            store.leave_out(store.place_of(resource, obj), error)
            continue
        if rules is not None:
            seen |= {alias: seen[label] for alias, label in rules.aliases.items()}
        for label, value in seen.items():
            counts.setdefault(label, Counter())[value] += 1
    return counts


def _as_json(row: _Row, *, values: bool, fleet: bool) -> dict[str, Any]:
    cluster, resource, label, type_name, counts = row
    out: dict[str, Any] = {"apiVersion": resource.api_version, "field": label, "kind": resource.kind, "type": type_name}
    if fleet:
        out["cluster"] = cluster
    if values:
        out["values"] = [{"count": count, "value": value} for value, count in _ranked(counts)]
    return out


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _lines(rows: list[_Row], *, values: bool, limit: int) -> Iterator[dict[str, Any]]:
    """Yield a line for each field, or for each of its values."""
    for cluster, resource, name, type_name, counts in rows:
        head = {"cluster": cluster, "apiVersion": resource.api_version, "field": name, "type": type_name}
        ranked = _ranked(counts)
        for value, count in ranked[:limit]:
            yield {**head, "objects": count, "value": value or '""'}
        if len(ranked) > limit:
            rest = sum(count for _, count in ranked[limit:])
            yield {**head, "objects": rest, "value": f"(and {len(ranked) - limit} more values)"}
        if not ranked:
            yield {**head, "objects": 0} if values else head
