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
    from collections.abc import Callable, Collection, Iterable

    from auditor.base.records import Finding, JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.validation.node import Doubt, Place

__all__ = ["CreateValidator", "has_rules"]


class CreateValidator:
    """The checks of one version of a definition, compiled once.

    Attributes:
        definition: The definition.
        version: The version that objects are judged at.
        root: The compiled schema.
        nodes: The compiled positions whose `prove` may be set, by their schema (see `node.Node`).
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

    def run(
        self,
        obj: JsonObject,
        rules: Callable[[JsonObject], list[Finding]] | None = None,
        suspects: Collection[str] | None = None,
        fields: Collection[str] = (),
        doubts: Iterable[Doubt] = (),
    ) -> list[Finding]:
        """Judge an object.

        Args:
            obj: The object after the read.
            rules: Evaluates the validation rules; called only if they count. None skips the step.
            suspects: The keys of the object below which a check other than a rule may fail, if known. Other keys are
                not checked; the object is of the kind and version. Checks of the object as a whole always run.
            doubts: Only with suspects: further values that the schema may refuse.
            fields: Only with suspects: the fields of metadata that may be invalid.
        Returns:
            The findings in the order of the checks; the caller sorts.
        """
        found = self.check_type_meta(obj) if suspects is None else []  # known if suspects are known
        if not found:
            if suspects is None:
                found = self.check_metadata(obj)
            elif fields:
                found = self._check_fields(obj["metadata"], fields)
            places: list[Place] = []
            for schema, path, value, is_whole in doubts:
                node = self.nodes.get(schema)
                if node is None:  # from a tree without the defaults that the server drops
                    suspects, places = obj, []
                    break
                places.append((node, (None, path), value, is_whole))
            whole = None if suspects is None else dict.fromkeys(suspects)
            found += validate_value(self.root, obj, suspects=whole, places=places)
            scale = self.version.scale
            if scale is not None:
                found += check_scale_spec(obj, scale)
                found += check_scale_status(obj, scale)
        if self._embedded is not None or self._list_types is not None:
            part = obj if suspects is None else {key: obj[key] for key in suspects if key in obj}
            found += self.check_embedded(part)
            found += self.check_list_types(part)
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

    def _check_fields(self, metadata: JsonObject, fields: Collection[str]) -> list[Finding]:
        """Check a few fields of metadata from a storage read."""
        part = {name: metadata[name] for name in fields if name in metadata}
        return unique(
            check_metadata(part, namespaced=self.definition.namespaced, name_rule=subdomain_name, fields=fields)
        )

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
