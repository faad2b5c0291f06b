"""The kinds of a dump: its definitions, the built-in kinds, and the prefixes of their keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from auditor.base.errors import AuditorError
from auditor.builtin.builtin_kinds import BUILTIN_KINDS, REQUEST_KINDS, builtin_kind, group_rank
from auditor.builtin.scheme import groups_of
from auditor.cel.cel_errors import PANIC
from auditor.crds.definition import parse_definition
from auditor.printing.discovery import Discovery, Resource
from auditor.printing.get.server_errors import ConnectionClosed, StatusError
from auditor.program.conversion_command import ConversionCommand
from auditor.validation.rules import servable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.builtin.builtin_kinds import BuiltinKind
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.run_plan import Plan


class Catalog:
    """The kinds that a server with the definitions of a plan would serve.

    Attributes:
        scopes: Whether the objects of an established definition have a namespace, by (group, plural).
        broken: Names of the definitions that are not served, with the reason.
        discovery: All kinds, in discovery order.
    """

    def __init__(self, plan: Plan) -> None:
        own = plan.options.etcd_prefix.strip("/")
        self.prefix = f"/{own}" if own else ""
        self._plan = plan
        command = plan.options.convert_with
        self._converter = ConversionCommand(command) if command else None
        self.broken: dict[str, str] = {}
        self._outlines: dict[tuple[str, str], tuple[CustomResourceDefinition, DefinitionEntry]] = {}
        self._definitions: dict[tuple[str, str], CustomResourceDefinition] = {}
        for entry in plan.entries:
            self._add(entry)
        self.scopes = {name: outline.namespaced for name, (outline, _) in self._outlines.items()}
        self.discovery = Discovery.sorted_by_priority(self._resources(), group_rank)

    def _add(self, entry: DefinitionEntry) -> None:
        document = self._plan.definitions_file.document(entry)
        try:
            outline = parse_definition(document, stored=entry.stored, with_schemas=False)
        except AuditorError as error:
            self.broken[entry.name] = str(error)
            return
        if outline.established:
            self._outlines[(outline.group, outline.plural)] = replace(outline, document={}), entry
        else:
            self.broken[entry.name] = "not established"

    def _resources(self) -> Iterator[Resource]:
        yield from map(_builtin_resource, BUILTIN_KINDS)
        for kind in REQUEST_KINDS:
            verbs = ("get", "list") if kind.kind == "ComponentStatus" else ("create",)
            yield replace(_builtin_resource(kind), verbs=verbs)
        for outline, _ in self._outlines.values():
            for version in outline.served_versions:
                yield Resource(
                    outline.group,
                    version.name,
                    outline.kind,
                    outline.plural,
                    outline.singular,
                    outline.short_names,
                    outline.categories,
                    outline.namespaced,
                    version.printer_columns,
                )

    @property
    def definitions(self) -> dict[tuple[str, str], CustomResourceDefinition]:
        """All established definitions by (group, plural), which a server serves; their schemas are parsed."""
        return {place: self._definition(place) for place in self._outlines}

    def definition(self, resource: Resource) -> CustomResourceDefinition | None:
        """Return the definition of a resource, or None if it is built in; its schemas are parsed at the first call."""
        place = (resource.group, resource.plural)
        return self._definition(place) if place in self._outlines else None

    def _definition(self, place: tuple[str, str]) -> CustomResourceDefinition:
        definition = self._definitions.get(place)
        if definition is None:
            _, entry = self._outlines[place]
            document = self._plan.definitions_file.document(entry)
            definition = servable(parse_definition(document, stored=entry.stored))
            if definition.conversion == "Webhook":
                definition = replace(definition, webhook=self._converter or self._plan.lost_webhook(entry.name))
            self._definitions[place] = definition
        return definition

    def check_served(self, resource: Resource) -> None:
        """Check that a server can answer a request for an object of a kind.

        Raises:
            StatusError: It has no storage for the kind, because of the definition.
            ConnectionClosed: It panics when it makes one.

        Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go (ServeHTTP).
        """
        definition = self.definition(resource)
        reason = "" if definition is None else definition.versions[resource.version].unserved_reason
        if reason.startswith(PANIC):
            raise ConnectionClosed
        if reason:
            raise StatusError(500, "InternalError", "Internal error occurred: error resolving resource")

    def key_prefix(self, resource: Resource) -> str:
        """Return the prefix of the keys of a kind."""
        if (resource.group, resource.plural) in self.scopes:
            return f"{self.prefix}/{resource.group}/{resource.plural}/"
        kind = builtin_kind(resource.group, resource.version, resource.plural)
        return f"{self.prefix}/{kind.prefix if kind is not None else resource.plural}/"

    def groups_of(self, resource: Resource) -> set[str]:
        """Return the groups that objects of a kind may name: of a built-in kind also those it had before."""
        is_defined = (resource.group, resource.plural) in self.scopes
        return {resource.group} | (set() if is_defined else groups_of(resource.group, resource.kind))

    def is_key_of(self, resource: Resource, key: bytes) -> bool:
        """Whether a request for one object can mean a key below the prefix of a kind; a LIST reads all these keys."""
        return key.count(b"/") == self.key_prefix(resource).count("/") + (1 if resource.namespaced else 0)


def _builtin_resource(kind: BuiltinKind) -> Resource:
    return Resource(
        kind.group,
        kind.version,
        kind.kind,
        kind.plural,
        kind.singular,
        kind.short_names,
        kind.categories,
        kind.namespaced,
    )


def resource_name(resource: Resource) -> str:
    """Return plural.version.group."""
    return f"{resource.plural}.{resource.version}.{resource.group}"
