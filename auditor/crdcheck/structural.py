"""Checks that a schema is structural: every value that can be validated has one known type and position.

Three parts: the requirements for every node, the keywords that are allowed inside allOf, anyOf, oneOf and not, and that
these refer only to fields that the schema has outside of them. All faults are reported.

Source: apiextensions-apiserver pkg/apiserver/schema/{validation,complete}.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import NotStructural
from auditor.crdcheck.nested_schemas import item_schema
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.schema.parse import check_convertible
from auditor.validation.field_errors import forbidden, invalid, required

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import Finding, JsonObject


_CHECK: Final = "schema"
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"


def unconvertible(props: JsonObject) -> str:
    """Return why a schema cannot be converted to a structural one; empty if it can."""
    try:
        check_convertible(props)
    except NotStructural as error:
        return error.found
    return ""


def is_structural(props: JsonObject) -> bool:
    """Whether a schema is structural."""
    return not unconvertible(props) and not check_structural_schema(props, "")


def check_structural_schema(props: JsonObject, path: str) -> list[Finding]:
    """Check a schema that can be converted.

    Args:
        props: Decoded with `schema_type`.
        path: The path of the schema in the definition.
    """
    findings: list[Finding] = []
    _node(props, path, _ROOT, findings)
    _complete(props, props, path, path, findings)
    return findings


def _extra(props: JsonObject) -> JsonObject | None:
    given: Any = props.get("additionalProperties")
    return None if given is None else given.props


def _node(props: JsonObject, path: str, level: str, found: list[Finding]) -> None:
    type_ = props.get("type", "")
    items = item_schema(props)
    properties = props.get("properties", {})
    embedded = props.get(_EMBEDDED, False)
    if type_ == "array" and items is None:
        found.append(required(_CHECK, f"{path}.items", "must be specified"))
    if items is not None:
        _node(items, f"{path}.items", _ITEM, found)
    for name, child in properties.items():
        _node(child, f"{path}.properties[{name}]", _FIELD, found)
    if "additionalProperties" in props:
        if level is _ROOT:
            found.append(forbidden(_CHECK, f"{path}.additionalProperties", "must not be used at the root"))
        extra = _extra(props)
        if extra is not None:
            _node(extra, f"{path}.additionalProperties", _FIELD, found)
        if embedded:
            detail = f"must not be used if {_EMBEDDED} is set"
            found.append(forbidden(_CHECK, f"{path}.additionalProperties", detail))
    if props.get(_INT_OR_STRING):
        detail = f"must be false if {_INT_OR_STRING} is true"
        found.extend(
            invalid(_CHECK, f"{path}.{key}", value=True, detail=detail)
            for key in (_PRESERVE, _EMBEDDED)
            if props.get(key)
        )
    _values(props, path, found, skip_any_of=_is_int_or_string(props), skip_first=_first_is_int_or_string(props))
    _type(props, path, level, found)
    if embedded and not props.get(_PRESERVE) and not properties:
        detail = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        found.append(required(_CHECK, f"{path}.properties", detail))
    _meta(properties, path, found, is_root=level is _ROOT, is_resource=level is _ROOT or embedded)


def _type(props: JsonObject, path: str, level: str, found: list[Finding]) -> None:
    type_, where = props.get("type", ""), f"{path}.type"
    if props.get(_EMBEDDED):
        detail = f"must be object if {_EMBEDDED} is true"
        if not type_:
            found.append(required(_CHECK, where, detail))
        elif type_ != "object":
            found.append(invalid(_CHECK, where, type_, detail))
    elif not type_ and not props.get(_INT_OR_STRING) and not props.get(_PRESERVE):
        found.append(required(_CHECK, where, f"must not be empty {level}"))
    if level is _ROOT and type_ and type_ != "object":
        found.append(invalid(_CHECK, where, type_, "must be object at the root"))


def _meta(properties: JsonObject, path: str, found: list[Finding], *, is_root: bool, is_resource: bool) -> None:
    if is_resource:
        for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            given = properties.get(name)
            if given is not None and given.get("type", "") != wanted:
                where = f"{path}.properties[{name}].type"
                found.append(invalid(_CHECK, where, given.get("type", ""), f"must be {wanted}"))
    if is_root and "metadata" in properties and not _only_names(properties["metadata"]):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        found.append(forbidden(_CHECK, f"{path}.properties[metadata]", detail))


def _only_names(metadata: JsonObject) -> bool:
    """Whether a schema of metadata restricts only its type, and fields of name and generateName."""
    for key, value in metadata.items():
        if key in ("type", "default", "id", "$schema", "$ref") or (key == "items" and item_schema(metadata) is None):
            continue
        if key == "properties":
            if set(value) - {"name", "generateName"}:
                return False
        elif value or key not in _ZERO_IS_ABSENT:
            return False
    return True


_ZERO_IS_ABSENT: Final = frozenset(
    {
        *("description", "title", "format", "pattern", "nullable", "uniqueItems"),
        *("exclusiveMaximum", "exclusiveMinimum", _EMBEDDED, _INT_OR_STRING),
        *("allOf", "anyOf", "oneOf", "enum", "patternProperties", "definitions", "dependencies"),
    }
)
"""Keys whose empty value is absent in the converted schema."""


# -- anyOf, allOf, oneOf, not
# -------------------------------------------------------------------------------------------


def _is_int_or_string(props: JsonObject) -> bool:
    """Whether anyOf is exactly integer or string."""
    given = props.get("anyOf", ())
    return len(given) == 2 and all(
        _says_only_type(claim, name) for claim, name in zip(given, ("integer", "string"), strict=True)
    )


def _says_only_type(props: JsonObject, name: str) -> bool:
    rest = {key for key, value in props.items() if key != "type" and (value or key not in _ZERO_IS_ABSENT)}
    extra: Any = props.get("additionalProperties")
    if extra is None or (extra.props is None and not extra.allows):
        rest.discard("additionalProperties")  # false has no meaning inside anyOf and the like
    if item_schema(props) is None:
        rest.discard("items")
    return props.get("type") == name and not rest - {"dependencies", "$ref"}


def _first_is_int_or_string(props: JsonObject) -> bool:
    given = props.get("allOf", ())
    return bool(given) and _is_int_or_string(given[0])


def _values(
    props: JsonObject, path: str, found: list[Finding], *, skip_any_of: bool = False, skip_first: bool = False
) -> None:
    """Check the value keywords of a node: anyOf and the like, and the pattern."""
    for key, index, child in _junctors(props):
        if key == "anyOf" and skip_any_of:
            continue
        where = f"{path}.{key}" if index is None else f"{path}.{key}[{index}]"
        _nested(child, where, found, skip_any_of=skip_first and key == "allOf" and index == 0)
    pattern = props.get("pattern")
    if pattern:
        try:
            compile_pattern(pattern)
        except GoRegexError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            found.append(invalid(_CHECK, f"{path}.pattern", pattern, detail))


def _junctors(props: JsonObject) -> Iterator[tuple[str, int | None, JsonObject]]:
    for key in ("anyOf", "allOf", "oneOf"):
        for index, child in enumerate(props.get(key, ())):
            yield key, index, child
    if "not" in props:
        yield "not", None, props["not"]


_FORBIDDEN_BELOW: Final = (
    ("type", "empty"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    (_PRESERVE, "false"),
    (_EMBEDDED, "false"),
    (_INT_OR_STRING, "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-validations", "empty"),
)
_UNDEFINED_BELOW: Final = ("default", "x-kubernetes-list-type", "x-kubernetes-map-type")


def _nested(props: JsonObject, path: str, found: list[Finding], *, skip_any_of: bool = False) -> None:
    _values(props, path, found, skip_any_of=skip_any_of)
    items = item_schema(props)
    if items is not None:
        _nested(items, f"{path}.items", found)
    properties = props.get("properties", {})
    for name, child in properties.items():
        _nested(child, f"{path}.properties[{name}]", found)
    found.extend(
        forbidden(_CHECK, f"{path}.{key}", f"must be {what} to be structural")
        for key, what in _FORBIDDEN_BELOW
        if props.get(key)
    )
    found.extend(
        forbidden(_CHECK, f"{path}.{key}", "must be undefined to be structural")
        for key in _UNDEFINED_BELOW
        if key in props
    )
    extra: Any = props.get("additionalProperties")
    if extra is not None and (extra.props is not None or extra.allows):
        found.append(forbidden(_CHECK, f"{path}.additionalProperties", "must be undefined to be structural"))
    if "metadata" in properties:
        found.append(forbidden(_CHECK, f"{path}.properties[metadata]", "must not be specified in a nested context"))


# -- completeness ------------------------------------------------------------------------------------------------------


def _complete(given: JsonObject, schema: JsonObject, path: str, from_path: str, found: list[Finding]) -> None:
    """Check that `schema` (at `path`) has everything that anyOf and the like of `given` (at `from_path`) refer to."""
    for key, index, child in _junctors(given):
        where = f"{from_path}.{key}" if index is None else f"{from_path}.{key}[{index}]"
        _complete_nested(child, schema, path, where, found)


def _complete_nested(
    given: JsonObject, schema: JsonObject | None, path: str, from_path: str, found: list[Finding]
) -> None:
    if schema is None:
        found.append(required(_CHECK, path, f"because it is defined in {from_path}"))
        return
    _complete(given, schema, path, from_path, found)
    items = item_schema(given)
    if items is not None:
        _complete_nested(items, item_schema(schema), f"{path}.items", f"{from_path}.items", found)
    properties = schema.get("properties", {})
    for name, child in given.get("properties", {}).items():
        below = f".properties[{name}]"
        _complete_nested(child, properties.get(name), path + below, from_path + below, found)
