"""Stage 4: index rows of a shard, one partition a (group, version, kind), in the order of the shard (already sorted).

One row per object and served version. At a version other than the audited one the object is read again only where that
version can differ: it has selectable fields, or embedded resources, which can fail a read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor import tables
from auditor.errors import SelectorError
from auditor.program.read import read_object
from auditor.selectors.fields import selectable, selectable_values
from pipelines.columns import Rows, write_parquet

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.model import AuditedObject, JsonObject
    from auditor.schema.structural import StructuralSchema

__all__ = ["IndexBuilder", "partition"]


_PYTHON = {"boolean": bool, "integer": int}


def partition(group: str, version: str, kind: str) -> str:
    """Return the folder of a partition, in Hive form; the core group is written ``core``."""
    return f"group={group or 'core'}/version={version}/kind={kind}"


def field_types(version: CrdVersion) -> list[tuple[str, str]]:
    """Return (path, schema type) of the version's selectable fields."""
    out = []
    for path in version.selectable_fields:
        label = path.removeprefix(".")
        node: StructuralSchema | None = version.schema
        for step in label.split("."):
            if node is None:
                break
            below = node.properties.get(step)
            if below is None and not isinstance(node.additional_properties, bool):
                below = node.additional_properties
            node = below
        out.append((label, node.type if node is not None else "string"))
    return out


def _has_embedded(node: StructuralSchema | None) -> bool:
    if node is None:
        return False
    below = [*node.properties.values(), node.items]
    if not isinstance(node.additional_properties, bool):
        below.append(node.additional_properties)
    return node.embedded_resource or any(_has_embedded(child) for child in below)


class _Partition:
    """Rows of one version of one kind, and how its objects are read."""

    def __init__(self, version: CrdVersion, meta: dict[str, str]) -> None:
        self.version = version
        self.fields = field_types(version)
        self.reads_again = bool(self.fields) or _has_embedded(version.structural)
        self.rows = Rows(tables.with_metadata(tables.index_schema(self.fields), **meta))


class IndexBuilder:
    """Collects the index rows of one shard."""

    def __init__(self, owner: Any, cluster: str | None, source: str, meta: dict[str, str]) -> None:
        self.owner = owner
        self.cluster = cluster
        self.source = source
        self.meta = meta
        self.partitions: dict[str, _Partition] = {}

    def add(self, definition: CustomResourceDefinition, row: Any, judged: list[tuple[AuditedObject, bool]]) -> None:
        """Add the rows of one object: at each served version, or under a webhook at the version it is stored at."""
        by_version = {audited.audited_version: audited for audited, _ in judged}
        some = next((audited for audited, _ in judged if audited.object is not None), None)
        if some is None or some.object is None:
            return
        if definition.conversion != "None":
            names = [name for name in [some.stored_version] if name in definition.versions]
        else:
            names = [version.name for version in definition.served_versions]
        for name in names:
            place = self._partition(definition, name)
            audited = by_version.get(name)
            if audited is not None:
                obj, fields = audited.object, audited.selectable
            elif place.reads_again:
                read = read_object(definition, name, row.data)
                if read.object is None:
                    continue
                obj = read.object
                try:
                    fields = selectable(place.version, obj, definition.namespaced)
                except SelectorError:
                    fields = {}
            else:
                obj, fields = some.object, {}
            if obj is not None:
                self._append(place, row, obj, fields)

    def _partition(self, definition: CustomResourceDefinition, version: str) -> _Partition:
        key = partition(definition.group, version, definition.kind)
        found = self.partitions.get(key)
        if found is None:
            found = self.partitions[key] = _Partition(definition.versions[version], self.meta)
        return found

    def _append(self, place: _Partition, row: Any, obj: JsonObject, fields: dict[str, str]) -> None:
        metadata = obj.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        values: list[Any] = [
            self.cluster,
            metadata.get("namespace"),
            metadata.get("name"),
            metadata.get("uid"),
            metadata.get("creationTimestamp"),
            "deletionTimestamp" in metadata,
            metadata.get("labels") or {},
            row.revisions[1],
            self.source,
            row.offset,
            row.length,
        ]
        if place.fields:
            typed = selectable_values(place.version, obj)
            for label, kind in place.fields:
                value = typed.get(label)
                values += [fields.get(label, ""), value if type(value) is _PYTHON.get(kind, str) else None]
        place.rows.append(tuple(values))

    def write(self, folder: Path, name: str) -> None:
        """Write one part a partition."""
        for key, place in self.partitions.items():
            if len(place.rows):
                write_parquet(place.rows.table(), folder / key / name)
