"""Where two schemas differ: the places of both, and each keyword that is another.

`auditor.upgrade.schema_change` has where a schema is narrower. Here are the places, with the schemas of both, and the
differences that are not narrower: what they do is another question.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from auditor.crddiff.values import ITEMS, KEYS
from auditor.golang.jsontext import encode
from auditor.schema.structural import ABSENT, StructuralSchema
from auditor.upgrade.pairing import same_schema
from auditor.upgrade.schema_change import FIELD_REMOVED, OWN_FIELDS, below, schema_changes, schema_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.upgrade.schema_change import SchemaChange


FIELD_ADDED: Final = "field added"
DEFAULT: Final = "default"
LIST_TYPE: Final = "list type"
SCHEMA_REMOVED: Final = "schema removed"
_WALKED: Final = frozenset({"properties", "additional_properties", "items"})
_NAMES: Final = {
    "type": "type",
    "format": "format",
    "nullable": "nullable",
    "default": DEFAULT,
    "preserve_unknown_fields": "unknown fields kept",
    "embedded_resource": "embedded resource",
    "int_or_string": "type",
    "list_type": LIST_TYPE,
    "list_map_keys": LIST_TYPE,
    "map_type": "map type",
    "rules": "rules",
    "enum": "enum",
    "maximum": "maximum",
    "exclusive_maximum": "exclusiveMaximum",
    "minimum": "minimum",
    "exclusive_minimum": "exclusiveMinimum",
    "multiple_of": "multipleOf",
    "max_length": "maxLength",
    "min_length": "minLength",
    "pattern": "pattern",
    "max_items": "maxItems",
    "min_items": "minItems",
    "unique_items": "uniqueItems",
    "max_properties": "maxProperties",
    "min_properties": "minProperties",
    "required": "required",
    "all_of": "allOf",
    "any_of": "anyOf",
    "one_of": "oneOf",
    "not_": "not",
    "legacy": "legacy keywords",
}
_GROWING: Final = frozenset({"nullable", "unknown fields kept", "embedded resource"})
"""Keywords whose narrower direction has a name of its own in `schema_change`."""
_DEEPEST: Final = 64


@dataclass(frozen=True, slots=True)
class Position:
    """A place at which two schemas differ.

    Attributes:
        path: As `SchemaChange.path`.
        steps: The same in steps of `Maker.placed`.
        old: The schema before; None means there is none.
        new: The schema after; None means there is none.
    """

    path: str
    steps: tuple[str, ...]
    old: StructuralSchema | None
    new: StructuralSchema | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A keyword that differs at a place.

    Attributes:
        path: As `SchemaChange.path`.
        change: The keyword, or `FIELD_ADDED`.
        old: Its value before, as text; empty means there was none.
        new: The value after.
    """

    path: str
    change: str
    old: str = ""
    new: str = ""


def root_of(version: CrdVersion) -> StructuralSchema:
    """Return the schema of a version; a version without one keeps everything."""
    return version.structural or version.schema or StructuralSchema(preserve_unknown_fields=True)


def positions(before: CrdVersion, after: CrdVersion) -> dict[str, Position]:
    """Return the places at which the schemas of two versions differ, by path; those above them are places too."""
    return {position.path: position for position in _walk(root_of(before), root_of(after), "", (), {}, 0)}


def _walk(
    old: StructuralSchema,
    new: StructuralSchema,
    path: str,
    steps: tuple[str, ...],
    known: dict[tuple[int, int], bool],
    depth: int,
) -> Iterator[Position]:
    key = id(old), id(new)
    if key not in known:
        known[key] = same_schema(old, new)
    if known[key] or depth > _DEEPEST:
        return
    yield Position(path, steps, old, new)
    for name in {**old.properties, **new.properties}:
        children = old.properties.get(name), new.properties.get(name)
        yield from _child(*children, below(path, name), (*steps, name), known, depth)
    was, now = (schema_of(schema.additional_properties) for schema in (old, new))
    yield from _child(was, now, below(path, "*"), (*steps, KEYS), known, depth)
    yield from _child(old.items, new.items, f"{path}[*]", (*steps, ITEMS), known, depth)


