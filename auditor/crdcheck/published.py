"""OpenAPI v3 schemas that discovery publishes for a kind: those of its objects and of its lists.

They have the schema of a version as the server stores it (without unknown keywords), the fields of every resource, and
the selectable fields in ``x-kubernetes-selectable-fields``. Gates, which no server publishes, are in
``x-kubernetes-feature-gates`` if the caller passes them.

Source: apiextensions-apiserver pkg/controller/openapi/builder/builder.go; pkg/apiserver/schema/kubeopenapi.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.crdcheck.nested_schemas import has_invalid_types
from auditor.crdcheck.structural import is_structural
from auditor.schema.parse import schema_type
from auditor.schema.typed import decode_typed

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition


_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION: Final = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    f"schemas to the latest internal value, and may reject unrecognized values. More info: {_CONVENTIONS}#resources"
)
_KIND: Final = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    f"{_CONVENTIONS}#types-kinds"
)
_METADATA: Final = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
_LIST_METADATA: Final = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"
_EMBEDDED_API_VERSION: Final = (
    f"apiVersion defines the versioned schema of this representation of an object. More info: {_CONVENTIONS}#resources"
)
_EMBEDDED_KIND: Final = (
    f"kind is a string value representing the type of this object. In CamelCase. More info: {_CONVENTIONS}#types-kinds"
)
_META: Final = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1."
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_SELECTABLE: Final = "x-kubernetes-selectable-fields"
_GATES: Final = "x-kubernetes-feature-gates"


def raw_schema(document: JsonObject, version: str) -> JsonObject | None:
    """Return the schema of a version as the document has it, or None.

    Args:
        document: A definition that a server could decode.
        version: Name of the version.
    """
    spec = document.get("spec") or {}
    hoisted = (spec.get("validation") or {}).get("openAPIV3Schema")
    if hoisted is not None:
        return dict(hoisted)
    for entry in spec.get("versions") or ():
        if entry.get("name", "") == version:
            schema = (entry.get("schema") or {}).get("openAPIV3Schema")
            return None if schema is None else dict(schema)
    return None


def published_schemas(
    definition: CustomResourceDefinition, version: str, gates: list[JsonObject] | None = None
) -> dict[str, JsonObject]:
    """Return the schemas of a kind and of its lists, by their names in discovery.

    Args:
        definition: The definition.
        version: One of its versions.
        gates: The content for field-level gates, or None.
    """
    path = ".".join(reversed(definition.group.split(".")))
    names = {kind: f"{path}.{version}.{kind}" for kind in (definition.kind, definition.list_kind)}
    fields = [{"fieldPath": field.removeprefix(".")} for field in definition.versions[version].selectable_fields]
    own = _object(definition, version)
    listed = _list(definition, names[definition.kind])
    for kind, schema in ((definition.kind, own), (definition.list_kind, listed)):
        schema["x-kubernetes-group-version-kind"] = [{"group": definition.group, "kind": kind, "version": version}]
        if fields:
            schema[_SELECTABLE] = fields
    if gates:
        own[_GATES] = gates
    return {names[definition.kind]: own, names[definition.list_kind]: listed}


def _text(description: str) -> JsonObject:
    return {"description": description, "type": "string"}


def _reference(name: str, description: str) -> JsonObject:
    return {"allOf": [{"$ref": f"{_META}{name}"}], "description": description}


def _object(definition: CustomResourceDefinition, version: str) -> JsonObject:
    given = raw_schema(definition.document, version)
    if given is None:
        return {"type": "object"}
    decoded = decode_typed(given, schema_type())
    if has_invalid_types(decoded) or not is_structural(decoded):
        return {"type": "object"}
    schema = _schema(decoded)
    schema["properties"] = {
        **schema.get("properties", {}),
        "apiVersion": _text(_API_VERSION),
        "kind": _text(_KIND),
        "metadata": _reference("ObjectMeta", _METADATA),
    }
    return schema


def _list(definition: CustomResourceDefinition, item: str) -> JsonObject:
    items = {
        "description": f"List of {definition.plural}. More info: {_CONVENTIONS}",
        "items": {"$ref": f"#/components/schemas/{item}"},
        "type": "array",
    }
    return {
        "description": f"{definition.list_kind} is a list of {definition.kind}",
        "properties": {
            "apiVersion": _text(_API_VERSION),
            "items": items,
            "kind": _text(_KIND),
            "metadata": _reference("ListMeta", _LIST_METADATA),
        },
        "required": ["items"],
        "type": "object",
    }


_INTEGER_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_NO_TRACE: Final = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_EMPTY: Final[tuple[Any, ...]] = ("", False, [], {})


def _schema(decoded: JsonObject, *, nested: bool = False) -> JsonObject:
    """Return a decoded schema as JSON; nodes inside anyOf and the like lose additionalProperties, as in the server."""
    out: JsonObject = {}
    for key, value in decoded.items():
        if key in _NO_TRACE:
            continue
        if key in ("items", "additionalProperties"):
            made = None if nested and key == "additionalProperties" else _holder(value, nested=nested)
            if made is not None:
                out[key] = made
        elif key == "properties":
            out[key] = {name: _schema(child, nested=nested) for name, child in value.items()}
        elif key in _LISTS:
            out[key] = [_schema(child, nested=True) for child in value]
        elif key == "not":
            out[key] = _schema(value, nested=True)
        elif key in ("default", "example", "enum") or value not in _EMPTY or type(value) in (int, float):
            out[key] = value
    for key in ("enum", "properties", *_LISTS):
        if key in out and not out[key]:
            del out[key]
    if out.get("x-kubernetes-int-or-string") and not nested:
        _unfold(out)
    if out.get(_EMBEDDED) and not nested:
        out["properties"] = {
            **out.get("properties", {}),
            "apiVersion": _text(_EMBEDDED_API_VERSION),
            "kind": _text(_EMBEDDED_KIND),
            "metadata": _reference("ObjectMeta", _METADATA),
        }
        out["required"] = [
            *out.get("required", ()),
            *(k for k in ("kind", "apiVersion") if k not in out.get("required", ())),
        ]
    return out


def _unfold(schema: JsonObject) -> None:
    """State in keywords that a value is an integer or a string, unless the schema does."""
    first = schema.get("allOf", [{}])[0].get("anyOf")
    if _INTEGER_OR_STRING in (schema.get("anyOf"), first):
        return
    if "anyOf" not in schema:
        schema["anyOf"] = _INTEGER_OR_STRING
    else:
        schema["allOf"] = [{"anyOf": _INTEGER_OR_STRING}, *schema.get("allOf", ())]


def _holder(value: Any, *, nested: bool) -> Any:
    if value.props is not None:
        return _schema(value.props, nested=nested)
    return getattr(value, "allows", None)
