"""What the server says to an object that is created: all checks of the strategy, in its order.

Type meta, metadata, schema, scale, embedded resources, list types, rules. A finding of the type meta replaces
metadata, schema and scale; a blocking finding replaces the rules. The object comes as the storage read gives it.

Source: apiextensions-apiserver pkg/registry/customresource/strategy.go, validator.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.schema.structural import StructuralSchema
from auditor.validation.embedded import compile_embedded
from auditor.validation.findings import RULES_NOT_CHECKED, has_blocking, unique
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
        nodes: The compiled positions that may be given a `prove`, by their schema (see `node.Node`).
        has_rules: Whether the version has validation rules, so that a blocking finding is followed by
            `RULES_NOT_CHECKED`.
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
            rules: Evaluates the validation rules; called only where they count. None leaves the whole step out.
            suspects: The keys of the object below which anything but a rule may fail, where that is known. The rest is
                not looked at again; the object is of the kind and version. What is said of the object as a whole is
                always checked.
            doubts: Where suspects are given: values beside them that the schema may refuse, whatever is elsewhere.
            fields: Where suspects are given: the fields of metadata that may be invalid, whatever the schema says.
        Returns:
            The findings in the order of the checks; the caller sorts.
        """
        found = self.check_type_meta(obj) if suspects is None else []  # known where suspects are
        if not found:
            if suspects is None:
                found = self.check_metadata(obj)
            elif fields:
                found = self._check_fields(obj["metadata"], fields)
            places: list[Place] = []
            for schema, path, value, is_whole in doubts:
                node = self.nodes.get(schema)
                if node is None:  # of a tree without the defaults that the server drops
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
            found += [RULES_NOT_CHECKED] if has_blocking(found) else rules(obj)
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
        """Check a few fields of metadata that are as a storage read leaves them."""
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

        It does so only after `run` found nothing, and finds next to nothing then: a generateName that ends in ``/-``.

        Source: apiserver pkg/registry/rest/create.go (BeforeCreate).
        """
        metadata, found = read_metadata(obj)
        if found:
            return found
        return check_metadata(metadata, namespaced=self.definition.namespaced, name_rule=path_segment)


def has_rules(schema: StructuralSchema | None) -> bool:
    """Tell whether a schema has rules where the server looks whether it has any: not below allOf.

    Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (hasXValidations).
    """
    if schema is None:
        return False
    extra = schema.additional_properties
    return (
        bool(schema.rules)
        or has_rules(schema.items)
        or (isinstance(extra, StructuralSchema) and has_rules(extra))
        or any(has_rules(child) for child in schema.properties.values())
    )
