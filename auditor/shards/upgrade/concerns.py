"""Versions and subresources that an upgrade removes, and the clients that use them, by the managedFields of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from auditor.upgrade import NEW_TRANSITION, schema_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.upgrade import SchemaChange


class Concerns(NamedTuple):
    """Changes of an upgrade that affect the clients of a kind.

    Attributes:
        versions: Versions that are no longer served, with the group.
        subresources: Subresources that are removed.
        narrowed: Where the schemas are narrower.
        transitions: New rules among these that compare a value with its old one.
    """

    versions: dict[str, str]
    subresources: frozenset[str]
    narrowed: tuple[SchemaChange, ...]
    transitions: tuple[SchemaChange, ...]


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
    narrowed = schema_changes(old, new)
    transitions = tuple(change for change in narrowed if change.change == NEW_TRANSITION)
    return Concerns(versions, frozenset(gone), narrowed, transitions)


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
