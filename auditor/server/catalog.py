"""The kinds of a dump: its definitions, the built-in kinds, and the prefixes of their keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from auditor.base.errors import AuditorError
from auditor.builtin.builtin_kinds import BUILTIN_KINDS, REQUEST_KINDS, builtin_kind, group_rank
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
        definitions: Established definitions by (group, plural), which a server serves.
        broken: Names of the definitions that are not served, with the reason.
        discovery: All kinds, in discovery order.
    """

    def __init__(self, plan: Plan) -> None:
        own = plan.options.etcd_prefix.strip("/")
        self.prefix = f"/{own}" if own else ""
        self._plan = plan
        command = plan.options.convert_with
        self._converter = ConversionCommand(command) if command else None
        self.definitions: dict[tuple[str, str], CustomResourceDefinition] = {}
        self.broken: dict[str, str] = {}
        for entry in plan.entries:
            self._add(entry)
        self.discovery = Discovery.sorted_by_priority(self._resources(), group_rank)

    def _add(self, entry: DefinitionEntry) -> None:
        document = self._plan.definitions_file.document(entry)
        try:
            definition = servable(parse_definition(document, stored=entry.stored))
        except AuditorError as error:
            self.broken[entry.name] = str(error)
            return
        if definition.conversion == "Webhook":
            definition = replace(definition, webhook=self._converter or self._plan.lost_webhook(entry.name))
        if definition.established:
            self.definitions[(definition.group, definition.plural)] = definition
        else:
            self.broken[entry.name] = "not established"

    def _resources(self) -> Iterator[Resource]:
        yield from map(_builtin_resource, BUILTIN_KINDS)
        for kind in REQUEST_KINDS:
            verbs = ("get", "list") if kind.kind == "ComponentStatus" else ("create",)
            yield replace(_builtin_resource(kind), verbs=verbs)
        for definition in self.definitions.values():
            for version in definition.served_versions:
                yield Resource(
                    definition.group,
                    version.name,
                    definition.kind,
                    definition.plural,
                    definition.singular,
                    definition.short_names,
                    definition.categories,
                    definition.namespaced,
                    version.printer_columns,
                )

    def definition(self, resource: Resource) -> CustomResourceDefinition | None:
        """Return the definition of a resource, or None if it is built in."""
        return self.definitions.get((resource.group, resource.plural))

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
        if self.definition(resource) is not None:
            return f"{self.prefix}/{resource.group}/{resource.plural}/"
        kind = builtin_kind(resource.group, resource.version, resource.plural)
        return f"{self.prefix}/{kind.prefix if kind is not None else resource.plural}/"

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
