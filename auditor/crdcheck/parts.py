"""Checks the small parts of a definition: names, deprecation warnings, subresources, columns, selectable fields.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.crdcheck.nested_schemas import find_field
from auditor.golang.unicode import unprintable
from auditor.schema.schema_path import FieldPathError
from auditor.validation.field_errors import (
    TOO_MANY,
    duplicate,
    finding,
    invalid,
    required,
    shown_text,
    too_many_detail,
)
from auditor.validation.name_checks import dns_1035_label, go_lower

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject


_CHECK: Final = "schema"
MAX_SELECTABLE: Final = 8
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_LONGEST_WARNING: Final = 256  # bytes
_MIXED: Final = "may have mixed case, but should otherwise match: "


def joined(texts: tuple[str, ...]) -> str:
    """Return several messages as one."""
    return ",".join(texts)


def check_names(names: JsonObject, path: str) -> list[Finding]:
    """Check the syntax of names; missing names are reported elsewhere."""
    findings: list[Finding] = []
    for key, lower in (("plural", False), ("singular", False), ("kind", True), ("listKind", True)):
        name: str = names.get(key, "")
        texts = dns_1035_label(go_lower(name) if lower else name)
        if name and texts:
            findings.append(invalid(_CHECK, f"{path}.{key}", name, (_MIXED if lower else "") + joined(texts)))
    for key in ("shortNames", "categories"):
        for index, name in enumerate(names.get(key, ())):
            if texts := dns_1035_label(name):
                findings.append(invalid(_CHECK, f"{path}.{key}[{index}]", name, joined(texts)))
    kind = names.get("kind", "")
    if kind and kind == names.get("listKind"):
        findings.append(invalid(_CHECK, f"{path}.listKind", kind, "kind and listKind may not be the same"))
    return findings


def check_deprecation(version: JsonObject, path: str) -> list[Finding]:
    """Check the deprecation warning of a version."""
    warning: str | None = version.get("deprecationWarning")
    if warning is None:
        return []
    where = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        return [invalid(_CHECK, where, warning, "can only be set for deprecated versions", shown_text(warning))]
    texts = []
    if len(warning.encode("utf-8", "surrogatepass")) > _LONGEST_WARNING:
        texts.append(f"must be <= {_LONGEST_WARNING} characters long")
    if not warning:
        texts.append("must not be an empty string")
    if bad := unprintable(warning):
        where_found = f"non-printable character found at index {bad[0][0]}"
        texts.append(f"must only contain printable UTF-8 characters; {where_found}")
    return [invalid(_CHECK, where, warning, text, shown_text(warning)) for text in texts]


# -- subresources and columns ------------------------------------------------------------------------------------------


def check_subresources(subresources: JsonObject | None, path: str) -> list[Finding]:
    """Check the paths of the scale subresource; they are not looked up in the schema."""
    scale = None if subresources is None else subresources.get("scale")
    if scale is None:
        return []
    findings: list[Finding] = []
    for key, starts, below in (
        ("specReplicasPath", (".spec.",), ".spec"),
        ("statusReplicasPath", (".status.",), ".status"),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
    ):
        given: str = scale.get(key, "")
        where = f"{path}.scale.{key}"
        if not given:
            if key != "labelSelectorPath":
                findings.append(required("scale", where))
        elif not given.startswith("."):
            findings.append(invalid("scale", where, given, "must be a simple json path starting with ."))
        elif not given.startswith(starts):
            shown = shown_text(given) if key == "labelSelectorPath" else None  # a pointer in Go, printed as such
            findings.append(invalid("scale", where, given, f"should be a json path under {below}", shown))
    return findings


def check_columns(columns: list[JsonObject] | None, path: str) -> list[Finding]:
    """Check the printer columns; findings call their paths ``JSONPath`` in all versions of the API."""
    findings: list[Finding] = []
    for index, column in enumerate(columns or ()):
        where = f"{path}[{index}]"
        if not column.get("name"):
            findings.append(required(_CHECK, f"{where}.name"))
        type_ = column.get("type", "")
        detail = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not type_:
            findings.append(required(_CHECK, f"{where}.type", detail))
        elif type_ not in _COLUMN_TYPES:
            findings.append(invalid(_CHECK, f"{where}.type", type_, detail))
        format_ = column.get("format", "")
        if format_ and format_ not in _COLUMN_FORMATS:
            findings.append(invalid(_CHECK, f"{where}.format", format_, f"must be one of {','.join(_COLUMN_FORMATS)}"))
        json_path: str = column.get("jsonPath") or column.get("JSONPath") or ""
        if not json_path:
            findings.append(required(_CHECK, f"{where}.JSONPath"))
        elif not json_path.startswith("."):
            detail = "must be a simple json path starting with ."
            findings.append(invalid(_CHECK, f"{where}.JSONPath", json_path, detail))
    return findings


# -- selectable fields -------------------------------------------------------------------------------------------------


def check_selectable(
    fields: list[JsonObject], schema: JsonObject | None, path: str, *, may_be_many: bool = False
) -> list[Finding]:
    """Check the selectable fields of a schema.

    Args:
        fields: As the definition has them.
        schema: Decoded with `schema_type`; None if it cannot be made structural.
        path: The path of the list.
        may_be_many: Whether the old definition already had too many of them.
    Raises:
        ServerPanic: The server fails on a path.
    """
    findings: list[Finding] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, given = f"{path}[{index}].jsonPath", field.get("jsonPath", "")
        if not given:
            findings.append(required(_CHECK, where))
            continue
        try:
            target = find_field(given, schema, brackets=False)
        except FieldPathError as error:
            findings.append(invalid(_CHECK, where, given, f"is an invalid path: {error}"))
            continue
        if target.root == "metadata":
            findings.append(invalid(_CHECK, where, given, "must not point to fields in metadata"))
        if target.schema is None or target.schema.get("type") not in _SELECTABLE_TYPES:
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats "
                "are allowed."
            )
            findings.append(invalid(_CHECK, where, given, detail))
        if target.path in seen:
            findings.append(duplicate(_CHECK, where, given))
        seen.add(target.path)
    if len(seen) > MAX_SELECTABLE and not may_be_many:
        findings.append(finding(_CHECK, path, TOO_MANY, len(seen), too_many_detail(MAX_SELECTABLE)))
    return findings
