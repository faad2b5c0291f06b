"""`auditor fields`: what each version of a kind can be selected by, and which values there are."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from auditor.builtin.selectable import rules_of
from auditor.printing.discovery import UnknownResource
from auditor.printing.get import StatusError
from auditor.printing.jsonprint import to_json
from auditor.printing.tables import align
from auditor.selectors.fields import field_types
from pipelines.dump_store import DumpStore
from pipelines.query import Writer, is_damaged, open_store
from pipelines.report_store import IndexOnlyStore, ReportStore

if TYPE_CHECKING:
    from auditor.printing.discovery import Resource
    from pipelines.query import AnyStore, QueryOptions

__all__ = ["run_fields"]

_IDENTITY = ("metadata.name", "metadata.namespace")


def run_fields(options: QueryOptions, kind: str, *, values: bool, limit: int, output: str) -> int:
    """Print the fields of a kind; return the exit code."""
    out, err = Writer(sys.stdout), Writer(sys.stderr)
    with open_store(options, err) as store:
        try:
            wanted = store.discovery.resolve(kind, lambda text: err(text + "\n"))
            versions = _versions(store, wanted, only=kind.count(".") > 1)
            rows = []
            for resource in versions:
                counts = _values(store, resource, options.namespace) if values else {}
                for label, type_name in _fields(store, resource):
                    rows.append((resource, label, type_name, counts.get(label, Counter())))
        except UnknownResource as error:
            near = store.discovery.similar(error.name)
            err(f"error: {error}\n" + (f"did you mean {' or '.join(near)}?\n" if near else ""))
            return 2
        except StatusError as error:
            err(f"Error from server ({error.reason}): {error.message}\n")
            return 1
        damaged = is_damaged(store)
    if output == "json":
        out(to_json([_as_json(row, values=values) for row in rows]))
    else:
        out(_table(rows, values=values, limit=limit))
    return 3 if damaged else 0


def _versions(store: AnyStore, wanted: Resource, *, only: bool) -> list[Resource]:
    """Return the kind at each version, or at the one that was named."""
    same = [one for one in store.discovery.resources if (one.group, one.plural) == (wanted.group, wanted.plural)]
    return [wanted] if only else same


def _fields(store: AnyStore, resource: Resource) -> list[tuple[str, str]]:
    if isinstance(store, IndexOnlyStore):
        schema = store.schema(resource)
        known = {"bool": "boolean", "int64": "integer"}
        labels = [name.removeprefix("value:") for name in schema.names if name.startswith("value:")]
        own = [(label, known.get(str(schema.field(f"value:{label}").type), "string")) for label in labels]
        return [(label, "string") for label in _IDENTITY[: 1 + resource.namespaced]] + own
    definition = store.definition(resource)
    if definition is not None:
        own = field_types(definition.versions[resource.version])
        return [(label, "string") for label in _IDENTITY[: 1 + resource.namespaced]] + own
    rules = rules_of(resource.group, resource.kind)
    names = _IDENTITY[: 1 + rules.metadata_namespace]
    labels = [*names, *sorted([*rules.values, *rules.unmatched, *rules.aliases])]
    return [(label, "string") for label in labels]


def _values(store: AnyStore, resource: Resource, namespace: str) -> dict[str, Counter[str]]:
    """Count the texts of each field; from the index where there is one."""
    counts: dict[str, Counter[str]] = {}
    place = store.partition(resource) if isinstance(store, (ReportStore, IndexOnlyStore)) else None
    if place is not None and isinstance(store, (ReportStore, IndexOnlyStore)):
        columns = {"metadata.name": "name", "metadata.namespace": "namespace"}
        names = [label for label, _ in _fields(store, resource)]
        wanted = [columns.get(label, f"field:{label}") for label in names]
        for table in store.index_rows(place, namespace, (), (), wanted):
            for label, column in zip(names, wanted, strict=True):
                counted = counts.setdefault(label, Counter())
                for one in pc.value_counts(table[column]).to_pylist():
                    counted[one["values"] or ""] += one["counts"]
        return counts
    if not isinstance(store, DumpStore):
        return counts
    rules = rules_of(resource.group, resource.kind) if store.definition(resource) is None else None
    for obj in store.list_objects(resource, namespace, "", ""):
        seen = store.fields_of(resource, obj)
        if rules is not None:
            seen |= {alias: seen[label] for alias, label in rules.aliases.items()}
        for label, value in seen.items():
            counts.setdefault(label, Counter())[value] += 1
    return counts


def _as_json(row: tuple[Resource, str, str, Counter[str]], *, values: bool) -> Any:
    resource, label, type_name, counts = row
    out: dict[str, Any] = {"apiVersion": resource.api_version, "field": label, "kind": resource.kind, "type": type_name}
    if values:
        out["values"] = [{"count": count, "value": value} for value, count in _ranked(counts)]
    return out


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _table(rows: list[tuple[Resource, str, str, Counter[str]]], *, values: bool, limit: int) -> str:
    lines = ["APIVERSION\tFIELD\tTYPE" + ("\tOBJECTS\tVALUE" if values else "")]
    for resource, label, type_name, counts in rows:
        head = f"{resource.api_version}\t{label}\t{type_name}"
        if not values:
            lines.append(head)
            continue
        ranked = _ranked(counts)
        lines += [f"{head}\t{count}\t{_shown(value)}" for value, count in ranked[:limit]]
        if len(ranked) > limit:
            rest = sum(count for _, count in ranked[limit:])
            lines.append(f"{head}\t{rest}\t(and {len(ranked) - limit} more values)")
        if not ranked:
            lines.append(f"{head}\t0\t")
    return align("".join(line + "\n" for line in lines))


def _shown(value: str) -> str:
    text = value.replace("\t", " ").replace("\n", " ")
    return text or '""'
