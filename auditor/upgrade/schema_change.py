"""How a new schema is narrower than an old one: what writes that passed yesterday may fail on.

Only narrowing is listed, also where no object is concerned today: a later write, a restore or a re-creation is. What a
schema allows more, and what it merely describes in other words, is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.jsontext import encode
from auditor.schema.structural import StructuralSchema
from auditor.upgrade.pairing import same_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


FIELD_REMOVED: Final = "field removed"
UNKNOWN_PRUNED: Final = "unknown fields pruned"
NEW_TRANSITION: Final = "new transition rule"

_OLD_SELF: Final = re.compile(r"\boldSelf\b")
_UPPER: Final = (("maximum", "maximum"), ("max_length", "maxLength"), ("max_items", "maxItems"),
                 ("max_properties", "maxProperties"))  # fmt: skip
_LOWER: Final = (("minimum", "minimum"), ("min_length", "minLength"), ("min_items", "minItems"),
                 ("min_properties", "minProperties"))  # fmt: skip
_WIDER: Final = frozenset({("integer", "number")})
_DEEPEST: Final = 64


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One place at which a schema got narrower.

    Attributes:
        versions: Names of the versions, in the new definition.
        path: Dotted; ``[*]`` for items, ``*`` for the keys of a map; empty means the object itself.
        change: What changed, e.g. ``pattern``.
        old: The old constraint as text; empty means there was none.
        new: The new one; empty means there is none.
        finding: Where findings of it are reported; differs from the path for required fields and ``fieldPath``.
    """

    versions: tuple[str, ...]
    path: str
    change: str
    old: str = ""
    new: str = ""
    finding: str = ""


_Key = tuple[str, str, str, str, str]


def schema_changes(old: CustomResourceDefinition, new: CustomResourceDefinition) -> tuple[SchemaChange, ...]:
    """Return where the new schemas are narrower: version by version, the storage versions also if their names differ.

    A version that only the new definition has is compared with the old storage version: if it is the new storage
    version, or if it is served and no webhook converts to it.
    """
    texts: dict[_Key, list[str]] = {}
    storage = old.storage_version
    is_plain = new.conversion != "Webhook"
    for name, after in new.versions.items():
        before = old.versions.get(name) or (storage if after.storage or (after.served and is_plain) else None)
        if before is None:
            continue
        for key in dict.fromkeys(_of_version(before, after)):
            texts.setdefault(key, []).append(name)
    return tuple(
        SchemaChange(tuple(versions), path, change, was, now, finding)
        for (path, change, was, now, finding), versions in sorted(texts.items())
    )


def _of_version(before: CrdVersion, after: CrdVersion) -> Iterator[_Key]:
    if before.structural is not None or after.structural is None:
        yield from _narrower(before.structural or before.schema, after.structural or after.schema, "", 0)
    else:  # a definition without a structural schema prunes nothing
        yield from _narrower(before.schema or StructuralSchema(preserve_unknown_fields=True), after.structural, "", 0)


def _narrower(old: StructuralSchema | None, new: StructuralSchema | None, path: str, depth: int) -> Iterator[_Key]:
    if old is None or new is None or old is new or depth > _DEEPEST:
        return
    yield from _types(old, new, path)
    yield from _bounds(old, new, path)
    yield from _texts(old, new, path)
    for name in new.required:
        if name not in old.required:
            yield path, "now required", "", name, _below(path, name)
    yield from _rules(old, new, path)
    yield from _lists(old, new, path)
    yield from _composites(old, new, path)
    yield from _children(old, new, path, depth)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _types(old: StructuralSchema, new: StructuralSchema, path: str) -> Iterator[_Key]:
    was, now = _type(old), _type(new)
    if was != now and now and now != "int-or-string" and (was, now) not in _WIDER:
        yield path, "type", was or "any", now, path
    if old.nullable and not new.nullable:
        yield path, "null no longer allowed", "", "", path


def _type(one: StructuralSchema) -> str:
    return "int-or-string" if one.int_or_string else one.type


def _bounds(old: StructuralSchema, new: StructuralSchema, path: str) -> Iterator[_Key]:
    for attribute, name in _UPPER:
        was, now = getattr(old, attribute), getattr(new, attribute)
        if now is not None and (was is None or now < was):
            yield path, name, _text(was), _text(now), path
    for attribute, name in _LOWER:
        was, now = getattr(old, attribute), getattr(new, attribute)
        if now is not None and (now > was if was is not None else now > 0 or name == "minimum"):
            yield path, name, _text(was), _text(now), path
    for attribute, name in (("exclusive_maximum", "exclusiveMaximum"), ("exclusive_minimum", "exclusiveMinimum"),
                            ("unique_items", "uniqueItems")):  # fmt: skip
        if getattr(new, attribute) and not getattr(old, attribute):
            yield path, name, "", "true", path
    if new.multiple_of is not None and new.multiple_of != old.multiple_of:
        yield path, "multipleOf", _text(old.multiple_of), _text(new.multiple_of), path


def _texts(old: StructuralSchema, new: StructuralSchema, path: str) -> Iterator[_Key]:
    for name in ("pattern", "format"):
        was, now = getattr(old, name), getattr(new, name)
        if now and now != was:
            yield path, name, was, now, path
    if new.enum is not None:
        gone = [] if old.enum is None else [encode(value) for value in old.enum if value not in new.enum]
        if old.enum is None:
            yield path, "enum", "", ", ".join(encode(value) for value in new.enum), path
        elif gone:
            yield path, "enum", ", ".join(gone), "no longer allowed", path


