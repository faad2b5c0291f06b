"""How a new schema is narrower than an old one: what writes that passed yesterday may fail on.

Only narrowing is listed, also where no object is concerned today: a later write, a restore or a re-creation is. What a
schema allows more, and what it merely describes in other words, is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.paths import plain_path
from auditor.golang.jsontext import encode
from auditor.schema.structural import StructuralSchema
from auditor.upgrade.pairing import same_schema
from auditor.validation.field_errors import INVALID, NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.base.records import Finding
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


FIELD_REMOVED: Final = "field removed"
UNKNOWN_PRUNED: Final = "unknown fields pruned"
NEW_TRANSITION: Final = "new transition rule"
NO_NULL: Final = "null no longer allowed"
EMBEDDED: Final = "now an embedded resource"

_OLD_SELF: Final = re.compile(r"\boldSelf\b")
_UPPER: Final = (("maximum", "maximum"), ("max_length", "maxLength"), ("max_items", "maxItems"),
                 ("max_properties", "maxProperties"))  # fmt: skip
_LOWER: Final = (("minimum", "minimum"), ("min_length", "minLength"), ("min_items", "minItems"),
                 ("min_properties", "minProperties"))  # fmt: skip
INT_OR_STRING: Final = "int-or-string"
_WIDER: Final = frozenset({("integer", "number"), ("integer", INT_OR_STRING), ("string", INT_OR_STRING)})
_DEEPEST: Final = 64
OWN_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields of every object, which no schema removes."""


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


def dropped_paths(before: CrdVersion, after: CrdVersion) -> set[str]:
    """Return the plain paths of values that objects can have at one version, and that a read at another drops."""
    drops = (FIELD_REMOVED, UNKNOWN_PRUNED, NO_NULL)
    return {finding for _, change, _, _, finding in _of_version(before, after) if change in drops}


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
            yield path, "now required", "", name, below(path, name)
    yield from _rules(old, new, path)
    yield from _lists(old, new, path)
    yield from _composites(old, new, path)
    yield from _children(old, new, path, depth)


def below(path: str, name: str) -> str:
    """Return the path of a field of what is at a path."""
    return f"{path}.{name}" if path else name


def _types(old: StructuralSchema, new: StructuralSchema, path: str) -> Iterator[_Key]:
    was, now = type_of(old), type_of(new)
    if was != now and now and (was, now) not in _WIDER:
        yield path, "type", was or "any", now, path
    if old.nullable and not new.nullable:
        yield path, NO_NULL, "", "", path
    if new.embedded_resource and not old.embedded_resource:
        yield path, EMBEDDED, "", "", path


def type_of(one: StructuralSchema) -> str:
    """Return the type that a schema allows; empty if it allows any."""
    return INT_OR_STRING if one.int_or_string else one.type


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
            yield from _narrower(child, new.properties[name], below(path, name), depth + 1)
        elif is_map:
            yield from _narrower(child, schema_of(new.additional_properties), below(path, name), depth + 1)
        elif not _keeps_unknown(new) and (path or name not in OWN_FIELDS):
            yield below(path, name), FIELD_REMOVED, child.type or "any", "", below(path, name)
    values, other = schema_of(old.additional_properties), schema_of(new.additional_properties)
    before = StructuralSchema(preserve_unknown_fields=True) if _keeps_unknown(old) else values
    for name, child in new.properties.items():
        if name not in old.properties and path:
            yield from _narrower(before, child, below(path, name), depth + 1)
        elif name not in old.properties:
            yield from _narrower(_of_every_object(child) if name in OWN_FIELDS else before, child, name, depth + 1)
    if _keeps_unknown(old) and not _keeps_unknown(new) and not is_map and new.type in ("", "object"):
        yield path, UNKNOWN_PRUNED, "", "", below(path, "*")
    if values is not None and other is None and not _keeps_unknown(new):
        yield path, FIELD_REMOVED, "map of keys", "", below(path, "*")
    yield from _narrower(before, other, below(path, "*"), depth + 1)
    yield from _narrower(old.items, new.items, f"{path}[*]", depth + 1)


def _of_every_object(one: StructuralSchema) -> StructuralSchema:
    """Return the schema that apiVersion, kind or metadata have where a definition has no schema for them."""
    known = {name: StructuralSchema(type=child.type) for name, child in one.properties.items()}
    return StructuralSchema(type=one.type, properties=known)


def schema_of(one: StructuralSchema | bool | None) -> StructuralSchema | None:
    """Return the value of `additional_properties` if it is a schema, else None."""
    return one if isinstance(one, StructuralSchema) else None


# -- objects that a change concerns -----------------------------------------------------------------------------------


