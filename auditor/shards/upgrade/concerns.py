"""Versions and subresources that an upgrade removes, and the clients that use them, by the managedFields of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from auditor.base.paths import plain_path
from auditor.schema.structural import ABSENT
from auditor.upgrade import NEW_TRANSITION, PathChange, schema_changes
from auditor.upgrade.changes import VERDICT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.crds.definition import CustomResourceDefinition


class Concerns(NamedTuple):
    """Changes of an upgrade that affect the clients of a kind.

    Attributes:
        versions: Versions that are no longer served, with the group.
        subresources: Subresources that are removed.
        transitions: Paths of new transition rules.
    """

    versions: dict[str, str]
    subresources: frozenset[str]
    transitions: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.versions or self.subresources or self.transitions)


def concerns_of(old: CustomResourceDefinition, new: CustomResourceDefinition) -> Concerns:
    """Return what the old definition offers to clients and the new one does not."""
    served = {version.name for version in new.served_versions}
    versions = {
        f"{old.group}/{version.name}": version.name for version in old.served_versions if version.name not in served
    }
    gone = set()
    for version in old.served_versions:
        after = new.versions.get(version.name)
        if after is not None and after.served:
            gone |= {"status"} if version.has_status and not after.has_status else set()
            gone |= {"scale"} if version.scale is not None and after.scale is None else set()
    rules = {change.path for change in schema_changes(old, new) if change.change == NEW_TRANSITION}
    return Concerns(versions, frozenset(gone), tuple(sorted(rules)))


def used_by(obj: Any, concerns: Concerns) -> Iterator[tuple[str, str]]:
    """Yield (removed version or subresource, manager that used it) from the managedFields of an object."""
    metadata = obj.get("metadata") if type(obj) is dict else None
    entries = metadata.get("managedFields") if type(metadata) is dict else None
    for entry in entries if type(entries) is list else ():
        if type(entry) is dict:
            manager, api = entry.get("manager"), entry.get("apiVersion")
            name = manager if type(manager) is str and manager else "unknown"
            if type(api) is str and api in concerns.versions:
                yield f"version {concerns.versions[api]}", name
            if entry.get("subresource") in concerns.subresources:
                yield f"subresource {entry['subresource']}", name


def hit_of(change: PathChange) -> tuple[str, str] | None:
    """Return the categories under which a change of an object is counted for the changes of the schema."""
    if change.change == VERDICT and change.path and change.old is ABSENT:
        return "invalid", plain_path(change.path)
    return ("lost", plain_path(change.path or "")) if change.is_loss else None
