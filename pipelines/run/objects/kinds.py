"""`auditor explain`: the fields of kinds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError
from auditor.base.visible import visible
from auditor.printing.discovery import UnknownResource
from auditor.printing.explain import NoSuchField, explained, with_type_fields
from auditor.server.dump import DumpStore
from pipelines.run.query import TextWriter, open_store
from pipelines.streams import ErrorLines, plain

if TYPE_CHECKING:
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.printing.discovery import Resource
    from pipelines.run.objects.query_options import QueryOptions


def _dump(store: object, target: str) -> DumpStore:
    if isinstance(store, DumpStore):
        return store
    raise PlanError(target, "this needs the dump of one cluster", "", "name it in the place of the report")


def run_explain(options: QueryOptions, path: str, *, api_version: str, recursive: bool, most_levels: int) -> int:
    """Print the description of a kind or one of its fields; return kubectl's exit code."""
    out, err = TextWriter(plain(sys.stdout)), ErrorLines()  # the tabs are kubectl's; every other text is escaped here
    with open_store(options, err) as opened:
        store = _dump(opened, options.target)
        try:
            resource, fields = _resource_and_path(store, path)
            if api_version:
                resource = _at(store, resource, api_version)
        except UnknownResource as error:
            err(f"{error}\n")
            return 1
        except LookupError as error:
            err(f"error: {error.args[0]}\n")
            return 1
        definition = store.catalog.definition(resource)
        if definition is None:
            err(
                f"error: {resource.group_resource} is built in, and this program has no descriptions of "
                "built-in kinds: only kinds of definitions can be explained\n"
            )
            return 2
        head = [("GROUP:", resource.group), ("KIND:", resource.kind), ("VERSION:", resource.version)]
        out("".join(f"{name:<12}{visible(value)}\n" for name, value in head) + "\n")
        schema = with_type_fields(_schema(definition, resource.version))
        if sys.stdout.isatty():
            schema = _visible_names(schema)
        try:
            text = explained(schema, fields, recursive=recursive, most_levels=most_levels)
        except NoSuchField as error:
            err(f"error: {error}\n")
            return 1
        out("\n".join(map(_line, text.split("\n"))) + "\n")
    return 0


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


def _resource_and_path(store: DumpStore, text: str) -> tuple[Resource, list[str]]:
    """Return the kind and the path in a text like ``widgets.spec.size`` or ``widgets.example.com.spec``."""
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
    return first, [name for name in rest.split(".") if name]


def _at(store: DumpStore, resource: Resource, api_version: str) -> Resource:
    for served in store.discovery.resources:
        if served.plural == resource.plural and served.api_version == api_version:
            return served
    raise LookupError(f'couldn\'t find resource for "{api_version}, Resource={resource.plural}"')
