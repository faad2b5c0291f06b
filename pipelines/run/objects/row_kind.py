"""The kind of a row of a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.statuses import KeyClass
from auditor.printing.discovery import Resource
from auditor.sources.manifests.object_header import read_header
from auditor.sources.registry_key import classify, listed_place, split_key

if TYPE_CHECKING:
    from auditor.server.dump import DumpStore
    from auditor.server.dump_rows import StoredRow


def resource_of(store: DumpStore, row: StoredRow, etcd_prefix: str) -> tuple[Resource | None, str]:
    """Return the kind of a row at its storage version, or None and the reason."""
    if row.key is None:
        header = read_header(store.rows.stored_bytes(row))
        group, kind = (header.group, header.kind) if header is not None else ("", "")
        resources = [resource for resource in store.discovery.resources if resource.kind == kind]
        resources = [resource for resource in resources if resource.group == group] or [
            resource for resource in resources if group in store.catalog.groups_of(resource)
        ]
    else:
        segments = split_key(row.key, etcd_prefix)
        place = classify(segments, store.catalog.scopes)
        place = (listed_place(segments, store.catalog.scopes) or place) if place.status is KeyClass.OTHER else place
        if place.status not in (KeyClass.CUSTOM, KeyClass.BUILTIN, KeyClass.DEFINITION):
            return None, f"{place.status}: {place.reason}"
        resources = [resource for resource in store.discovery.resources if resource.plural == place.plural]
        resources = [resource for resource in resources if resource.group == place.group] or resources[:1]
    if not resources:
        return None, "the kind is not known"
    definition = store.catalog.definition(resources[0])
    if definition is not None and definition.storage_version is not None:
        name = definition.storage_version.name
        resources = [resource for resource in resources if resource.version == name] or [_at(resources[0], name)]
    return resources[0], ""


def _at(resource: Resource, version: str) -> Resource:
    return Resource(
        resource.group, version, resource.kind, resource.plural, resource.singular, namespaced=resource.namespaced
    )
