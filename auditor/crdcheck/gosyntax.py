"""Definitions as servers before `changes.VALUES_AS_JSON` print them: Go structs in the format of %#v.

Source: fmt; apiextensions-apiserver pkg/apis/apiextensions/{types,types_jsonschema}.go.
"""

from __future__ import annotations

from typing import Any, Final

from auditor.golang import text
from auditor.validation.findings import ADDRESS

__all__ = ["go_syntax"]

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
    fields = ", ".join(f"{name}:{_field(value.name, name, one)}" for name, one in value.fields)
    return f"{_PACKAGE}{value.name}{{{fields}}}"


def _field(struct: str, name: str, value: Any) -> str:
    pointer = _POINTERS.get(name, "")
    if name == "Schema" and type(value) is not str:
        kind = "JSONSchemaProps" if struct == "JSONSchemaPropsOrArray" else "CustomResourceValidation"
        pointer = f"{_PACKAGE}{kind}"
    if pointer:
        return f"(*{pointer})({'nil' if value is None else ADDRESS})"
    kind = _OTHERS.get(name, "")
    if not kind:
        return text.go_syntax(value)
    if value is None:
        return f"{kind}(nil)"
    if type(value) is dict:
        pairs = (f"{text.quote(key)}:{_item(value[key])}" for key in sorted(value))
        return f"{kind}{{{', '.join(pairs)}}}"
    return f"{kind}{{{', '.join(map(_item, value))}}}"


def _item(value: Any) -> str:
    if hasattr(value, "fields"):
        return go_syntax(value)
    return text.go_syntax(getattr(value, "value", value))