def _text(value: Any) -> str:
    return "" if value is None else encode(value)


def _rules(old: StructuralSchema, new: StructuralSchema, path: str) -> Iterator[_Key]:
    known = {rule.rule for rule in old.rules}
    for rule in new.rules:
        if rule.rule not in known:
            change = NEW_TRANSITION if _OLD_SELF.search(rule.rule) else "new rule"
            yield path, change, "", rule.rule, f"{path}{rule.field_path}".removeprefix(".")


def _lists(old: StructuralSchema, new: StructuralSchema, path: str) -> Iterator[_Key]:
    was, now = (_list_type(schema) for schema in (old, new))
    if was != now:
        yield path, "list type", was, now, path
    if old.map_type != new.map_type and "atomic" in (old.map_type, new.map_type):
        yield path, "map type", old.map_type or "granular", new.map_type or "granular", path


def _list_type(one: StructuralSchema) -> str:
    if one.list_type is None:
        return "atomic" if one.items is not None else ""
    keys = f" ({', '.join(one.list_map_keys)})" if one.list_map_keys else ""
    return f"{one.list_type.value}{keys}"


def _composites(old: StructuralSchema, new: StructuralSchema, path: str) -> Iterator[_Key]:
    for attribute, name in (("all_of", "allOf"), ("any_of", "anyOf"), ("one_of", "oneOf")):
        was, now = getattr(old, attribute), getattr(new, attribute)
        if now and not same_schema(was, now):
            yield path, name, f"{len(was)} schemas" if was else "", f"{len(now)} schemas", path
    if new.not_ is not None and not same_schema(old.not_, new.not_):
        yield path, "not", "", "", path


def _keeps_unknown(one: StructuralSchema) -> bool:
    return one.preserve_unknown_fields or one.additional_properties is True


def _children(old: StructuralSchema, new: StructuralSchema, path: str, depth: int) -> Iterator[_Key]:
    is_map = isinstance(new.additional_properties, StructuralSchema)
    for name, child in old.properties.items():
        if name in new.properties:
            yield from _narrower(child, new.properties[name], _below(path, name), depth + 1)
        elif is_map:
            yield from _narrower(child, _node(new.additional_properties), _below(path, name), depth + 1)
        elif not _keeps_unknown(new) and (path or name not in ("apiVersion", "kind", "metadata")):
            yield _below(path, name), FIELD_REMOVED, child.type or "any", "", _below(path, name)
    if _keeps_unknown(old) and not _keeps_unknown(new):
        anything = StructuralSchema(preserve_unknown_fields=True)
        for name, child in new.properties.items():
            if name not in old.properties:
                yield from _narrower(anything, child, _below(path, name), depth + 1)
        if not is_map and (new.type in ("", "object")):
            yield path, UNKNOWN_PRUNED, "", "", _below(path, "*")
    values, other = _node(old.additional_properties), _node(new.additional_properties)
    if values is not None and other is None and not _keeps_unknown(new):
        yield path, FIELD_REMOVED, "map of keys", "", _below(path, "*")
    yield from _narrower(values, other, _below(path, "*"), depth + 1)
    yield from _narrower(old.items, new.items, f"{path}[*]", depth + 1)


def _node(one: StructuralSchema | bool | None) -> StructuralSchema | None:
    return one if isinstance(one, StructuralSchema) else None


# -- objects that a change concerns -----------------------------------------------------------------------------------


def hits_of(change: SchemaChange, hits: Mapping[tuple[str, str], int], objects: int) -> int:
    """Return the number of objects that a change concerns today.

    Args:
        change: The change of the schema.
        hits: Number of objects by (``lost``, ``invalid`` or ``has``, plain path).
        objects: Number of all objects.
    """
    wanted = {FIELD_REMOVED: "lost", UNKNOWN_PRUNED: "lost", NEW_TRANSITION: "has"}.get(change.change, "invalid")
    where = change.path if wanted == "has" else change.finding
    pattern = _pattern(where, below=wanted == "lost", items=change.change == "list type")
    total = sum(count for (kind, path), count in hits.items() if kind == wanted and pattern.fullmatch(path))
    return min(total, objects)


def _pattern(path: str, *, below: bool, items: bool) -> re.Pattern[str]:
    """Return what matches the plain paths of findings at the path of a change; keys of maps may hold dots."""
    if not path:
        return re.compile("|<nil>")
    parts = [
        {"[*]": r"\[\*\]", "*": ".+"}.get(part) or re.escape(part) for part in re.split(r"(\[\*\]|\*)", path) if part
    ]
    return re.compile("".join(parts) + (r"([.\[].*)?" if below else r"(\[\*\])?" if items else ""))


_STEP: Final = re.compile(r"\[\*\]|[^.\[\]]+")


def has_value(value: Any, path: str) -> bool:
    """Return whether an object has a value (other than null) at the path of a change."""
    return _has(value, _STEP.findall(path))


def _has(value: Any, steps: Sequence[str]) -> bool:
    if not steps:
        return value is not None
    first, rest = steps[0], steps[1:]
    if first == "[*]":
        return type(value) is list and any(_has(item, rest) for item in value)
    if type(value) is not dict:
        return False
    if first == "*":
        return any(_has(member, rest) for member in value.values())
    return first in value and _has(value[first], rest)