_COMPLAINTS: Final[dict[str, tuple[str, str]]] = {
    "type": (TYPE_INVALID, "of type "),
    "enum": (NOT_SUPPORTED, ""),
    "required": (REQUIRED, ""),
    "maxLength": (TOO_LONG, ""),
    "maxItems": (TOO_MANY, ""),
    "minLength": (INVALID, " chars long"),
    "minItems": (INVALID, " items"),
    "minProperties": (INVALID, " properties"),
    "uniqueItems": (INVALID, "shouldn't contain duplicates"),
    "pattern": (INVALID, " should match "),
    "multipleOf": (INVALID, "a multiple of "),
    "maximum": (INVALID, " should be less than "),
    "minimum": (INVALID, " should be greater than "),
    **{name: (INVALID, f"({name})") for name in ("allOf", "anyOf", "oneOf", "not")},
}
"""Keywords of the schema by the type of their findings and words that only their texts have."""
_KEYWORDS: Final = {
    "now required": "required",
    NO_NULL: "type",
    "format": "type",
    "maxProperties": "maxItems",
    "exclusiveMaximum": "maximum",
    "exclusiveMinimum": "minimum",
    "list type": "list-type",
    EMBEDDED: "embedded",
    "new rule": "rule",
    NEW_TRANSITION: "rule",
}
"""Keywords whose findings a change brings, where it has another name."""


class Complaint(NamedTuple):
    """What a finding says of the schema.

    Attributes:
        path: The plain path of the place; of a composite keyword (a finding at ``<nil>``) that which its text names.
        keyword: The keyword that the value breaks, or the check that is no keyword's; empty: a text of no keyword.
        rule: The rule that fails.
    """

    path: str
    keyword: str
    rule: str | None


def complaint_of(finding: Finding) -> Complaint:
    """Return the place and the keyword of the schema that a finding is about."""
    keyword = finding.check
    if keyword == "schema":
        keyword = next(
            (name for name, (type_, words) in _COMPLAINTS.items() if finding.type == type_ and words in finding.detail),
            "",
        )
    return Complaint(plain_path(place_of(finding)), keyword, finding.rule)


def place_of(finding: Finding) -> str:
    """Return the path that a finding is about: its field, or where it has none (``<nil>``) the one in its text."""
    if finding.field == "<nil>" and finding.detail.startswith('"') and (end := finding.detail.rfind('" must ')) > 0:
        return finding.detail[1:end]
    return finding.field


def concerned_changes(
    changes: Iterable[SchemaChange],
    version: str | None,
    old: Iterable[Finding],
    new: Iterable[Finding],
    lost: Iterable[str],
) -> Iterator[SchemaChange]:
    """Yield the changes of a schema that an object breaks, or by which it loses values, and did not before.

    Args:
        changes: What got narrower.
        version: The version that the object was judged at.
        old: Findings under the old definition.
        new: Findings under the new one.
        lost: Plain paths of stored values that go.
    """
    known = {complaint_of(finding) for finding in old}
    broken = [(complaint, finding.detail) for finding in new if (complaint := complaint_of(finding)) not in known]
    gone = list(lost)
    for change in changes:
        if version not in change.versions or change.change == NEW_TRANSITION:
            continue
        is_removed = change.change in (FIELD_REMOVED, UNKNOWN_PRUNED)
        pattern = _pattern(change.path, below=is_removed)
        drops = is_removed or change.change == NO_NULL
        if (drops and any(map(pattern.fullmatch, gone))) or (
            not is_removed and any(_brings(change, complaint, detail) for complaint, detail in broken)
        ):
            yield change


def _brings(change: SchemaChange, complaint: Complaint, detail: str) -> bool:
    name = change.change
    if complaint.keyword != _KEYWORDS.get(name, name):
        return False
    if name == "new rule":
        return complaint.rule == change.new
    if name in ("type", "format"):
        wanted = f"of type {'integer,string' if change.new == INT_OR_STRING else change.new}:" in detail
    elif name == NO_NULL:
        wanted = detail.endswith('"null"')
    else:
        wanted = not name.startswith("exclusive") or " or equal " not in detail
    return wanted and bool(_pattern(change.finding, below=name in ("list type", EMBEDDED)).fullmatch(complaint.path))


@cache
def _pattern(path: str, *, below: bool) -> re.Pattern[str]:
    """Return what matches the plain paths of findings at the path of a change; keys of maps may hold dots."""
    if not path:
        return re.compile(".*" if below else "|<nil>")
    steps = {"[*]": r"\[\*\]", ".*": r"(\..+|\[.+\])", "*": ".+"}
    parts = [steps.get(part) or re.escape(part) for part in re.split(r"(\[\*\]|\.?\*)", path) if part]
    return re.compile("".join(parts) + (r"([.\[].*)?" if below else ""))


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
