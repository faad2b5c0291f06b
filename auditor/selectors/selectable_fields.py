"""The values that field selectors compare: the selectable fields of a version, printed as by Go.

A path is evaluated by a JSONPath engine whose syntax differs from the one that definitions are checked by, so that
unusual property names fail or mean something else. A path that does not parse breaks every query on its version.

Source: apiextensions-apiserver pkg/registry/customresource/strategy.go (selectableFields); client-go util/jsonpath.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from auditor.base.errors import SelectorError
from auditor.golang.go_text import display
from auditor.printing.jsonpath import JsonPathError, TooManyVisits, Visits, compile_template

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.printing.jsonpath import Template
    from auditor.schema.structural import StructuralSchema


IndexValue = bool | int | str | None
"""A value as the index stores it beside its text; None if it is absent or of a type that selectors do not support."""


def selectable(version: CrdVersion, obj: JsonObject, namespaced: bool) -> dict[str, str]:
    """Return the fields of an object that field selectors on a version compare.

    Args:
        version: The version with the selectable fields.
        obj: The object after the read at that version.
        namespaced: Whether its kind is namespaced.

    Returns:
        Label to text; metadata.name first. An absent or null field is the empty text.

    Raises:
        SelectorError: Selectors on this version fail, always or for this object; `found` is the server's text.
    """
    seen: dict[str, str] = _identity(obj, namespaced=namespaced)
    for path in version.selectable_fields:
        value = _find(path, obj)
        seen.setdefault(path.removeprefix("."), "" if value is None else display(value))
    return seen


def selectable_values(version: CrdVersion, obj: JsonObject) -> dict[str, IndexValue]:
    """Return the typed values of the selectable fields of a version, by label.

    Floats without fraction are integers here; values of other than the selectable types are None.

    Raises:
        SelectorError: As `selectable`.
    """
    return {path.removeprefix("."): _typed(_find(path, obj)) for path in version.selectable_fields}


def plain_keys(path: str) -> tuple[str, ...] | None:
    """Return the keys that lead to the value of a path, or None if it has more than keys or does not parse."""
    try:
        return _parse(path)[0]
    except JsonPathError:
        return None


def field_types(version: CrdVersion) -> list[tuple[str, str]]:
    """Return (path without the leading dot, schema type) of the selectable fields of a version."""
    out = []
    for path in version.selectable_fields:
        label = path.removeprefix(".")
        node = node_at(version.schema, label)
        out.append((label, node.type if node is not None else "string"))
    return out


def node_at(schema: StructuralSchema | None, label: str) -> StructuralSchema | None:
    """Return the node of a schema at a path without the leading dot, or None if the schema has none there."""
    node = schema
    for step in label.split("."):
        if node is None:
            break
        below = node.properties.get(step)
        if below is None and not isinstance(node.additional_properties, bool):
            below = node.additional_properties
        node = below
    return node


def field_text(label: str, obj: JsonObject) -> str:
    """Return the text of a field selector for any path of an object; empty if there is no value or more than one.

    Args:
        label: Path without the leading dot.
    """
    try:
        value = _find(f".{label}", obj)
    except SelectorError:
        return ""
    return "" if value is None else display(value)


def _identity(obj: JsonObject, *, namespaced: bool) -> dict[str, str]:
    metadata = obj.get("metadata")
    metadata = metadata if type(metadata) is dict else {}
    names = ("name", "namespace") if namespaced else ("name",)
    return {f"metadata.{name}": _text(metadata.get(name)) for name in names}


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _typed(value: Any) -> IndexValue:
    if type(value) is float:
        return int(value) if value.is_integer() and -(2**63) <= value < 2**63 else None
    return value if type(value) in (str, int, bool) else None


def _find(path: str, obj: JsonObject) -> Any:
    try:
        keys, template = _parse(path)
    except JsonPathError as error:
        raise SelectorError(path, f"unexpected error parsing jsonPath: {error}") from None
    if keys is not None:
        value: Any = obj
        for key in keys:
            if type(value) is not dict:
                return None
            value = value.get(key)
        return value
    try:
        values = template.find(obj, visits=Visits())
    except JsonPathError as error:
        raise SelectorError(path, f"unexpected error finding value with jsonPath: {error}") from None
    except TooManyVisits:
        raise SelectorError(path, "looks at too many values of an object") from None
    if not values or not values[0]:
        return None
    if len(values) > 1 or len(values[0]) > 1:
        raise SelectorError(path, "unexpectedly received more than one JSON path result")
    return values[0][0]


@lru_cache(maxsize=1024)
def _parse(path: str) -> tuple[tuple[str, ...] | None, Template]:
    """Return the keys of a path that consists of keys alone, and the template of any path.

    Raises:
        JsonPathError: It does not parse; with Go's text.
    """
    template = compile_template(f"{{{path}}}")
    return template.keys, template


def nullable_fields(version: CrdVersion) -> set[str]:
    """Return the selectable fields of a version whose schema allows null."""
    out = set()
    for label, _ in field_types(version):
        node = node_at(version.structural, label)
        if node is None or node.nullable:
            out.add(label)
    return out


def is_alike(definition: CustomResourceDefinition, label: str) -> bool:
    """Return whether all versions give a field the same type, and none allows null."""
    nodes = [node_at(version.schema, label) for version in definition.versions.values()]
    kinds = {None if node is None or node.nullable else node.type for node in nodes}
    return len(kinds) == 1 and None not in kinds
