"""The order of a LIST: from the watch cache by name, from etcd by key; and the order of rows in a printed table.

Source: apiserver pkg/storage/cacher (watch_cache.go, store_btree.go), pkg/storage/etcd3/store.go; kubernetes
pkg/printers/internalversion/printers.go (printFlowSchemaList).
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource

__all__ = ["in_cache_order", "table_order"]


def in_cache_order(found: Iterable[tuple[int, JsonObject]], *, one_each: bool) -> Iterator[JsonObject]:
    """Yield objects as the watch cache lists them: by the namespace and name in their metadata.

    Args:
        found: Number of the dump and object, dump by dump and in key order.
        one_each: Yield only the last of several objects with the same namespace and name, as the cache does.
    """
    for _, group in groupby(found, key=lambda pair: pair[0]):
        objects = [obj for _, obj in group]
        keys = [_cache_key(obj) for obj in objects]
        if one_each and len(set(keys)) < len(keys):
            objects = list(dict(zip(keys, objects, strict=True)).values())
            keys = [_cache_key(obj) for obj in objects]
        if any(second < first for first, second in pairwise(keys)):
            order = sorted(range(len(keys)), key=keys.__getitem__)
            objects = [objects[at] for at in order]
        yield from objects


def _cache_key(obj: JsonObject) -> bytes:
    metadata = obj.get("metadata")
    if type(metadata) is not dict:
        return b""
    namespace, name = metadata.get("namespace"), metadata.get("name")
    text = f"{namespace}/{name}" if namespace else str(name or "")
    return text.encode("utf-8", "surrogatepass")


def table_order(resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Return the objects of a LIST in the order in which the server prints their rows."""
    if (resource.group, resource.kind) != ("flowcontrol.apiserver.k8s.io", "FlowSchema"):
        return objects
    return sorted(objects, key=_precedence)


def _precedence(schema: JsonObject) -> tuple[Any, ...]:
    spec, metadata = schema.get("spec"), schema.get("metadata")
    precedence = spec.get("matchingPrecedence") if type(spec) is dict else None
    name = metadata.get("name") if type(metadata) is dict else None
    return (precedence if type(precedence) is int else 1000, str(name or ""))
