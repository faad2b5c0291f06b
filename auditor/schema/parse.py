"""Parses JSONSchemaProps into the schema tree; `check_structural` says whether a server can prune by it.

Parsing checks only types: every schema that a server may have stored has a tree. `check_structural` is the conversion
that a server does before it serves a version (NewStructural); `auditor.crdcheck` has the checks of new definitions.

Source: apiextensions-apiserver pkg/apis/apiextensions/v1/{types_jsonschema,marshal,conversion}.go,
pkg/apiserver/schema/convert.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import NotStructural, SchemaError
from auditor.base.quick_init import quick_init
from auditor.golang.jsontext import decode, encode
from auditor.schema.structural import LegacyKeywords, ListType, Rule, StructuralSchema
from auditor.schema.typed import (
    BOOL,
    FLOAT64,
    INT64,
    RAW,
    STRING,
    GoKind,
    GoType,
    GoTypeError,
    TypedDecoder,
    decode_typed,
    list_of,
    map_of,
    named_string,
    struct,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject

    _Build = Callable[[JsonObject], StructuralSchema]


@dataclass(frozen=True, slots=True)
class _OrBool:
    """`additionalProperties`: a schema (decoded props), or whether any value is allowed."""

    props: JsonObject | None
    allows: bool


@quick_init
@dataclass(frozen=True, slots=True)
class _OrList:
    """`items`: a schema, a list of schemas, or nothing (any other value). `dependencies`: a schema or names."""

    props: JsonObject | None
    many: tuple[Any, ...] = ()


@lru_cache(maxsize=2)
def schema_type(package: str = "v1") -> GoType:
    """Return the Go type of JSONSchemaProps in one version of the API (``v1`` or ``v1beta1``).

    Decoded with it, `additionalProperties`, `items` and `dependencies` are records that only this module reads.
    """
    props = struct(f"{package}.JSONSchemaProps")

    def or_bool(decoder: TypedDecoder, value: Any) -> _OrBool:
        if type(value) is dict:
            return _OrBool(decoder.nested(value, props), allows=True)
        if type(value) is bool:
            return _OrBool(None, allows=value)
        raise GoTypeError("boolean or JSON schema expected")

    def or_list(decoder: TypedDecoder, value: Any) -> _OrList:
        if type(value) is dict:
            return _OrList(decoder.nested(value, props))
        return _OrList(None, tuple(decoder.nested(value, list_of(props))) if type(value) is list else ())

    def or_names(decoder: TypedDecoder, value: Any) -> _OrList:
        if type(value) is dict:
            return _OrList(decoder.nested(value, props))
        return _OrList(None, tuple(decoder.nested(value, list_of(STRING))) if type(value) is list else ())

    bool_type = GoType(f"{package}.JSONSchemaPropsOrBool", GoKind.CUSTOM, read=or_bool)
    list_type = GoType(f"{package}.JSONSchemaPropsOrArray", GoKind.CUSTOM, read=or_list)
    names_type = GoType(
        f"{package}.JSONSchemaPropsOrStringArray", GoKind.CUSTOM, read=or_names, zero=lambda: _OrList(None)
    )
    rule = struct(
        f"{package}.ValidationRule",
        {
            **dict.fromkeys(("rule", "message", "messageExpression", "fieldPath"), STRING),
            "reason": named_string(f"{package}.FieldValueErrorReason"),
            "optionalOldSelf": BOOL,
        },
    )
    props.fields.update(
        {
            **dict.fromkeys(("id", "$ref", "description", "type", "format", "title", "pattern"), STRING),
            **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), STRING),
            "$schema": named_string(f"{package}.JSONSchemaURL"),
            **dict.fromkeys(("maximum", "minimum", "multipleOf"), FLOAT64),
            **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"), BOOL),
            "x-kubernetes-preserve-unknown-fields": BOOL,
            "x-kubernetes-embedded-resource": BOOL,
            "x-kubernetes-int-or-string": BOOL,
            **dict.fromkeys(
                ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), INT64
            ),
            **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), list_of(STRING)),
            **dict.fromkeys(("default", "example"), RAW),
            "enum": GoType(f"[]{package}.JSON", GoKind.LIST, element=RAW),
            **dict.fromkeys(("allOf", "oneOf", "anyOf"), list_of(props)),
            "not": props,
            **dict.fromkeys(("properties", "patternProperties"), map_of(props)),
            "definitions": map_of(props, f"{package}.JSONSchemaDefinitions"),
            "dependencies": map_of(names_type, f"{package}.JSONSchemaDependencies"),
            "additionalProperties": bool_type,
            "additionalItems": bool_type,
            "items": list_type,
            "externalDocs": struct(f"{package}.ExternalDocumentation", {"description": STRING, "url": STRING}),
            "x-kubernetes-validations": GoType(f"{package}.ValidationRules", GoKind.LIST, element=rule),
        }
    )
    return props


def parse_schema(props: JsonObject) -> StructuralSchema:
    """Return the tree of a schema, structural or not.

    Raises:
        SchemaError: A keyword has a value of the wrong type; no server could have decoded it.
    """
    return build_schema(_decode(props))


def check_structural(props: JsonObject) -> None:
    """Check that a schema converts to a structural one, as a server does before it serves a version.

    Raises:
        NotStructural: With the path of the node below the root, and upstream's text.
        SchemaError: As `parse_schema`.
    Source: apiextensions-apiserver pkg/apiserver/schema/convert.go (NewStructural).
    """
    check_convertible(_decode(props))


def _decode(props: JsonObject) -> JsonObject:
    try:
        decoded: JsonObject = decode_typed(props, schema_type())
    except GoTypeError as error:
        raise SchemaError("openAPIV3Schema", str(error)) from None
    return decoded


_BY_TEXT: Final = ("default", "enum", "maximum", "minimum", "multiple_of")
"""Values of any type, or of both kinds of numbers: 1 and 1.0 are equal, but their texts are not."""
_TEXTS: Final = attrgetter(*_BY_TEXT)
_REST: Final = attrgetter(*(name for name in StructuralSchema.__slots__ if name not in {"properties", *_BY_TEXT}))


def build_schema(
    decoded: JsonObject, *, as_sent: bool = False, known: dict[Any, StructuralSchema] | None = None
) -> StructuralSchema:
    """Return the schema tree of props that were decoded with `schema_type`.

    Args:
        decoded: The props.
        as_sent: A default of 1.0 is a float, as in the request that creates a definition. After the server has stored
            the definition, and when it reads objects, the default is the integer 1.
        known: The nodes so far, by content. Equal positions share one node, so that code for it is generated once; a
            fifth of a large definition repeats another part of it. None gives each position its own node.
    """
    if known is None:
        return _node(decoded, as_sent=as_sent, known=None)
    if (plain := _plain_key(decoded)) is not None:
        if (type_ := known.get(plain)) is not None:
            return type_
        node = known[plain] = _merged(_node(decoded, as_sent=as_sent, known=known), known)
        return node
    return _merged(_node(decoded, as_sent=as_sent, known=known), known)


_PLAIN: Final = (
    *("type", "format", "pattern", "nullable", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
    *("minProperties", "maxProperties", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-list-type", "x-kubernetes-map-type"),
)
"""Keywords whose values are strings, booleans or integers: equal values mean the same."""
_PLAIN_NAMES: Final = frozenset((*_PLAIN, "description", "title", "example", "externalDocs"))
"""These keywords, and keywords that no node has."""


def _plain_key(decoded: JsonObject) -> tuple[Any, ...] | None:
    """Return the content of a node without children, or None if it has other keywords; most nodes are plain."""
    return tuple(map(decoded.get, _PLAIN)) if _PLAIN_NAMES.issuperset(decoded) else None


def _merged(node: StructuralSchema, known: dict[Any, StructuralSchema]) -> StructuralSchema:
    """Return the known node with the same content, or this one after adding it to the known ones."""
    # The children of a node are shared already, and compared by identity.
    return known.setdefault((_REST(node), tuple(node.properties.items()), repr(_TEXTS(node))), node)


def _node(decoded: JsonObject, *, as_sent: bool, known: dict[Any, StructuralSchema] | None) -> StructuralSchema:
    kept = _as_sent if as_sent else _as_kept
    build = partial(build_schema, as_sent=as_sent, known=known)
    fields: dict[str, Any] = {}
    for key, value in decoded.items():
        if (name := _SAME.get(key)) is not None:
            fields[name] = value
        elif (name := _LISTS.get(key)) is not None:
            fields[name] = tuple(value)
        elif (name := _JUNCTORS.get(key)) is not None:
            fields[name] = tuple(map(build, value))
        elif key == "properties":
            fields[key] = {child: build(props) for child, props in value.items()}
        elif key == "items":
            fields[key] = build(value.props) if value.props is not None else None
        elif key == "additionalProperties":
            fields["additional_properties"] = _bool_or_node(value, build)
        elif key == "x-kubernetes-list-type":
            fields["list_type"] = ListType(value) if value in ("atomic", "set", "map") else None
        elif key == "x-kubernetes-validations":
            fields["rules"] = tuple(map(_rule, value))
        elif key == "enum":
            fields[key] = tuple(map(kept, value))
        elif key == "default":
            fields[key] = kept(value)
        elif key == "not":
            fields["not_"] = build(value)
    return StructuralSchema(**fields, legacy=_legacy(decoded, build))


_SAME: Final = {
    **{name: name for name in ("type", "format", "nullable", "maximum", "minimum", "pattern")},
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown_fields",
    "x-kubernetes-embedded-resource": "embedded_resource",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-map-type": "map_type",
    "exclusiveMaximum": "exclusive_maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "multipleOf": "multiple_of",
    "maxLength": "max_length",
    "minLength": "min_length",
    "maxItems": "max_items",
    "minItems": "min_items",
    "uniqueItems": "unique_items",
    "maxProperties": "max_properties",
    "minProperties": "min_properties",
}
"""Keywords whose values a node has as they are."""
_LISTS: Final = {"required": "required", "x-kubernetes-list-map-keys": "list_map_keys"}
_JUNCTORS: Final = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of"}


def _as_kept(value: Any) -> Any:
    """Return a value as a server has it after storing it: 100.0 became 100, an integer.

    An integer beyond 64 bits, as Python's own decoder makes them, is a float.
    """
    return decode(encode(value).encode()) if _changes(value) else value


def _as_sent(value: Any) -> Any:
    """Return a value as a server decodes it from a request."""
    if type(value) is dict:
        return {key: _as_sent(child) for key, child in value.items()}
    if type(value) is list:
        return list(map(_as_sent, value))
    return float(value) if type(value) is int and not -(2**63) <= value < 2**63 else value


def _changes(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_changes, value.values()))
    if type(value) is list:
        return any(map(_changes, value))
    return type(value) is float or (type(value) is int and not -(2**63) <= value < 2**63)


def _bool_or_node(given: _OrBool | None, build: _Build) -> StructuralSchema | bool | None:
    if given is None:
        return None
    return given.allows if given.props is None else build(given.props)


def _rule(decoded: JsonObject) -> Rule:
    take = decoded.get
    return Rule(
        rule=take("rule", ""),
        message=take("message", ""),
        message_expression=take("messageExpression", ""),
        reason=take("reason", ""),
        field_path=take("fieldPath", ""),
        optional_old_self=take("optionalOldSelf", False),
    )


_LEGACY = ("additionalItems", "patternProperties", "dependencies", "definitions", "$ref")


def _legacy(decoded: JsonObject, build: _Build) -> LegacyKeywords | None:
    items: _OrList | None = decoded.get("items")
    many = items.many if items is not None else ()
    if not many and not any(key in decoded for key in _LEGACY):
        return None
    take = decoded.get
    return LegacyKeywords(
        items=tuple(map(build, many)),
        additional_items=_bool_or_node(take("additionalItems"), build),
        pattern_properties={name: build(child) for name, child in take("patternProperties", {}).items()},
        dependencies={
            name: build(given.props) if given.props is not None else given.many
            for name, given in take("dependencies", {}).items()
        },
        definitions={name: build(child) for name, child in take("definitions", {}).items()},
        ref=take("$ref", ""),
    )


def _refuse_unsupported(decoded: JsonObject, where: str) -> None:
    for key, shown in (
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("definitions", "definitions"),
    ):
        if decoded.get(key):
            raise NotStructural(where, f"OpenAPIV3Schema '{shown}' is not supported")
        if key == "dependencies" and "additionalItems" in decoded:
            raise NotStructural(where, "OpenAPIV3Schema 'additionalItems' is not supported")


_REFUSED: Final = frozenset(
    ("id", "$schema", "$ref", "patternProperties", "dependencies", "definitions", "additionalItems")
)
_HARMLESS: Final = _PLAIN_NAMES - {"x-kubernetes-preserve-unknown-fields"} | {"default", "enum", "minimum", "maximum"}
"""Keywords that `check_convertible` accepts; it does not look below them."""


def check_convertible(decoded: JsonObject, where: str = "") -> None:
    """Do `check_structural` for props that were decoded with `schema_type`, in upstream's order of checks."""
    if _HARMLESS.issuperset(decoded):
        return
    if not _REFUSED.isdisjoint(decoded):
        _refuse_unsupported(decoded, where)
    if "not" in decoded:
        check_convertible(decoded["not"], f"{where}.not")
    for key in ("allOf", "anyOf", "oneOf"):
        for index, child in enumerate(decoded.get(key, ())):
            check_convertible(child, f"{where}.{key}[{index}]")
    if decoded.get("x-kubernetes-preserve-unknown-fields") is False:
        raise NotStructural(where, "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
    items: _OrList | None = decoded.get("items")
    if items is not None and items.many:
        raise NotStructural(where, "OpenAPIV3Schema 'items' must be a schema, but is an array")
    if items is not None and items.props is not None:
        check_convertible(items.props, f"{where}.items")
    for name, child in decoded.get("properties", {}).items():
        check_convertible(child, f"{where}.properties[{name}]")
    additional: _OrBool | None = decoded.get("additionalProperties")
    if additional is not None and additional.props is not None:
        check_convertible(additional.props, f"{where}.additionalProperties")
