"""Selects objects as a server does: label selectors, field selectors, and the predicate of --where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.errors import SelectorError
from auditor.builtin.protobuf import top_level_fields
from auditor.builtin.selectable import builtin_selectable, rules_of
from auditor.printing.get.errors import StatusError
from auditor.selectors.fields import field_text, selectable
from auditor.selectors.grammar import parse_field_selector, parse_label_selector
from auditor.selectors.where import check_names, compile_where, conjuncts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.base.records import JsonObject
    from auditor.cel.syntax.ast import Expr
    from auditor.printing.discovery import Resource
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.selectors.where import Where
    from auditor.server.catalog import Catalog

__all__ = ["Selection"]


class Selection:
    """The selectors that the kinds of a catalog accept, and whether objects match.

    Args:
        catalog: The kinds.
        any_field: Accept every path as a field label.
        where: Predicate on objects; empty if there is none.
    """

    def __init__(self, catalog: Catalog, *, any_field: bool, where: str = "") -> None:
        self.where = where
        self._catalog = catalog
        self._any_field = any_field
        self._wheres: dict[Resource, Where] = {}

    def labels_of(self, resource: Resource) -> list[str]:
        """Return the labels that field selectors on a kind can use and that have values."""
        definition = self._catalog.definition(resource)
        if definition is None:
            rules = rules_of(resource.group, resource.kind)
            return ["metadata.name", *(["metadata.namespace"] if rules.metadata_namespace else []), *rules.values]
        names = ["metadata.name", "metadata.namespace"] if definition.namespaced else ["metadata.name"]
        return names + [path.removeprefix(".") for path in definition.versions[resource.version].selectable_fields]

    # ---- the store

    def check_fields(self, resource: Resource, requirements: Sequence[FieldRequirement]) -> list[FieldRequirement]:
        """Return requirements with the labels of a selector replaced by the labels of the object.

        Raises:
            StatusError: The server refuses a label.
        """
        if self._any_field:
            return list(requirements)
        definition = self._catalog.definition(resource)
        if definition is None:
            rules = rules_of(resource.group, resource.kind)
            try:
                return [type(r)(rules.resolve(r.label), r.value, r.negated) for r in requirements]
            except SelectorError as error:
                raise StatusError(400, "BadRequest", error.found) from None
        known = {path.removeprefix(".") for path in definition.versions[resource.version].selectable_fields}
        known |= {"metadata.name", "metadata.namespace"} if definition.namespaced else {"metadata.name"}
        for requirement in requirements:
            if requirement.label not in known:
                raise StatusError(400, "BadRequest", f"field label not supported: {requirement.label}")
        return list(requirements)

    def fields_of(self, resource: Resource, obj: JsonObject) -> dict[str, str]:
        """Return what field selectors see of an object.

        Raises:
            StatusError: A server fails on the object.
        """
        definition = self._catalog.definition(resource)
        if definition is None:
            return builtin_selectable(resource.group, resource.kind, obj)
        try:
            return selectable(definition.versions[resource.version], obj, definition.namespaced)
        except SelectorError as error:
            raise StatusError(500, "InternalError", f"Internal error occurred: {error.found}") from None

    def parsed(
        self, resource: Resource, labels: str, fields: str
    ) -> tuple[tuple[LabelRequirement, ...], list[FieldRequirement]]:
        """Return the requirements of both selectors.

        Raises:
            StatusError: The server refuses one.
        """
        try:
            wanted_labels = parse_label_selector(labels)
            wanted_fields = parse_field_selector(fields)
        except SelectorError as error:
            raise StatusError(400, "BadRequest", error.found) from None
        return wanted_labels, self.check_fields(resource, wanted_fields)

    def matches(
        self,
        resource: Resource,
        obj: JsonObject,
        labels: Iterable[LabelRequirement],
        fields: Sequence[FieldRequirement],
    ) -> bool:
        """Whether an object is selected: labels first, then fields, as the server does it."""
        metadata = obj.get("metadata")
        found = metadata.get("labels") if type(metadata) is dict else None
        if not all(requirement.matches(found if type(found) is dict else {}) for requirement in labels):
            return False
        if not fields:
            return True
        seen = self.fields_of(resource, obj)
        if self._any_field:
            seen |= {r.label: field_text(r.label, obj) for r in fields if r.label not in seen}
        return all(requirement.matches(seen) for requirement in fields)

    def passes(self, resource: Resource, obj: JsonObject) -> bool:
        """Whether an object matches the requested predicate."""
        return not self.where or self.where_of(resource).test(obj)

    def where_of(self, resource: Resource) -> Where:
        """Return the predicate for a kind.

        Raises:
            SelectorError: It does not parse, or names a field that the kind does not have.
        """
        found = self._wheres.get(resource)
        if found is None:
            definition = self._catalog.definition(resource)
            schema = None if definition is None else definition.versions[resource.version].structural
            if schema is not None:
                names: Iterable[str] = schema.properties
            else:
                names = top_level_fields(resource.group, resource.version, resource.kind)
            found = self._wheres[resource] = compile_where(self.where, names)
            check_names(found, schema)
        return found

    def parts_of(self, resource: Resource) -> list[Expr]:
        """Return the operands of the predicate's `&&`."""
        return conjuncts(self.where_of(resource).root) if self.where else []
