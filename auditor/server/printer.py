"""The columns and cells of a table of objects, and their subresources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.records import metadata_of, name_of
from auditor.builtin.columns import builtin_cells, builtin_headers
from auditor.golang.text import quote
from auditor.printing.columns import age_of, custom_resource_columns, custom_resource_row
from auditor.printing.get.errors import StatusError, given_up_cells
from auditor.printing.jsonpath import Visits
from auditor.printing.tables import Header
from auditor.server.subresources import SCALE, SCALE_HEADERS, has_subresource, scale_cells, scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.columns import Cell
    from auditor.printing.discovery import Resource
    from auditor.server.catalog import Catalog

__all__ = ["Printer"]


class Printer:
    """Prints objects of the kinds of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._columns: dict[tuple[str, str, str], Any] = {}

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return a subresource of an object, and the kind of the subresource.

        Raises:
            StatusError: The kind has no such subresource.
        """
        definition = self._catalog.definition(resource)
        if not has_subresource(definition, resource, subresource):
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        if subresource == "status":
            return resource, obj
        found = scale_of(definition, resource, obj)
        if found is None:
            path = definition.versions[resource.version].scale if definition is not None else None
            text = (
                f"Internal error occurred: the spec replicas field {quote(path.spec_replicas_path)} does not exist"
                if path
                else ""
            )
            raise StatusError(500, "InternalError", text)
        return SCALE, found

    def columns(self, resource: Resource) -> Any:
        """Return the compiled columns of a custom resource."""
        key = (resource.group, resource.version, resource.plural)
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = custom_resource_columns(resource.columns)
        return found

    def headers(self, resource: Resource) -> Sequence[Header]:
        """Return the columns of a kind."""
        if resource == SCALE:
            return SCALE_HEADERS
        if self._catalog.definition(resource) is None:
            return builtin_headers(resource.group, resource.kind)
        return [
            Header("Name", is_name=True),
            *(Header(column.name, wide=column.priority != 0) for column, _ in self.columns(resource)),
        ]

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> tuple[list[Sequence[Cell]], str]:
        """Return the cells of objects, and a message if the cells of some could not be made; else an empty one."""
        if resource == SCALE:
            created = [metadata_of(one).get("creationTimestamp") or "" for one in objects]
            return [scale_cells(one, age_of(at, now)) for one, at in zip(objects, created, strict=True)], ""
        if self._catalog.definition(resource) is None:
            return builtin_cells(resource.group, resource.kind, objects, now, listed=listed), ""
        columns, visits = self.columns(resource), Visits()
        given_up: list[str] = []
        rows: list[Sequence[Cell]] = [
            [name_of(one), *custom_resource_row(columns, one, now, visits, given_up)] for one in objects
        ]
        return rows, given_up_cells(given_up) if given_up else ""
