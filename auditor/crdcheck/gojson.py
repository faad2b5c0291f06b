"""Definitions as the server prints and compares them: Go structs of the internal form, field by field.

Some errors print a whole list of versions or a whole schema, with the names of Go fields in the order of the struct.
The same form decides whether two schemas are equal for the server: an empty list or map equals an absent one, a pointer
to an empty value differs from no pointer, 1 and 1.0 differ. Servers before `changes.VALUES_AS_JSON` print the structs
in the format of %#v.

Source: apiextensions-apiserver pkg/apis/apiextensions/{types,types_jsonschema}.go; apimachinery pkg/api/equality.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.golang import go_text
from auditor.golang.jsontext import encode
from auditor.releases import changes
from auditor.validation.field_errors import ADDRESS

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


class GoStruct:
    """A Go struct: names and values of its fields, in order; values are structs, lists, dicts, `Raw` or scalars.

    Args:
        fields: Name and value of each.
        name: Its name in Go, without the package.
    """

    __slots__ = ("fields", "name")

    def __init__(self, *fields: tuple[str, Any], name: str = "") -> None:
        self.fields = fields
        self.name = name


class Raw:
    """JSON data that Go keeps as received (a default, an example, a value of an enum)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def shown(value: Any, kind: str = "") -> str:
    """Return a value in the format in which the reproduced release prints it.

    Args:
        value: The value.
        kind: Its type in Go, if it is a list.
    """
    return render(value) if changes.VALUES_AS_JSON.holds else go_syntax(value, kind)


def render(value: Any) -> str:
    """Return Go's JSON of a value."""
    if isinstance(value, GoStruct):
        return "{" + ",".join(f"{encode(name)}:{render(item)}" for name, item in value.fields) + "}"
    if isinstance(value, Raw):
        return encode(value.value)
    if isinstance(value, list):
        return "[" + ",".join(map(render, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode(key)}:{render(value[key])}" for key in sorted(value)) + "}"
    return encode(value)


def plain(value: Any) -> Any:
    """Return the value as JSON data."""
    if isinstance(value, GoStruct):
        return {name: plain(item) for name, item in value.fields}
    if isinstance(value, Raw):
        return value.value
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def canonical(value: Any) -> Any:
    """Return a text that is equal for two values if the server considers them equal."""
    if value is None:
        return None
    if isinstance(value, GoStruct):
        return ("struct", tuple(canonical(item) for _, item in value.fields))
    if isinstance(value, Raw):
        return ("raw", _typed(value.value))
    if isinstance(value, list):
        return ("list", tuple(map(canonical, value))) if value else None
    if isinstance(value, dict):
        return ("map", tuple((key, canonical(value[key])) for key in sorted(value))) if value else None
    return (type(value).__name__, value)


def _typed(value: Any) -> Any:
    if type(value) is dict:
        return ("map", tuple((key, _typed(value[key])) for key in sorted(value)))
    if type(value) is list:
        return ("list", tuple(map(_typed, value)))
    return (type(value).__name__, value)


# -- schemas -----------------------------------------------------------------------------------------------------------

SCHEMA_FIELDS: Final[tuple[tuple[str, str, str], ...]] = (
    ("ID", "id", "text"),
    ("Schema", "$schema", "text"),
    ("Ref", "$ref", "pointer"),
    ("Description", "description", "text"),
    ("Type", "type", "text"),
    ("Nullable", "nullable", "flag"),
    ("Format", "format", "text"),
    ("Title", "title", "text"),
    ("Default", "default", "raw"),
    ("Maximum", "maximum", "pointer"),
    ("ExclusiveMaximum", "exclusiveMaximum", "flag"),
    ("Minimum", "minimum", "pointer"),
    ("ExclusiveMinimum", "exclusiveMinimum", "flag"),
    ("MaxLength", "maxLength", "pointer"),
    ("MinLength", "minLength", "pointer"),
    ("Pattern", "pattern", "text"),
    ("MaxItems", "maxItems", "pointer"),
    ("MinItems", "minItems", "pointer"),
    ("UniqueItems", "uniqueItems", "flag"),
    ("MultipleOf", "multipleOf", "pointer"),
    ("Enum", "enum", "raws"),
    ("MaxProperties", "maxProperties", "pointer"),
    ("MinProperties", "minProperties", "pointer"),
    ("Required", "required", "pointer"),
    ("Items", "items", "items"),
    ("AllOf", "allOf", "schemas"),
    ("OneOf", "oneOf", "schemas"),
    ("AnyOf", "anyOf", "schemas"),
    ("Not", "not", "schema"),
    ("Properties", "properties", "schema map"),
    ("AdditionalProperties", "additionalProperties", "or bool"),
    ("PatternProperties", "patternProperties", "schema map"),
    ("Dependencies", "dependencies", "dependencies"),
    ("AdditionalItems", "additionalItems", "or bool"),
    ("Definitions", "definitions", "schema map"),
    ("ExternalDocs", "externalDocs", "docs"),
    ("Example", "example", "raw"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", "pointer"),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", "flag"),
    ("XIntOrString", "x-kubernetes-int-or-string", "flag"),
    ("XListMapKeys", "x-kubernetes-list-map-keys", "pointer"),
    ("XListType", "x-kubernetes-list-type", "pointer"),
    ("XMapType", "x-kubernetes-map-type", "pointer"),
    ("XValidations", "x-kubernetes-validations", "rules"),
)
"""Name in Go, JSON key, type of the value; in the order of the struct."""


