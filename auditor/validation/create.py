"""The checks of a create: all those of the server's strategy, in its order.

Type meta, metadata, schema, scale, embedded resources, list types, rules. A finding of the type meta replaces
metadata, schema and scale; a blocking finding replaces the rules. The object is taken as the storage read returns it.

Source: apiextensions-apiserver pkg/registry/customresource/strategy.go, validator.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.schema.structural import StructuralSchema, nodes_of
from auditor.validation.embedded import compile_embedded
from auditor.validation.findings import has_blocking, rules_not_checked, unique
from auditor.validation.listtype import compile_list_types
from auditor.validation.names import path_segment, subdomain_name
from auditor.validation.node import compile_schema, validate_value
from auditor.validation.objectmeta import check_metadata, read_metadata
from auditor.validation.scale import check_scale_spec, check_scale_status
from auditor.validation.typemeta import check_type_meta

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import Finding, JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition

__all__ = ["CreateValidator", "has_rules"]


class CreateValidator:
    """The checks of one version of a definition, compiled once.

    Attributes:
        definition: The definition.
        version: The version that objects are judged at.
        root: The compiled schema.
        nodes: The compiled positions outside of anyOf and the like, by their schema.
        has_rules: Whether the version has validation rules, so that a blocking finding is followed by
            `rules_not_checked`.
    """

    def __init__(self, definition: CustomResourceDefinition, version: CrdVersion) -> None:
        self.definition = definition
        self.version = version
        self.api_version = f"{definition.group}/{version.name}"
        self.root, self.nodes = compile_schema(version.schema)
        self.has_rules = has_rules(version.structural)
        self._embedded = compile_embedded(version.structural)
        self._list_types = compile_list_types(version.structural)

    def run(self, obj: JsonObject, rules: Callable[[JsonObject], list[Finding]] | None = None) -> list[Finding]:
        """Judge an object.

        Args:
            obj: The object after the read.
            rules: Evaluates the validation rules; called only if they count. None skips the step.
        Returns:
            The findings in the order of the checks; the caller sorts.
        """
        found = self.check_type_meta(obj)
        if not found:
            found = self.check_metadata(obj)
            found += validate_value(self.root, obj)
            found += check_scale_spec(obj, self.version.scale)
            found += check_scale_status(obj, self.version.scale)
        found += self.check_embedded(obj)
        found += self.check_list_types(obj)
        if rules is not None and self.has_rules:
            found += [rules_not_checked()] if has_blocking(found) else rules(obj)
        return found

    def check_type_meta(self, obj: JsonObject) -> list[Finding]:
        """Check kind and apiVersion."""
        return check_type_meta(obj, self.definition.kind, self.api_version)

    def check_metadata(self, obj: JsonObject) -> list[Finding]:
        """Check metadata as the strategy does on a create."""
        metadata, found = read_metadata(obj)
        if found:
            return found
        return unique(check_metadata(metadata, namespaced=self.definition.namespaced, name_rule=subdomain_name))

    def check_embedded(self, obj: JsonObject) -> list[Finding]:
        """Check the embedded resources."""
        found: list[Finding] = []
        if self._embedded is not None:
            self._embedded.check(obj, None, found)
        return found

    def check_list_types(self, obj: JsonObject) -> list[Finding]:
        """Check that sets and map lists have no duplicates."""
        found: list[Finding] = []
        if self._list_types is not None:
            self._list_types.check(obj, None, found)
        return found

    def check_common(self, obj: JsonObject) -> list[Finding]:
        """Check metadata as the generic registry does before the object is created.

        It runs only if `run` finds nothing, and can then find only a generateName that ends in ``/-``.

        Source: apiserver pkg/registry/rest/create.go (BeforeCreate).
        """
        metadata, found = read_metadata(obj)
        if found:
            return found
        return check_metadata(metadata, namespaced=self.definition.namespaced, name_rule=path_segment)


def has_rules(schema: StructuralSchema | None) -> bool:
    """Return whether a schema has rules at the places where the server looks for them, which are not below allOf.

    Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (hasXValidations).
    """
    return any(node.rules for node in nodes_of(schema))
