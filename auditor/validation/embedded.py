"""x-kubernetes-embedded-resource: apiVersion, kind and metadata of objects inside objects.

The same on create and update, never ratcheted. Compiled to a tree of only the positions that lead to such a resource.

Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta/validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.trail import Trail, structured
from auditor.releases import changes
from auditor.schema.objectmeta import CoerceError, decode_metadata
from auditor.schema.structural import folded
from auditor.validation.field_errors import invalid, required, unique
from auditor.validation.name_checks import dns_1035_label, go_lower, group_version, path_segment
from auditor.validation.objectmeta import check_metadata

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject
    from auditor.schema.structural import StructuralSchema


_CHECK: Final = "embedded"


class EmbeddedResources:
    """One schema position on the way to an embedded resource."""

    __slots__ = ("_extra", "_is_resource", "_items", "_properties")

    def __init__(
        self,
        *,
        is_resource: bool,
        properties: dict[str, EmbeddedResources | None],
        extra: EmbeddedResources | None,
        items: EmbeddedResources | None,
    ) -> None:
        self._is_resource = is_resource
        self._properties = properties
        self._extra = extra
        self._items = items

    def check(self, value: Any, trail: Trail, found: list[Finding]) -> None:
        """Check a value and all values below it; append to `found`."""
        if type(value) is dict:
            if self._is_resource:
                _check_resource(value, structured(trail), found)
            properties, extra = self._properties, self._extra
            for key, item in value.items():
                if key in properties:
                    node = properties[key]
                    if node is not None:
                        node.check(item, (trail, key), found)
                elif extra is not None:
                    extra.check(item, (trail, key, True), found)
        elif type(value) is list and self._items is not None:
            for index, item in enumerate(value):
                self._items.check(item, (trail, index), found)


def compile_embedded(schema: StructuralSchema | None) -> EmbeddedResources | None:
    """Compile the embedded resources of a structural schema, or return None if there is nothing to check."""
    return folded(schema, _compiled)


def _compiled(
    schema: StructuralSchema,
    properties: dict[str, EmbeddedResources | None],
    rest: EmbeddedResources | None,
    items: EmbeddedResources | None,
) -> EmbeddedResources | None:
    is_resource = schema.embedded_resource
    if not is_resource and rest is None and items is None and not any(properties.values()):
        return None
    if rest is None:
        # Only keys of additionalProperties need to know which properties are declared.
        properties = {name: node for name, node in properties.items() if node is not None}
    return EmbeddedResources(is_resource=is_resource, properties=properties, extra=rest, items=items)


def _check_resource(resource: JsonObject, path: str, found: list[Finding]) -> None:
    prefix = f"{path}." if path else ""
    detail = "" if changes.SHORTER_DETAILS.holds else "must not be empty"
    found.extend(required(_CHECK, f"{prefix}{name}", detail) for name in ("apiVersion", "kind") if name not in resource)
    if "apiVersion" in resource:
        found.extend(_check_text(resource["apiVersion"], f"{prefix}apiVersion", _api_version))
    if "kind" in resource:
        found.extend(_check_text(resource["kind"], f"{prefix}kind", _kind))
    raw = resource.get("metadata")
    if "metadata" not in resource:
        return
    where = f"{prefix}metadata"
    try:
        metadata = decode_metadata(raw, drop=False)
    except CoerceError as error:
        found.append(invalid(_CHECK, where, raw, str(error)))
        return
    if not metadata.get("name"):
        # Embedded objects may lack a name.
        metadata = {**metadata, "name": "fakename"}
    namespaced = bool(metadata.get("namespace"))
    problems = check_metadata(metadata, namespaced=namespaced, name_rule=path_segment, path=where, check=_CHECK)
    found.extend(unique(problems))


def _check_text(value: Any, path: str, problem: Any) -> list[Finding]:
    if type(value) is not str:
        return [invalid(_CHECK, path, value, "must be a string")]
    if not value:
        return [invalid(_CHECK, path, value, "must not be empty")]
    text = problem(value)
    return [invalid(_CHECK, path, value, text)] if text else []


def _api_version(text: str) -> str:
    return f"unexpected GroupVersion string: {text}" if group_version(text) is None else ""


def _kind(text: str) -> str:
    messages = dns_1035_label(go_lower(text))
    return f"may have mixed case, but should otherwise match: {','.join(messages)}" if messages else ""
