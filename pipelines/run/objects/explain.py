"""`auditor explain`: the fields of a kind, those that can be selected by, and the values that a field has."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc

from auditor.base.errors import PlanError
from auditor.base.visible import visible
from auditor.builtin.scheme import described_fields
from auditor.builtin.selectable import rules_of
from auditor.printing.discovery import UnknownResource, kinds_named
from auditor.printing.explain import NoSuchField, explained, json_path, with_type_fields
from auditor.printing.get.printer import value_counts
from auditor.printing.get.server_errors import StatusError
from auditor.printing.print_rows import DATA, format_table, print_rows
from auditor.selectors.selectable_fields import field_types
from auditor.server.dump import DumpStore
from auditor.server.index_only import IndexOnlyStore
from auditor.server.report import ReportStore
from pipelines.run.objects.chosen_kinds import refusal
from pipelines.run.objects.unknown_kinds import is_incomplete
from pipelines.run.query import open_dump, open_stores
from pipelines.streams import ErrorLines, TextWriter, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.crds.definition import CustomResourceDefinition
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


def run_explain(options: QueryOptions, path: str, *, api_version: str, recursive: bool, most_levels: int) -> int:
    """Print the description and the fields of a kind or one of its fields; return the exit code.

    Args:
        options: The dump or report, and how it is read.
        path: KIND[.FIELD].
        api_version: The version of the kind; empty for the preferred one.
        recursive: Print all fields below, a line each.
        most_levels: Levels of fields to print; 0 for all.

    Raises:
        PlanError: It is not the dump of one cluster.
    """
    out, err = TextWriter(plain(sys.stdout)), ErrorLines()  # the tabs are kubectl's; every other text is escaped here
    with open_dump(options, err) as store:
        try:
            resource, names = _resource_and_path(store, path, api_version)
            head = [("GROUP:", resource.group), ("KIND:", resource.kind), ("VERSION:", resource.version)]
            schema = _schema_of(store, resource)
            out("".join(f"{name:<12}{visible(value)}\n" for name, value in head if value) + "\n")
            is_builtin = store.catalog.definition(resource) is None
            if is_builtin and not recursive:
                recursive, most_levels = True, 1  # without descriptions, a line for each field
            shown = _visible_names(schema) if sys.stdout.isatty() else schema
            text = explained(shown, names, recursive=recursive, most_levels=most_levels)
        except UnknownResource as error:
            return refusal(error, store, err, lead="")  # as kubectl explain
        except (LookupError, NoSuchField) as error:
            return _refused(error, err)
        out("\n".join(map(_line, text.split("\n"))) + "\n")
        if not names:
            versions = _versions(store, resource, only=bool(api_version))
            rows = [(each.api_version, *field) for each in versions for field in _fields(store, each)]
            out(f"FIELD SELECTORS:\n{format_table(('APIVERSION', 'FIELD', 'TYPE'), rows, '  ')}\n")
        return 3 if is_incomplete(store) else 0


def run_values(options: QueryOptions, path: str, *, api_version: str, limit: int, output: str) -> int:
    """Print the distinct values of a field, or of the fields that a kind can be selected by; return the exit code.

    Args:
        options: The dump or report, and how it is read.
        path: KIND[.FIELD].
        api_version: The version of the kind; empty for each that is served, or the preferred one for a FIELD.
        limit: Values of a field that are printed.
        output: A form of rows.

    Raises:
        PlanError: A field that is not in an index needs the dump.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_stores(options, err) as opened:
        rows: list[_Row] = []
        unknown: dict[str, UnknownResource] = {}
        for cluster, store in opened.stores.items():
            try:
                rows += _rows(store, cluster, path, api_version, options.namespace)
            except UnknownResource as error:
                unknown[cluster] = error
            except StatusError as error:
                return refusal(error, store, err)
            except (LookupError, NoSuchField) as error:
                return _refused(error, err)
        if len(unknown) == len(opened.stores):
            return refusal(next(iter(unknown.values())), opened.as_one(err), err)
        for cluster, missing in unknown.items():
            err(f"note: cluster {cluster} does not serve {missing.name}\n")
        lead = ["cluster"] if opened.is_fleet else []
        columns = [*lead, "apiVersion", "field", "type", "objects", "value"]
        out("".join(print_rows(_lines(rows, limit=None if output in DATA else limit), columns, output)))
        return 3 if opened.is_incomplete() else 0


