"""Converts together all objects of a shard that need a webhook, by the command that replaces it.

Converted one by one, each would start the command; values that are not sent here (such as sealed ones) are converted
when they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.errors import AuditorError
from auditor.plan.dumps import cut_values
from auditor.sources.registry_key import listed_place, split_key
from auditor.storage_read.read import before_conversion

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.plan.run_plan import SourceShard
    from auditor.shards.judge import ObjectJudge


def convert_ahead(owner: ObjectJudge, item: SourceShard) -> None:
    """Convert the objects of a shard, so that the command's answers are there when they are read."""
    if owner.converter is None:
        return
    source, options = owner.plan.sources[item.source], owner.plan.options
    table, values = owner.source(item.source)
    rows = table.slice(item.shard.start, item.shard.stop - item.shard.start)
    wanted_version = options.at_of_exports if source.is_export else options.at
    wanted: dict[tuple[str, str], tuple[CustomResourceDefinition, list[JsonObject]]] = {}
    for key, data in zip(rows["key"].to_pylist(), cut_values(rows, values), strict=True):
        definition = _definition(owner, key, data)
        obj = None if definition is None else before_conversion(definition, data)
        if obj is not None and definition is not None:
            for version in _versions(owner, definition, wanted_version):
                wanted.setdefault((definition.name, version), (definition, []))[1].append(obj)
    for (_, version), (definition, objects) in wanted.items():
        owner.converter.prepare(definition, version, objects)


def _definition(owner: ObjectJudge, key: bytes | None, data: bytes) -> CustomResourceDefinition | None:
    """Return the definition of a value if a webhook converts its objects."""
    try:
        if key is None:
            entry = owner.classify_export(data).entry
        else:
            place = listed_place(split_key(key, owner.plan.options.etcd_prefix), owner.scopes)
            entry = None if place is None else owner.entries.get((place.group or "", place.plural or ""))
        definition = None if entry is None else owner.definition(entry)
    except (AuditorError, RecursionError):  # its row says so
        return None
    return None if definition is None or isinstance(definition, str) or definition.webhook is None else definition


def _versions(owner: ObjectJudge, definition: CustomResourceDefinition, at: str) -> list[str]:
    if at == "served":
        return [version.name for version in definition.served_versions]
    version = owner.storage_of(definition) if at == "storage" else at
    return [version] if version in definition.versions else []
