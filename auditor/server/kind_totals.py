"""What a dump has of each kind: objects, bytes, versions, ages; and the objects that are being deleted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from auditor.base.records import metadata_of, place_text
from auditor.builtin.loose_values import many, seconds_of, text, texts
from auditor.printing.discovery import stored_kinds
from auditor.server.clock import deletion_time, write_times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.server.dump_rows import StoredRow

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(slots=True)
class KindTotals:
    """The objects of a kind, or those of them in one namespace.

    Attributes:
        resource: The kind, at its preferred version.
        definition: Its definition; None if it is built in.
        namespace: The namespace; empty for all, and for a kind without namespaces.
        objects: How many there are, also of those that cannot be read.
        unread: How many of them cannot be read.
        versions: How many are stored at each version; of exports, which were converted when they were read, none.
        size: Bytes of their values.
        biggest: Bytes and name (``namespace/name``) of the biggest one.
        deleting: How many are being deleted.
        oldest, newest: Oldest creation and newest write, in seconds since 1970; None if no object says.
    """

    resource: Resource
    definition: CustomResourceDefinition | None
    namespace: str = ""
    objects: int = 0
    unread: int = 0
    versions: Counter[str] = field(default_factory=Counter)
    size: int = 0
    biggest: tuple[int, str] = (-1, "")
    deleting: int = 0
    oldest: float | None = None
    newest: float | None = None

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs of a request that a server supports for the kind."""
        return tuple(verb for verb in _VERBS if verb != "deletecollection" or self.resource.kind != "Namespace")

    def add(self, place: str, size: int, obj: JsonObject | None, *, is_export: bool) -> None:
        """Count an object.

        Args:
            place: Its namespace/name.
            size: Bytes of its value.
            obj: The object as stored; None if it cannot be read.
            is_export: Whether it comes from an export.
        """
        self.objects += 1
        self.size += size
        self.biggest = max(self.biggest, (size, place))
        if obj is None:
            self.unread += 1
            return
        if not is_export:
            self.versions[text(obj, "apiVersion").rpartition("/")[2]] += 1
        self.deleting += is_deleting(obj)
        created = seconds_of(obj, "metadata.creationTimestamp")
        self.oldest = min((time for time in (self.oldest, created) if time is not None), default=None)
        self.newest = max((*write_times(obj), *(() if self.newest is None else (self.newest,))), default=None)


def totals(store: DumpStore, namespace: str = "", *, by_namespace: bool = False) -> list[KindTotals]:
    """Return the totals of each kind that has objects or a definition, by name.

    Args:
        store: The dump. What cannot be read is reported there.
        namespace: Only objects in this namespace; empty for all.
        by_namespace: Return them for each namespace, only where there are objects.
    """
    kinds = stored_kinds(store.discovery)
    counted: dict[tuple[Resource, str], KindTotals] = {}
    for resource in kinds if not (namespace or by_namespace) else ():
        if (definition := store.catalog.definition(resource)) is not None:
            counted[resource, ""] = KindTotals(resource, definition)
    for resource, row, obj in store.stored_objects(kinds, namespace):
        place = store.rows.place_in(resource, row) or ("", "")
        part = store.namespace_at(resource, row, obj) if by_namespace else ""
        kind = counted.get((resource, part))
        if kind is None:
            kind = counted[resource, part] = KindTotals(resource, store.catalog.definition(resource), part)
        size = len(store.rows.stored_bytes(row))
        kind.add(place_text(*place), size, obj, is_export=row.key is None)
    return sorted(counted.values(), key=lambda kind: (kind.resource.group_resource, kind.namespace))


def biggest_objects(store: DumpStore, most: int, namespace: str = "") -> list[JsonObject]:
    """Return the objects with the largest values, the largest first; what cannot be read is reported by the store.

    Args:
        store: The dump.
        most: How many.
        namespace: Only objects in this namespace; empty for all.
    """
    found = (
        _place_of(store, resource, row) | {"bytes": len(store.rows.stored_bytes(row))}
        for resource, row, _ in store.stored_objects(stored_kinds(store.discovery), namespace)
    )
    return nlargest(most, found, key=itemgetter("bytes"))


def _place_of(store: DumpStore, resource: Resource, row: StoredRow) -> JsonObject:
    namespace, name = store.rows.place_in(resource, row) or ("", "")
    return {"kind": resource.kind, "group": resource.group, "namespace": namespace, "name": name}


def deletions(store: DumpStore, namespace: str = "") -> Iterator[JsonObject]:
    """Yield the objects that are being deleted, by kind; what cannot be read is reported by the store.

    Args:
        store: The dump.
        namespace: Only objects in this namespace; empty for all.
    Yields:
        kind, group, namespace and name; since: when the deletion was requested, in seconds since 1970, or None;
        finalizers: those of its metadata and of a Namespace's spec, it exists as long as it has one; messages: what the
        conditions of a Namespace say that it waits for.
    """
    for resource, row, obj in store.stored_objects(stored_kinds(store.discovery), namespace):
        if obj is None or not is_deleting(obj):
            continue
        conditions = many(obj, "status.conditions") if _is_namespace(obj) else ()
        yield {
            **_place_of(store, resource, row),
            "since": deletion_time(metadata_of(obj)),
            "finalizers": texts(obj, "metadata.finalizers")
            + (texts(obj, "spec.finalizers") if _is_namespace(obj) else []),
            "messages": [text(state, "message") for state in conditions if state.get("status") == "True"],
        }


def is_deleting(obj: JsonObject) -> bool:
    """Return whether an object is being deleted, by a time, as a read drops another text.

    A Namespace also is while it is terminating.
    """
    return seconds_of(obj, "metadata.deletionTimestamp") is not None or (
        _is_namespace(obj) and text(obj, "status.phase") == "Terminating"
    )


def _is_namespace(obj: JsonObject) -> bool:
    return obj.get("kind") == "Namespace" and obj.get("apiVersion") == "v1"
