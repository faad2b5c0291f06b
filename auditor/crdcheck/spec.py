"""Checks ``spec`` of a definition: group, scope, versions with their schemas, names, conversion.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go (validateCustomResourceDefinitionSpec).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.crdcheck import gojson
from auditor.crdcheck.conversion import check_conversion, enumerated
from auditor.crdcheck.defaults import check_defaults
from auditor.crdcheck.gojson import canonical
from auditor.crdcheck.nested_schemas import has_defaults, has_extensions
from auditor.crdcheck.openapi import WalkPosition, check_openapi
from auditor.crdcheck.parts import (
    check_columns,
    check_deprecation,
    check_names,
    check_selectable,
    check_subresources,
    joined,
)
from auditor.crdcheck.rules import Budget, RuleScope
from auditor.crdcheck.structural import check_structural_schema, unconvertible
from auditor.releases import changes
from auditor.schema.parse import build_schema
from auditor.validation.field_errors import forbidden, invalid, required
from auditor.validation.name_checks import dns_1035_label, dns_subdomain

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import Finding, JsonObject
    from auditor.crdcheck.internal import Internal
    from auditor.crdcheck.relaxed import Demands


_CHECK: Final = "schema"


def check_spec(form: Internal, demands: Demands) -> tuple[list[Finding], list[tuple[str, int]]]:
    """Check the spec of a definition.

    Args:
        form: The definition.
        demands: The checks to apply.
    Returns:
        The findings, and (path, estimated cost) of every compiled expression of its rules.
    """
    findings = _group(form.group) + enumerated(_CHECK, "spec.scope", form.scope, ("Cluster", "Namespaced"))
    findings += _missing_schemas(form, demands)
    defaults = any(map(has_defaults, form.schemas()))
    if defaults and form.preserve:
        detail = "must be false in order to use defaults in the schema"
        findings.append(invalid(_CHECK, "spec.preserveUnknownFields", value=True, detail=detail))
    structural = demands.structural or not form.preserve or defaults or any(map(has_extensions, form.schemas()))
    checker = _SchemaChecker(demands, structural=structural)
    findings += _versions(form, checker)
    findings += _exclusive(form)
    findings += _names(form)
    status = _has_status(form.subresources) or any(
        _has_status(version.get("subresources")) for version in form.versions
    )
    findings += checker.check(form.validation, "spec.validation", form.version, status=status)
    findings += check_subresources(form.subresources, "spec.subresources")
    findings += check_columns(form.columns, "spec.additionalPrinterColumns")
    if form.selectable:
        if form.validation is None:
            detail = _detail("may only be set when validations.schema is included")
            findings.append(invalid(_CHECK, "spec.selectableFields", "", detail))
        else:
            findings += checker.selectable(form.selectable, form.validation, "spec", "")
    findings += check_conversion(form, needs_known_review=demands.known_review, needs_bundle=demands.bundle)
    return findings, checker.costs


def _group(group: str) -> list[Finding]:
    if not group:
        return [required(_CHECK, "spec.group")]
    if texts := dns_subdomain(group):
        return [invalid(_CHECK, "spec.group", group, joined(texts))]
    if "." not in group:
        return [invalid(_CHECK, "spec.group", group, "should be a domain with at least one dot")]
    return []


def _detail(text: str) -> str:
    """Return the message for selectable fields at a position where they are not allowed."""
    return text if changes.SHORTER_DETAILS.holds else f"selectableFields {text.replace('`', '')}"


def _has_schema(holder: JsonObject | None) -> bool:
    return holder is not None and "openAPIV3Schema" in holder


def _missing_schemas(form: Internal, demands: Demands) -> list[Finding]:
    if _has_schema(form.validation) or (not demands.schemas and form.preserve):
        return []
    required_always = "" if changes.SHORTER_DETAILS.holds else "schemas are required"
    detail = required_always if demands.schemas else "because otherwise all fields are pruned"
    return [
        required(_CHECK, f"spec.versions[{index}].schema.openAPIV3Schema", detail)
        for index, version in enumerate(form.versions)
        if not _has_schema(version.get("schema")) and (demands.schemas or version.get("served"))
    ]


def _has_status(subresources: JsonObject | None) -> bool:
    return subresources is not None and "status" in subresources


def _versions(form: Internal, checker: _SchemaChecker) -> list[Finding]:
    findings: list[Finding] = []
    own = any("subresources" in version for version in form.versions)
    for index, version in enumerate(form.versions):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        if texts := dns_1035_label(name):
            findings.append(invalid(_CHECK, f"{path}.name", name, joined(texts)))
        # The first of two versions with the same name determines the subresources.
        first = next(version for version in form.versions if version.get("name", "") == name)
        subresources = first.get("subresources") if own else form.subresources
        findings += check_deprecation(version, path)
        findings += checker.check(version.get("schema"), f"{path}.schema", name, status=_has_status(subresources))
        findings += check_subresources(version.get("subresources"), f"{path}.subresources")
        findings += check_columns(version.get("additionalPrinterColumns"), f"{path}.additionalPrinterColumns")
        fields = version.get("selectableFields")
        if fields:
            if not _has_schema(version.get("schema")):
                detail = _detail("may only be set when `version.schema.openAPIV3Schema` is not included")
                findings.append(invalid(_CHECK, f"{path}.selectableFields", "", detail))
            else:
                findings += checker.selectable(fields, version["schema"], path, name)
    return findings


_SHARED: Final[tuple[tuple[str, str, str, Callable[[Any], Any]], ...]] = (
    ("validation", "schema", "schemas", gojson.validation),
    ("subresources", "subresources", "subresources", gojson.subresources),
    ("additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns", gojson.columns),
)


def _exclusive(form: Internal) -> list[Finding]:
    """Check faults that only documents not in v1 can have, that versions are distinct, and that one is stored."""
    findings: list[Finding] = []
    tops = {"validation": form.validation, "subresources": form.subresources, "additionalPrinterColumns": form.columns}
    details: list[str] = []
    for top, key, what, struct in _SHARED:
        given = [version.get(key) for version in form.versions]
        is_list = key == "additionalPrinterColumns"
        if (tops[top] or (tops[top] is not None and not is_list)) and any(
            item is not None and (item or not is_list) for item in given
        ):
            detail = f"top-level and per-version {what} are mutually exclusive"
            findings.append(forbidden(_CHECK, f"spec.{top}", detail))
        if given and all(item is not None and (item or not is_list) for item in given):
            first = canonical(struct(given[0]))
            if all(canonical(struct(item)) == first for item in given):
                details.append(
                    f"per-version {what} may not all be set to identical values (top-level {top} should be used "
                    "instead)"
                )
    names = [version.get("name", "") for version in form.versions]
    if len(set(names)) < len(names):
        details.append("must contain unique version names")
    if sum(1 for version in form.versions if version.get("storage")) != 1:
        details.append("must have exactly one version marked as storage version")
    if details:
        structs = [gojson.version(version) for version in form.versions] if form.has_list else None
        shown = gojson.shown(structs, "[]apiextensions.CustomResourceDefinitionVersion")
        value = gojson.plain(structs)
        findings.extend(invalid(_CHECK, "spec.versions", value, detail, shown) for detail in details)
    return findings


def _names(form: Internal) -> list[Finding]:
    findings: list[Finding] = []
    if form.version:
        if texts := dns_1035_label(form.version):
            findings.append(invalid(_CHECK, "spec.version", form.version, joined(texts)))
        if form.versions and form.versions[0].get("name", "") != form.version:
            detail = "must match the first version in spec.versions"
            findings.append(invalid(_CHECK, "spec.version", form.version, detail))
    findings.extend(
        required(_CHECK, f"spec.names.{key}")
        for key in ("plural", "singular", "kind", "listKind")
        if not form.names.get(key)
    )
    return findings + check_names(form.names, "spec.names")


# -- schemas -----------------------------------------------------------------------------------------------------------

_AT_ROOT: Final = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
"""Names in Go of the keywords that the root of a schema may have if its objects have the status subresource."""


class _SchemaChecker:
    """Checks the schemas of a definition."""

    def __init__(self, demands: Demands, *, structural: bool) -> None:
        self.demands = demands
        self.structural = structural
        self.costs: list[tuple[str, int]] = []

    def check(self, holder: JsonObject | None, path: str, version: str, *, status: bool) -> list[Finding]:
        """Check one schema.

        Args:
            holder: The object that has the schema under ``openAPIV3Schema``.
            path: The path of the holder.
            version: Name of the version that has the schema.
            status: Whether objects have the status subresource.
        """
        if holder is None or not _has_schema(holder):
            return []
        props: JsonObject = holder["openAPIV3Schema"]
        path = f"{path}.openAPIV3Schema"
        findings = _root_with_status(props, path) if status else []
        if props.get("nullable"):
            findings.append(forbidden(_CHECK, f"{path}.nullable", "nullable cannot be true at the root"))
        demands = self.demands
        reason, scope = "", None
        budget = Budget(demands.old_rules, demands.old_messages, version in demands.unchanged)
        if self.structural:
            reason = unconvertible(props)
            if not reason:
                wrong = check_structural_schema(props, path)
                if not wrong:
                    tree = build_schema(props, as_sent=True)
                    wrong = check_defaults(tree, path, need_pruned=demands.pruned_defaults)
                    scope = None if wrong else RuleScope(tree, budget)
                findings += wrong
        walked = check_openapi(props, path, WalkPosition(is_root=True), demands.walk, scope)
        findings += walked.schema + walked.rules
        self.costs += budget.costs
        if reason and not findings:
            findings.append(invalid(_CHECK, path, "", reason))
        return findings + budget.check(path)

    def selectable(self, fields: list[JsonObject], holder: JsonObject, path: str, version: str) -> list[Finding]:
        """Check the selectable fields of one schema."""
        props = holder.get("openAPIV3Schema")
        reason = "" if props is None else unconvertible(props)
        findings = [invalid(_CHECK, f"{path}.schema.openAPIV3Schema", "", reason)] if reason else []
        allowed = version in self.demands.many_selectable
        where = f"{path}.selectableFields"
        return findings + check_selectable(fields, None if reason else props, where, may_be_many=allowed)


def _root_with_status(props: JsonObject, path: str) -> list[Finding]:
    for name, key, kind in gojson.SCHEMA_FIELDS:
        if key not in props or (kind in ("text", "flag") and not props[key]):
            continue
        if name == "Type":
            if props["type"] != "object":
                detail = (
                    'only "object" is allowed as the type at the root of the schema if the status subresource is '
                    "enabled"
                )
                return [invalid(_CHECK, f"{path}.type", props["type"], detail)]
        elif name not in _AT_ROOT:
            struct = gojson.schema(props)
            detail = (
                f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if the status subresource "
                "is enabled"
            )
            return [invalid(_CHECK, path, gojson.plain(struct), detail, gojson.shown(struct))]
    return []