def _rows(store: OneStore, cluster: str, path: str, api_version: str, namespace: str) -> Iterator[_Row]:
    """Yield the fields in one cluster, with their values."""
    wanted, names = _resource_and_path(store, path, api_version)
    if not names:
        for resource in _versions(store, wanted, only=bool(api_version)):
            counts = _values(store, resource, namespace)
            for name, type_name in _fields(store, resource):
                yield _Row(cluster, resource, name, type_name, counts.get(name, Counter()))
        return
    if not isinstance(store, DumpStore):
        raise PlanError("--values", "an index has only the fields of selectors", "", "name its dump with --dump")
    steps, type_name = json_path(_schema_of(store, wanted), names)
    objects = store.list_objects(wanted, namespace, "", "")
    if wanted.group_resource == "secrets" and names[0] in ("data", "stringData"):
        store.warn("note: values of Secrets are redacted, so that different ones count as one\n")
    yield _Row(cluster, wanted, ".".join(names), type_name, value_counts(steps, objects))


def _refused(error: Exception, err: ErrorLines) -> int:
    """Report the texts of an error; return the exit code."""
    for number, text in enumerate(error.args):
        err(f"{'' if number else 'error: '}{text}\n")
    return 1


def _visible_names(schema: Any) -> Any:
    """Return a schema whose texts have no control characters, descriptions excepted: these are wrapped."""
    if type(schema) is dict:
        return {
            visible(name): text if name == "description" and type(text) is str else _visible_names(text)
            for name, text in schema.items()
        }
    if type(schema) is list:
        return [_visible_names(item) for item in schema]
    return visible(schema) if type(schema) is str else schema


def _line(text: str) -> str:
    """Return a line with tabs, as kubectl prints it; on a terminal with spaces, as content may have tabs too."""
    return ("  " if sys.stdout.isatty() else "\t").join(map(visible, text.split("\t")))


def _schema(definition: CustomResourceDefinition, version: str) -> dict[str, object] | None:
    """Return the schema of a version as the definition has it."""
    spec = definition.document.get("spec") or {}
    own: dict[str, Any] = next((entry for entry in spec.get("versions") or () if entry.get("name") == version), {})
    schema = (own.get("schema") or spec.get("validation") or {}).get("openAPIV3Schema")
    return schema if type(schema) is dict else None


def _schema_of(store: DumpStore, resource: Resource) -> dict[str, Any]:
    """Return the fields of a kind in the form of OpenAPI; for a built-in kind as its Go type has them."""
    definition = store.catalog.definition(resource)
    if definition is not None:
        return with_type_fields(_schema(definition, resource.version))
    fields = described_fields(resource.group, resource.version, resource.kind)
    if fields is None:
        raise LookupError(f"the fields of {resource.group_resource} are not known: a server does not store it")
    return fields


def _resource_and_path(store: OneStore, text: str, api_version: str) -> tuple[Resource, list[str]]:
    """Return the kind and the path in a text like ``widgets.spec.size`` or ``widgets.example.com.spec``.

    Raises:
        UnknownResource: There is no such kind.
        LookupError: It has no such version.
    """
    resource, names = _split(store, text)
    return (_at(store, resource, api_version) if api_version else resource), names


def _split(store: OneStore, text: str) -> tuple[Resource, list[str]]:
    word, _, rest = text.partition(".")
    first = store.discovery.resolve(word)
    for resource in (first, *store.discovery.resources):
        long = resource.group_resource
        if (
            word in (resource.plural, resource.one, *resource.short_names)
            and resource.group
            and f"{text}.".startswith(f"{long}.")
        ):
            return resource, [name for name in text[len(long) :].split(".") if name]
    store.discovery.note_others(word, first, lambda text: store.warn(f"{text}\n"))
    return first, [name for name in rest.split(".") if name]


def _at(store: OneStore, resource: Resource, api_version: str) -> Resource:
    for served in store.discovery.resources:
        if served.plural == resource.plural and served.api_version == api_version:
            return served
    raise LookupError(f'couldn\'t find resource for "{api_version}, Resource={resource.plural}"')


def _versions(store: OneStore, wanted: Resource, *, only: bool) -> list[Resource]:
    """Return the kind at each version, or only at the given version."""
    return [wanted] if only else kinds_named(store.discovery.resources, wanted)


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
        store.tell_missing(resource, place, namespace)
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


def _lines(rows: list[_Row], *, limit: int | None) -> Iterator[dict[str, Any]]:
    """Yield a line for each value of each field, the most frequent first; the rest is one line."""
    for cluster, resource, name, type_name, counts in rows:
        head = {"apiVersion": resource.api_version, "kind": resource.kind, "field": name, "type": type_name}
        head |= {"cluster": cluster} if cluster else {}
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        for value, count in ranked[:limit]:
            yield {**head, "objects": count, "value": value or ('""' if limit else "")}
        if limit and len(ranked) > limit:
            rest = sum(count for _, count in ranked[limit:])
            yield {**head, "objects": rest, "value": f"(and {len(ranked) - limit} more values)"}
        if not ranked:
            yield {**head, "objects": 0}
