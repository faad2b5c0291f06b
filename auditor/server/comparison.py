"""Compares two dumps: objects that only one of them has, and objects that differ, by kind, namespace and name."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from auditor.base.progress import tell
from auditor.server.object_reader import UndecodedObject
from auditor.sources.manifests.export_table import read_header
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.server.dump_rows import StoredRow


_BOOKKEEPING: Final = ("resourceVersion", "managedFields")
_PLACES_BETWEEN: Final = 256
"""Objects between two words about the progress."""
"""Fields of metadata that change with every write."""

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that differs.

    Attributes:
        change: added, removed, changed, or unreadable where one side cannot be read.
        old, new: The object as a server reads it; None if that dump does not have it.
    """

    change: str
    resource: Resource
    namespace: str
    name: str
    old: JsonObject | None = None
    new: JsonObject | None = None
    reason: str = ""


def compared_kinds(old: DumpStore, new: DumpStore) -> Iterator[Resource]:
    """Yield each kind of either dump once, at its preferred version."""
    seen: set[str] = set()
    for store in (new, old):
        for resource in store.discovery.resources:
            prefix = store.catalog.key_prefix(resource)
            if resource.is_stored and prefix not in seen:
                seen.add(prefix)
                yield resource


def differences(
    old: DumpStore, new: DumpStore, resource: Resource, *, namespace: str = "", name: str = ""
) -> Iterator[ObjectChange | None]:
    """Yield the differences of a kind, by namespace and name; None for each object that is equal in both dumps.

    Objects with the same bytes are equal; others are read, and compared without `resourceVersion` and `managedFields`.
    """
    before, after = _rows(old, resource), _rows(new, resource)
    places = sorted(before.keys() | after.keys())
    for count, place in enumerate(places):
        if not count % _PLACES_BETWEEN:
            tell("comparing", count, len(places), "objects")
        if (namespace and place[0] != namespace) or (name and place[1] != name):
            continue
        row, other = before.get(place), after.get(place)
        if row is not None and other is not None and old.rows.stored_bytes(row) == new.rows.stored_bytes(other):
            yield None
            continue
        yield _compared(old, new, resource, place, row, other)


def _compared(
    old: DumpStore, new: DumpStore, resource: Resource, place: Place, row: StoredRow | None, other: StoredRow | None
) -> ObjectChange | None:
    try:
        was = None if row is None else _read(old, resource, row)
        now = None if other is None else _read(new, resource, other)
    except UndecodedObject as error:
        return ObjectChange("unreadable", resource, *place, reason=str(error))
    if row is None or other is None:
        return ObjectChange("added" if row is None else "removed", resource, *place, was, now)
    if without_bookkeeping(was) == without_bookkeeping(now):
        return None
    return ObjectChange("changed", resource, *place, was, now)


def _read(store: DumpStore, resource: Resource, row: StoredRow) -> JsonObject:
    """Return an object as a server reads it, or as stored if only another version or a webhook can read it."""
    definition = store.catalog.definition(resource)
    if definition is not None and resource.version not in definition.versions:
        return store.reader.as_stored(resource, row)
    try:
        return store.reader.read(resource, row)
    except UndecodedObject as error:
        if not error.needs_webhook:
            raise
    return store.reader.as_stored(resource, row)


def _rows(store: DumpStore, resource: Resource) -> dict[Place, StoredRow]:
    """Return the rows of a kind by the namespace and name in their keys; for an export, by those in the objects."""
    rows: dict[Place, StoredRow] = {}
    prefix = len(store.catalog.key_prefix(resource).encode())
    for row in store.rows.of(resource):
        if row.key is not None:
            namespace, _, name = printable_key(row.key[prefix:]).rpartition("/")
            rows[namespace, name] = row
            continue
        header = read_header(store.rows.stored_bytes(row))
        if header is not None:
            rows[header.namespace or "", header.name] = row
    return rows


def without_bookkeeping(obj: JsonObject | None) -> JsonObject | None:
    """Return an object without the fields of metadata that change with every write."""
    metadata = obj.get("metadata") if obj is not None else None
    if obj is None or type(metadata) is not dict:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key not in _BOOKKEEPING}}


def changed_paths(old: Any, new: Any, most: int) -> list[str]:
    """Return the paths at which two objects differ, up to a limit: ``spec.replicas``, ``spec.containers[0].image``."""
    return list(islice(_paths(old, new, ""), most))


def _paths(old: Any, new: Any, path: str) -> Iterator[str]:
    if type(old) is dict and type(new) is dict:
        for key in sorted(old.keys() | new.keys()):
            dotted = f"[{key!r}]" if "." in key or "/" in key else f".{key}"
            yield from _paths(old.get(key), new.get(key), f"{path}{dotted}".removeprefix("."))
    elif type(old) is list and type(new) is list and len(old) == len(new):
        yield from (
            below
            for position in range(len(old))
            for below in _paths(old[position], new[position], f"{path}[{position}]")
        )
    elif old != new or type(old) is not type(new):
        yield path


def kinds_named(resources: Sequence[Resource], wanted: Resource) -> list[Resource]:
    """Return the kinds that are the wanted one, at any version."""
    return [resource for resource in resources if (resource.group, resource.plural) == (wanted.group, wanted.plural)]
