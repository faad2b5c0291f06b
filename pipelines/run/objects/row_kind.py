"""The kind of a row of a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.statuses import KeyClass
from auditor.printing.discovery import Resource
from auditor.sources.manifests.rows import read_header
from auditor.sources.registry_key import classify, listed_place, split_key

if TYPE_CHECKING:
    from auditor.server.dump import DumpStore
    from auditor.server.rows import StoredRow


def resource_of(store: DumpStore, row: StoredRow, etcd_prefix: str) -> tuple[Resource | None, str]:
    """Return the kind of a row at its storage version, or None and the reason."""
    if row.key is None:
        header = read_header(store.rows.stored_bytes(row))
        group, kind = (header.group, header.kind) if header is not None else ("", "")
        found = [one for one in store.discovery.resources if (one.group, one.kind) == (group, kind)]
    else:
        scopes = {name: definition.namespaced for name, definition in store.catalog.definitions.items()}
        segments = split_key(row.key, etcd_prefix)
        place = classify(segments, scopes)
        place = (listed_place(segments, scopes) or place) if place.status is KeyClass.OTHER else place
        if place.status not in (KeyClass.CUSTOM, KeyClass.BUILTIN, KeyClass.DEFINITION):
            return None, f"{place.status}: {place.reason}"
        found = [one for one in store.discovery.resources if one.plural == place.plural]
        found = [one for one in found if one.group == place.group] or found[:1]
    if not found:
        return None, "the kind is not known"
    definition = store.catalog.definition(found[0])
    if definition is not None and definition.storage_version is not None:
        name = definition.storage_version.name
        found = [one for one in found if one.version == name] or [_at(found[0], name)]
    return found[0], ""


def _at(resource: Resource, version: str) -> Resource:
    return Resource(
        resource.group, version, resource.kind, resource.plural, resource.singular, namespaced=resource.namespaced
    )
