"""Checks every node of a schema, including those inside anyOf, allOf, oneOf and not; and the syntax of rules.

The walk keeps findings of the schema and of rules apart: rules of a node are compiled only if the schema has no
findings at or below it.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceDefinitionOpenAPISchema).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from auditor.crdcheck import gojson
from auditor.crdcheck.nested_schemas import TYPES, find_field, item_schema
from auditor.crdcheck.structural import unconvertible
from auditor.releases import changes
from auditor.schema.schema_path import FieldPathError
from auditor.validation.field_errors import (
    NOT_SUPPORTED,
    finding,
    forbidden,
    invalid,
    not_supported_detail,
    required,
    shown_text,
    shown_texts,
)
from auditor.validation.rules.compile import trim_space

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject
    from auditor.crdcheck.rules import RuleScope


_CHECK: Final = "schema"
_META: Final = frozenset({"metadata", "kind", "apiVersion"})
_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_MAP_KEYS: Final = "x-kubernetes-list-map-keys"
_RULES: Final = "x-kubernetes-validations"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """The checks to apply; an update must satisfy only checks that the old definition satisfied."""

    valid_types: bool = True
    atomic_sets: bool = True
    map_keys: bool = True


@dataclass(frozen=True, slots=True)
class WalkPosition:
    """The position of the walk, as far as checks depend on it.

    Attributes:
        no_defaults: Why defaults are forbidden here; None if they are allowed.
        in_meta: Whether the node is inside apiVersion, kind or metadata of a resource.
        uncorrelatable: Path of the highest parent whose parts have no counterpart in an old object.
        is_root: Whether the node is the root of the schema.
    """

    no_defaults: str | None = None
    in_meta: bool = False
    uncorrelatable: str | None = None
    is_root: bool = False


@dataclass(slots=True)
class Findings:
    """The findings of a walk."""

    schema: list[Finding] = field(default_factory=list)
    rules: list[Finding] = field(default_factory=list)

    def extend(self, other: Findings) -> None:
        """Add the findings of another walk."""
        self.schema += other.schema
        self.rules += other.rules


def check_openapi(
    props: JsonObject, path: str, place: WalkPosition, options: WalkOptions, scope: RuleScope | None
) -> Findings:
    """Check a schema and everything in it.

    Args:
        props: Decoded with `schema_type`.
        path: The path of the schema in the definition.
        place: The position of the walk.
        options: The checks to apply.
        scope: Compiles the rules of the node; None: rules are not compiled here.
    """
    findings = Findings(_keywords(props, path, place, options))
    _children(props, path, place, options, scope, findings)
    findings.schema += _topology(props, path, options)
    rules: list[JsonObject] = props.get(_RULES, [])
    for index, rule in enumerate(rules):
        findings.schema += _rule_syntax(props, rule, f"{path}.{_RULES}[{index}]")
    if rules and scope is not None and not findings.schema:
        findings.rules += scope.check(rules, path, place.uncorrelatable)
    return findings


_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_BY_PRESENCE: Final = frozenset({"additionalItems", "dependencies", "$ref"})


def _keywords(props: JsonObject, path: str, place: WalkPosition, options: WalkOptions) -> list[Finding]:
    findings: list[Finding] = []
    type_ = props.get("type", "")
    if options.valid_types and type_ and type_ not in TYPES:
        findings.append(finding(_CHECK, f"{path}.type", NOT_SUPPORTED, type_, not_supported_detail(TYPES)))
    if "default" in props and place.no_defaults is not None:
        findings.append(forbidden(_CHECK, f"{path}.default", f"must not be set {place.no_defaults}"))
    findings.extend(
        forbidden(_CHECK, f"{path}.{key}", f"{key} is not supported")
        for key in _UNSUPPORTED
        if props.get(key) or (key in props and key in _BY_PRESENCE)
    )
    if type_ == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        findings.append(forbidden(_CHECK, f"{path}.type", detail))
    items: Any = props.get("items")
    if items is not None and items.many:
        findings.append(forbidden(_CHECK, f"{path}.items", "items must be a schema object and not an array"))
    if place.in_meta and props.get("x-kubernetes-embedded-resource"):
        detail = "must not be used inside of resource meta"
        findings.append(forbidden(_CHECK, f"{path}.x-kubernetes-embedded-resource", detail))
    if props.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        findings.append(forbidden(_CHECK, f"{path}.uniqueItems", detail))
    extra: Any = props.get("additionalProperties")
    if extra is not None and props.get("properties") and (not extra.allows or extra.props is not None):
        detail = "additionalProperties and properties are mutual exclusive"
        findings.append(forbidden(_CHECK, f"{path}.additionalProperties", detail))
    if props.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        findings.append(invalid(_CHECK, where, value=False, detail="must be true or undefined"))
    return findings


def _children(
    props: JsonObject, path: str, place: WalkPosition, options: WalkOptions, scope: RuleScope | None, found: Findings
) -> None:
    inner = replace(place, is_root=False) if place.is_root else place
    extra: Any = props.get("additionalProperties")
    if extra is not None and extra.props is not None:
        child_place = inner
        if inner.in_meta:
            child_place = replace(inner, no_defaults="inside additionalProperties applying to object metadata")
        child = None if scope is None else scope.values()
        found.extend(check_openapi(extra.props, f"{path}.additionalProperties", child_place, options, child))
    for name, subschema in props.get("properties", {}).items():
        child_place = inner
        if props.get(_MAP_TYPE) not in (None, "granular", "atomic"):
            child_place = _cut_off(child_place, path)
        if name in _META and (place.is_root or props.get("x-kubernetes-embedded-resource")):
            reason = f"in top-level {name}" if place.is_root else child_place.no_defaults
            child_place = replace(child_place, in_meta=True, no_defaults=reason)
        child = None if scope is None else scope.property(name)
        found.extend(check_openapi(subschema, f"{path}.properties[{name}]", child_place, options, child))
    for where, subschema in _outside(props, path):
        found.extend(check_openapi(subschema, where, inner, options, None))
    items: Any = props.get("items")
    if items is not None:
        child_place = inner if props.get(_LIST_TYPE) == "map" else _cut_off(inner, path)
        if items.props is not None:
            child = None if scope is None else scope.items()
            found.extend(check_openapi(items.props, f"{path}.items", child_place, options, child))
        for index, subschema in enumerate(items.many):
            found.extend(check_openapi(subschema, f"{path}.items[{index}]", child_place, options, None))


def _outside(props: JsonObject, path: str) -> list[tuple[str, JsonObject]]:
    """Return the schemas outside of the structural tree: those in anyOf and the like, and in unsupported keywords."""
    out = [(f"{path}.not", props["not"])] if "not" in props else []
    for key in ("allOf", "oneOf", "anyOf"):
        out += [(f"{path}.{key}[{index}]", schema) for index, schema in enumerate(props.get(key, ()))]
    out += [(f"{path}.definitions[{name}]", definition) for name, definition in props.get("definitions", {}).items()]
    for name, dependency in props.get("dependencies", {}).items():
        if dependency.props is not None:
            out.append((f"{path}.dependencies[{name}]", dependency.props))
    return out


def _cut_off(place: WalkPosition, path: str) -> WalkPosition:
    return place if place.uncorrelatable is not None else replace(place, uncorrelatable=path)


# -- lists and maps ----------------------------------------------------------------------------------------------------


def _topology(props: JsonObject, path: str, options: WalkOptions) -> list[Finding]:
    findings: list[Finding] = []
    for key, wanted, allowed in (
        (_MAP_TYPE, "object", ("atomic", "granular")),
        (_LIST_TYPE, "array", ("atomic", "set", "map")),
    ):
        if key not in props:
            continue
        type_, detail = props.get("type", ""), f"must be {wanted} if {key} is specified"
        if not type_:
            findings.append(required(_CHECK, f"{path}.type", detail))
        elif type_ != wanted:
            findings.append(invalid(_CHECK, f"{path}.type", type_, detail))
        if props[key] not in allowed:
            findings.append(finding(_CHECK, f"{path}.{key}", NOT_SUPPORTED, props[key], not_supported_detail(allowed)))
    if options.atomic_sets and props.get("type") == "array":
        findings += _loose_set(props, path)
    list_type = props.get(_LIST_TYPE)
    if props.get(_MAP_KEYS):
        detail = f"must be map if {_MAP_KEYS} is non-empty"
        if list_type is None:
            findings.append(required(_CHECK, f"{path}.{_LIST_TYPE}", detail))
        elif list_type != "map":
            findings.append(invalid(_CHECK, f"{path}.{_LIST_TYPE}", list_type, detail))
    if list_type == "map":
        findings += _map_list(props, path)
    if options.map_keys:
        findings += check_required_keys(props, path)
    return findings


def _loose_set(props: JsonObject, path: str) -> list[Finding]:
    """Return the fault of the items of a set, if any: lists and objects in it must be atomic."""
    items = item_schema(props)
    if props.get(_LIST_TYPE) != "set" or items is None:
        return []
    type_, list_type = items.get("type"), items.get(_LIST_TYPE)
    detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    if type_ == "array" and list_type not in (None, "atomic"):
        return [invalid(_CHECK, f"{path}.items.{_LIST_TYPE}", list_type, detail, shown_text(list_type))]
    if type_ == "object" and items.get(_MAP_TYPE) != "atomic":
        # The server prints the list type of the items here, which they seldom have.
        return [invalid(_CHECK, f"{path}.items.{_MAP_TYPE}", list_type, detail, shown_text(list_type))]
    return []


def has_loose_sets(props: JsonObject) -> bool:
    """Whether a schema, even one without a type, is a set whose items are not atomic."""
    return bool(_loose_set(props, ""))


def _map_list(props: JsonObject, path: str) -> list[Finding]:
    findings: list[Finding] = []
    keys: list[str] = props.get(_MAP_KEYS, [])
    where = f"{path}.{_MAP_KEYS}"
    if not keys:
        findings.append(required(_CHECK, where, f"must not be empty if {_LIST_TYPE} is map"))
    given: Any = props.get("items")
    if given is None:
        findings.append(required(_CHECK, f"{path}.items", f"must have a schema if {_LIST_TYPE} is map"))
        return findings
    items: JsonObject | None = given.props
    if items is None:
        return [*findings, _several_items(given, path)]
    type_ = items.get("type", "")
    if type_ != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        findings.append(invalid(_CHECK, f"{path}.items.type", type_, detail))
        return findings
    properties = items.get("properties", {})
    for index, key in enumerate(keys):
        if key not in properties:
            detail = "entries must all be names of item properties"
            findings.append(invalid(_CHECK, where, list(keys), detail, shown_texts(keys)))
        elif properties[key].get("type") in ("array", "object"):
            # The server prints the type of the items, not that of the key.
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            findings.append(invalid(_CHECK, f"{path}.items.properties[{key}].type", type_, detail))
        if key in keys[:index]:
            detail = "must not contain duplicate entries"
            findings.append(invalid(_CHECK, where, list(keys), detail, shown_texts(list(keys))))
    return findings


def _several_items(given: Any, path: str) -> Finding:
    many = [gojson.schema(item) for item in given.many] or None
    shown = gojson.GoStruct(("Schema", None), ("JSONSchemas", many), name="JSONSchemaPropsOrArray")
    detail = f"must only have a single schema if {_LIST_TYPE} is map"
    return invalid(_CHECK, f"{path}.items", gojson.plain(shown), detail, gojson.shown(shown))


def check_required_keys(props: JsonObject, path: str) -> list[Finding]:
    """Check that items of sets and map lists are never null, and that map keys are always present."""
    items, list_type = item_schema(props), props.get(_LIST_TYPE)
    if items is None or list_type not in ("set", "map"):
        return []
    findings: list[Finding] = []
    if items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {list_type}"
        findings.append(forbidden(_CHECK, f"{path}.items.nullable", detail))
    if list_type != "map":
        return findings
    needed = items.get("required", ())
    for key in props.get(_MAP_KEYS, ()):
        prop = items.get("properties", {}).get(key)
        if prop is None:
            continue
        where = f"{path}.items.properties[{key}]"
        if key not in needed and "default" not in prop:
            detail = f"this property is in {_MAP_KEYS}, so it must have a default or be a required property"
            findings.append(required(_CHECK, f"{where}.default", detail))
        if prop.get("nullable"):
            detail = f"this property is in {_MAP_KEYS}, so it cannot be nullable"
            findings.append(forbidden(_CHECK, f"{where}.nullable", detail))
    return findings


def has_loose_keys(props: JsonObject) -> bool:
    """Whether `check_required_keys` would have findings."""
    return bool(check_required_keys(props, ""))


# -- the syntax of rules -----------------------------------------------------------------------------------------------


def _rule_syntax(props: JsonObject, rule: JsonObject, path: str) -> list[Finding]:
    findings: list[Finding] = []
    text, message = trim_space(rule.get("rule", "")), rule.get("message", "")
    trimmed = trim_space(message)
    if not text:
        findings.append(required("rule", f"{path}.rule", "rule is not specified"))
    elif message and not trimmed:
        findings.append(
            invalid("rule", f"{path}.message", message, _detail("message", "must be non-empty if specified"))
        )
    elif _breaks(trimmed):
        findings.append(invalid("rule", f"{path}.message", message, _detail("message", "must not contain line breaks")))
    elif _breaks(text) and not trimmed:
        findings.append(required("rule", f"{path}.message", "message must be specified if rule contains line breaks"))
    expression = rule.get("messageExpression", "")
    if expression and not trim_space(expression):
        detail = "messageExpression must be non-empty if specified"
        findings.append(required("rule", f"{path}.messageExpression", detail))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        shown, detail = shown_text(reason), not_supported_detail(_REASONS)
        findings.append(finding("rule", f"{path}.reason", NOT_SUPPORTED, reason, detail, shown))
    return findings + _field_path(props, rule.get("fieldPath", ""), f"{path}.fieldPath")


def _detail(field: str, text: str) -> str:
    return text if changes.SHORTER_DETAILS.holds else f"{field} {text}"


def _field_path(props: JsonObject, given: str, where: str) -> list[Finding]:
    if not given:
        return []
    findings: list[Finding] = []
    if not trim_space(given):
        findings.append(invalid("rule", where, given, _detail("fieldPath", "must be non-empty if specified")))
    if _breaks(given):
        findings.append(invalid("rule", where, given, _detail("fieldPath", "must not contain line breaks")))
    if not unconvertible(props):
        try:
            find_field(given, props)
        except FieldPathError:
            findings.append(invalid("rule", where, given, _detail("fieldPath", "must be a valid path")))
    return findings


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