def schema(props: JsonObject | None) -> GoStruct | None:
    """Return a decoded schema as its struct; None as a nil pointer."""
    if props is None:
        return None
    return GoStruct(*((name, _field(props, key, kind)) for name, key, kind in SCHEMA_FIELDS), name="JSONSchemaProps")


def _field(props: JsonObject, key: str, kind: str) -> Any:
    if kind == "text":
        return props.get(key, "")
    if kind == "flag":
        return props.get(key, False)
    value = props.get(key)
    if value is None or kind == "pointer":
        return value
    return _BUILD[kind](value)


def _or_bool(given: Any) -> GoStruct:
    return GoStruct(("Allows", given.allows), ("Schema", schema(given.props)))


def _items(given: Any) -> GoStruct:
    many = [schema(item) for item in given.many] or None
    return GoStruct(("Schema", schema(given.props)), ("JSONSchemas", many))


def _dependency(given: Any) -> GoStruct:
    return GoStruct(("Schema", schema(given.props)), ("Property", list(given.many) or None))


def rule(given: JsonObject) -> GoStruct:
    """Return a rule as its struct."""
    return GoStruct(
        ("Rule", given.get("rule", "")),
        ("Message", given.get("message", "")),
        ("MessageExpression", given.get("messageExpression", "")),
        ("Reason", given.get("reason")),
        ("FieldPath", given.get("fieldPath", "")),
        ("OptionalOldSelf", given.get("optionalOldSelf")),
        name="ValidationRule",
    )


_BUILD: Final[dict[str, Any]] = {
    "raw": Raw,
    "raws": lambda values: [Raw(value) for value in values],
    "schema": schema,
    "schemas": lambda many: [schema(item) for item in many],
    "schema map": lambda named: {name: schema(item) for name, item in named.items()},
    "items": _items,
    "or bool": _or_bool,
    "dependencies": lambda named: {name: _dependency(item) for name, item in named.items()},
    "docs": lambda docs: GoStruct(("Description", docs.get("description", "")), ("URL", docs.get("url", ""))),
    "rules": lambda many: [rule(item) for item in many],
}


# -- versions ----------------------------------------------------------------------------------------------------------


def validation(given: JsonObject | None) -> GoStruct | None:
    """Return the holder of a schema (``spec.validation``) as its struct."""
    return None if given is None else GoStruct(("OpenAPIV3Schema", schema(given.get("openAPIV3Schema"))))


def subresources(given: JsonObject | None) -> GoStruct | None:
    """Return the subresources of a version as their struct."""
    if given is None:
        return None
    scale = given.get("scale")
    return GoStruct(
        ("Status", None if given.get("status") is None else GoStruct()),
        (
            "Scale",
            None
            if scale is None
            else GoStruct(
                ("SpecReplicasPath", scale.get("specReplicasPath", "")),
                ("StatusReplicasPath", scale.get("statusReplicasPath", "")),
                ("LabelSelectorPath", scale.get("labelSelectorPath")),
            ),
        ),
    )


def column(given: JsonObject) -> GoStruct:
    """Return a printer column as its struct."""
    return GoStruct(
        ("Name", given.get("name", "")),
        ("Type", given.get("type", "")),
        ("Format", given.get("format", "")),
        ("Description", given.get("description", "")),
        ("Priority", given.get("priority", 0)),
        ("JSONPath", given.get("jsonPath", given.get("JSONPath", ""))),
        name="CustomResourceColumnDefinition",
    )


def columns(given: list[JsonObject] | None) -> list[GoStruct] | None:
    """Return printer columns as structs."""
    return None if given is None else [column(item) for item in given]


