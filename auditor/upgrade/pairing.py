"""Whether two definitions read and judge an object alike, so that nothing needs to be compared.

Most definitions of a cluster do not change in an upgrade, and of those that do most versions stay as they are. Schemas
are compared as trees: the document of one may be in v1, that of the other in the form that servers store.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from auditor.ratcheting import deep_equal
from auditor.schema.structural import LegacyKeywords, StructuralSchema

if TYPE_CHECKING:
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


class Pairing:
    """An old and a new definition of one kind, and the versions at which their reads are compared.

    Args:
        old: The definition before.
        new: The definition after.
        old_version: Name of the version at which the object was judged under the old one.
        new_version: The same under the new one.

    Attributes:
        may_confuse: A default under one may be true or false where it is 1 or 0 under the other: Python takes them for
            equal, clients do not.
    """

    def __init__(
        self, old: CustomResourceDefinition, new: CustomResourceDefinition, old_version: str, new_version: str
    ) -> None:
        self.old = old
        self.new = new
        self.may_confuse = _may_confuse(old, new)
        self._same: dict[str | None, bool] = {}
        self._is_same_frame = (
            old_version == new_version
            and _frame(old) == _frame(new)
            and self._same_version(new_version)
            and self._same_version(_storage_name(new))
        )

    def is_same(self, stored_version: str | None) -> bool:
        """Return whether objects stored at a version are read and judged in the same way under both."""
        known = self._same.get(stored_version)
        if known is None:
            known = self._same[stored_version] = self._is_same_frame and self._same_version(stored_version)
        return known

    def _same_version(self, name: str | None) -> bool:
        before, after = (None if name is None else definition.versions.get(name) for definition in (self.old, self.new))
        if before is None or after is None:
            return before is after
        return same_version(before, after)


def same_version(one: CrdVersion, other: CrdVersion) -> bool:
    """Return whether objects are read and judged in the same way at two versions."""
    return one is other or (
        _traits(one) == _traits(other)
        and same_schema(one.schema, other.schema)
        and same_schema(one.structural, other.structural)
    )


def _storage_name(definition: CustomResourceDefinition) -> str | None:
    storage = definition.storage_version
    return None if storage is None else storage.name


def _frame(one: CustomResourceDefinition) -> tuple[Any, ...]:
    return (
        *(one.group, one.plural, one.kind, one.namespaced, one.conversion, one.preserve_unknown_fields),
        *(one.established, _storage_name(one)),
    )


def _traits(one: CrdVersion) -> tuple[Any, ...]:
    return one.has_status, one.scale, one.selectable_fields, one.unserved_reason


def _may_confuse(old: CustomResourceDefinition, new: CustomResourceDefinition) -> bool:
    before, after = _leaves(old), _leaves(new)
    return any(
        (bool in types and types - {bool})
        for types in (before[key] | after[key] for key in before.keys() & after.keys())
    )


def _leaves(definition: CustomResourceDefinition) -> dict[str, set[type]]:
    """Return the types of truth values and of 0 and 1 in defaults, by the last key above each."""
    leaves: dict[str, set[type]] = {}
    trees = {id(version.structural): version.structural for version in definition.versions.values()}
    todo: list[tuple[str, Any]] = [("", tree) for tree in trees.values() if tree is not None]
    while todo:
        key, value = todo.pop()
        if type(value) is StructuralSchema:
            todo += value.properties.items()
            todo += [(key, value.items), (key, value.additional_properties), (key, [value.default])]
        elif type(value) is dict:
            todo += value.items()
        elif type(value) is list:
            todo += [(key, item) for item in value]
        elif type(value) in (bool, int, float) and value in (0, 1):
            leaves.setdefault(key, set()).add(type(value))
    return leaves


_NAMES = tuple(field.name for field in fields(StructuralSchema))
_LEGACY_NAMES = tuple(field.name for field in fields(LegacyKeywords))


def same_schema(one: Any, other: Any) -> bool:
    """Whether two schemas, or parts of them, say the same; the order of properties counts for nothing."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) is StructuralSchema:
        return all(same_schema(getattr(one, name), getattr(other, name)) for name in _NAMES)
    if type(one) is LegacyKeywords:
        return all(same_schema(getattr(one, name), getattr(other, name)) for name in _LEGACY_NAMES)
    if type(one) is dict:
        return one.keys() == other.keys() and all(same_schema(child, other[key]) for key, child in one.items())
    if type(one) is tuple:
        return len(one) == len(other) and all(map(same_schema, one, other))
    return deep_equal(one, other) if type(one) is list else bool(one == other)