def _child(
    old: StructuralSchema | None,
    new: StructuralSchema | None,
    path: str,
    steps: tuple[str, ...],
    known: dict[tuple[int, int], bool],
    depth: int,
) -> Iterator[Position]:
    if old is not None and new is not None:
        yield from _walk(old, new, path, steps, known, depth + 1)
    elif old is not None or new is not None:
        yield Position(path, steps, old, new)


def other_differences(places: dict[str, Position], narrowed: set[tuple[str, str]]) -> Iterator[Difference]:
    """Yield the differences that do not make a schema narrower.

    Args:
        places: From `positions`.
        narrowed: (path, keyword) of those that do.
    """
    for position in places.values():
        old, new, path = position.old, position.new, position.path
        if old is None and new is not None:
            yield Difference(path, FIELD_ADDED, "", _text(new, "type"))
            if new.default is not ABSENT:
                yield Difference(path, DEFAULT, "", encode(new.default))
        elif new is None and old is not None:
            if (path, FIELD_REMOVED) not in narrowed and path not in OWN_FIELDS:
                yield Difference(path, SCHEMA_REMOVED, _text(old, "type"))
        elif old is not None and new is not None:
            for name in dict.fromkeys(_differing(old, new)):
                if (path, name) not in narrowed:
                    yield from _of_keyword(path, name, old, new)


def _differing(old: StructuralSchema, new: StructuralSchema) -> Iterator[str]:
    for field in fields(StructuralSchema):
        if field.name not in _WALKED and not same_schema(getattr(old, field.name), getattr(new, field.name)):
            yield _NAMES[field.name]


def _of_keyword(path: str, name: str, old: StructuralSchema, new: StructuralSchema) -> Iterator[Difference]:
    """Yield what a keyword allows more; what it allows less is a narrower schema, under its own name."""
    if name == "required":
        gone = [each for each in old.required if each not in new.required]
        yield from (Difference(path, "no longer required", each) for each in gone)
    elif name == "rules":
        texts = {rule.rule for rule in new.rules}
        yield from (Difference(path, "rule removed", rule.rule) for rule in old.rules if rule.rule not in texts)
        known = {rule.rule: rule for rule in old.rules}
        for rule in new.rules:
            if rule.rule in known and rule != known[rule.rule]:
                is_optional = rule.optional_old_self != known[rule.rule].optional_old_self
                yield Difference(path, "rules" if is_optional else "rule message", "", rule.rule)
    elif name == LIST_TYPE and not old.list_map_keys and not new.list_map_keys:
        was, now = (_text(schema, name) for schema in (old, new))
        if (was or "atomic") != (now or "atomic"):
            yield Difference(path, name, was, now)
    elif name == "map type" and (old.map_type or "granular") == (new.map_type or "granular"):
        return
    elif not (name in _GROWING and _is_narrower(name, old, new)):
        yield Difference(path, name, _text(old, name), _text(new, name))


def _attribute(name: str) -> str:
    return next(key for key, shown in _NAMES.items() if shown == name)


def _is_narrower(name: str, old: StructuralSchema, new: StructuralSchema) -> bool:
    attribute = _attribute(name)
    grows = name != "embedded resource"
    return bool(getattr(old, attribute)) is grows and bool(getattr(new, attribute)) is not grows


def _text(schema: StructuralSchema, name: str) -> str:
    """Return the value of a keyword as text; empty if the schema has none."""
    value = getattr(schema, _attribute(name))
    if name == "type":
        return type_of(schema) or "any"
    if name == LIST_TYPE:
        return "" if value is None else value.value
    if value is None or value is ABSENT or value in ("", (), False):
        return ""
    if name in ("allOf", "anyOf", "oneOf"):
        return f"{len(value)} schemas"
    if name in ("not", "legacy keywords"):
        return "a schema"
    if name == "enum":
        return ", ".join(map(encode, value))
    return value if type(value) is str else encode(value)


def narrower(old: CustomResourceDefinition, new: CustomResourceDefinition) -> dict[str, list[SchemaChange]]:
    """Return the narrower places by name of the version in the new definition."""
    out: dict[str, list[SchemaChange]] = {}
    for change in schema_changes(old, new):
        for version in change.versions:
            out.setdefault(version, []).append(change)
    return out