def selectable(given: list[JsonObject] | None) -> list[GoStruct] | None:
    """Return selectable fields as structs."""
    return (
        None
        if given is None
        else [GoStruct(("JSONPath", item.get("jsonPath", "")), name="SelectableField") for item in given]
    )


def version(given: JsonObject) -> GoStruct:
    """Return a version (its decoded form, without the fields that all versions share) as its struct."""
    return GoStruct(
        ("Name", given.get("name", "")),
        ("Served", given.get("served", False)),
        ("Storage", given.get("storage", False)),
        ("Deprecated", given.get("deprecated", False)),
        ("DeprecationWarning", given.get("deprecationWarning")),
        ("Schema", validation(given.get("schema"))),
        ("Subresources", subresources(given.get("subresources"))),
        ("AdditionalPrinterColumns", columns(given.get("additionalPrinterColumns"))),
        ("SelectableFields", selectable(given.get("selectableFields"))),
        name="CustomResourceDefinitionVersion",
    )


_PACKAGE: Final = "apiextensions."
_POINTERS: Final = {
    **dict.fromkeys(("Ref", "XListType", "XMapType", "DeprecationWarning"), "string"),
    **dict.fromkeys(("Maximum", "Minimum", "MultipleOf"), "float64"),
    **dict.fromkeys(("MaxLength", "MinLength", "MaxItems", "MinItems", "MaxProperties", "MinProperties"), "int64"),
    **dict.fromkeys(("XPreserveUnknownFields", "OptionalOldSelf"), "bool"),
    **dict.fromkeys(("AdditionalProperties", "AdditionalItems"), f"{_PACKAGE}JSONSchemaPropsOrBool"),
    **dict.fromkeys(("Default", "Example"), f"{_PACKAGE}JSON"),
    "Items": f"{_PACKAGE}JSONSchemaPropsOrArray",
    "Not": f"{_PACKAGE}JSONSchemaProps",
    "ExternalDocs": f"{_PACKAGE}ExternalDocumentation",
    "Reason": f"{_PACKAGE}FieldValueErrorReason",
    "Subresources": f"{_PACKAGE}CustomResourceSubresources",
}
"""Fields that are pointers, with the type that they point to."""
_OTHERS: Final = {
    **dict.fromkeys(("AllOf", "OneOf", "AnyOf", "JSONSchemas"), f"[]{_PACKAGE}JSONSchemaProps"),
    **dict.fromkeys(("Properties", "PatternProperties"), f"map[string]{_PACKAGE}JSONSchemaProps"),
    **dict.fromkeys(("Required", "XListMapKeys"), "[]string"),
    "Enum": f"[]{_PACKAGE}JSON",
    "Definitions": f"{_PACKAGE}JSONSchemaDefinitions",
    "Dependencies": f"{_PACKAGE}JSONSchemaDependencies",
    "XValidations": f"{_PACKAGE}ValidationRules",
    "AdditionalPrinterColumns": f"[]{_PACKAGE}CustomResourceColumnDefinition",
    "SelectableFields": f"[]{_PACKAGE}SelectableField",
}
"""Fields that are lists and maps, with their types."""


def go_syntax(value: Any, kind: str = "") -> str:
    """Return a struct of `auditor.crdcheck.gojson`, or a list of these of type `kind`."""
    if type(value) is list:
        return f"{kind}{{{', '.join(map(go_syntax, value))}}}"
    fields = ", ".join(f"{name}:{_syntax_field(value.name, name, one)}" for name, one in value.fields)
    return f"{_PACKAGE}{value.name}{{{fields}}}"


def _syntax_field(struct: str, name: str, value: Any) -> str:
    pointer = _POINTERS.get(name, "")
    if name == "Schema" and type(value) is not str:
        kind = "JSONSchemaProps" if struct == "JSONSchemaPropsOrArray" else "CustomResourceValidation"
        pointer = f"{_PACKAGE}{kind}"
    if pointer:
        return f"(*{pointer})({'nil' if value is None else ADDRESS})"
    kind = _OTHERS.get(name, "")
    if not kind:
        return go_text.go_syntax(value)
    if value is None:
        return f"{kind}(nil)"
    if type(value) is dict:
        pairs = (f"{go_text.quote(key)}:{_item(value[key])}" for key in sorted(value))
        return f"{kind}{{{', '.join(pairs)}}}"
    return f"{kind}{{{', '.join(map(_item, value))}}}"


def _item(value: Any) -> str:
    if hasattr(value, "fields"):
        return go_syntax(value)
    return go_text.go_syntax(getattr(value, "value", value))
