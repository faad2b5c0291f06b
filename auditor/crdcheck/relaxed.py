"""The checks for a definition: all of them for a new one; for an update only those that the old one satisfied.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceDefinitionUpdate).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auditor.base.errors import NotStructural
from auditor.crdcheck import gojson
from auditor.crdcheck.conversion import ACCEPTED_REVIEWS, bundle_error
from auditor.crdcheck.gojson import canonical
from auditor.crdcheck.nested_schemas import everywhere, has_defaults, has_invalid_types
from auditor.crdcheck.openapi import WalkOptions, has_loose_keys, has_loose_sets
from auditor.crdcheck.parts import MAX_SELECTABLE
from auditor.crdcheck.structural import is_structural
from auditor.releases import changes
from auditor.schema.defaulting import prune_defaults
from auditor.schema.parse import build_schema

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crdcheck.internal import Internal


@dataclass(frozen=True, slots=True)
class Demands:
    """The checks for a definition.

    Attributes:
        schemas: All versions must have a schema.
        structural: Schemas must be structural.
        pruned_defaults: Defaults must not have unknown fields.
        known_review: One of the conversion review versions must be known.
        bundle: The CA bundle of a webhook must be usable; only once the definition is established.
        walk: The checks of the walk over schemas.
        old_rules, old_messages: Expressions of the old definition.
        unchanged: Versions whose schema is the old one; the cost of their rules is not limited.
        many_selectable: Versions (empty means the top) that may have too many selectable fields.
    """

    schemas: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    known_review: bool = True
    bundle: bool = False
    walk: WalkOptions = field(default_factory=WalkOptions)
    old_rules: frozenset[str] = frozenset()
    old_messages: frozenset[str] = frozenset()
    unchanged: frozenset[str] = frozenset()
    many_selectable: frozenset[str] = frozenset()


def demands_of_update(form: Internal, old: Internal) -> Demands:
    """Return the checks for an update of a definition."""
    schemas = old.schemas()
    nodes = [node for schema in schemas for node in everywhere(schema)]
    rules = [rule for node in nodes for rule in node.get("x-kubernetes-validations", ())]
    reviews = old.review_versions or ()
    return Demands(
        schemas=_all_have_schemas(old),
        structural=all(map(is_structural, schemas)),
        pruned_defaults=not any(map(_has_unpruned_defaults, schemas)),
        known_review=not reviews or any(name in ACCEPTED_REVIEWS for name in reviews),
        bundle=old.is_established() and not bundle_error((old.client or {}).get("caBundle", b"")),
        walk=WalkOptions(
            valid_types=not any(map(has_invalid_types, schemas)),
            atomic_sets=not any(map(has_loose_sets, nodes)),
            map_keys=not any(map(has_loose_keys, nodes)),
        ),
        old_rules=frozenset(rule.get("rule", "") for rule in rules),
        old_messages=frozenset(rule["messageExpression"] for rule in rules if rule.get("messageExpression")),
        unchanged=_unchanged(form, old),
        many_selectable=_many_selectable(form, old),
    )


def _all_have_schemas(form: Internal) -> bool:
    if form.validation is not None and "openAPIV3Schema" in form.validation:
        return True
    return all("openAPIV3Schema" in version.get("schema", {}) for version in form.versions)


def _schema_of(form: Internal, name: str) -> tuple[bool, JsonObject | None]:
    """Return whether there is a version with that name, and the holder of its schema."""
    for version in form.versions:
        if version.get("name", "") == name:
            own: JsonObject | None = version.get("schema")
            if any("schema" in version for version in form.versions):
                return True, own
            return True, form.validation
    return False, None


def _unchanged(form: Internal, old: Internal) -> frozenset[str]:
    same = set()
    for version in form.versions:
        name = version.get("name", "")
        was_there, before = _schema_of(old, name)
        if was_there:
            after = _schema_of(form, name)[1]
            if canonical(gojson.validation(after)) == canonical(gojson.validation(before)):
                same.add(name)
    return frozenset(same)


def _many_selectable(form: Internal, old: Internal) -> frozenset[str]:
    allowed: set[str] = set()
    if not changes.SELECTABLE_FIELDS_KEPT.holds:
        return frozenset(allowed)
    if _too_many_kept(form.selectable, old.selectable):
        allowed.add("")
    before = {version.get("name", ""): version for version in old.versions}
    for version in form.versions:
        name = version.get("name", "")
        if name in before and _too_many_kept(version.get("selectableFields"), before[name].get("selectableFields")):
            allowed.add(name)
    return frozenset(allowed)


def _too_many_kept(new: list[JsonObject] | None, old: list[JsonObject] | None) -> bool:
    kept = canonical(gojson.selectable(new)) == canonical(gojson.selectable(old))
    return kept and len(old or ()) > MAX_SELECTABLE


def _has_unpruned_defaults(schema: JsonObject) -> bool:
    if not has_defaults(schema) or not is_structural(schema):
        return False
    tree = build_schema(schema, as_sent=True)
    try:
        return prune_defaults(tree) is not tree
    except NotStructural:
        return False
