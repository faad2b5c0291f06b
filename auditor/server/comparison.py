"""Compares states of objects: of two dumps by kind, namespace and name, or of two revisions of a key.

What is compared is the stored value. A read drops unknown fields, fills in defaults and converts, and values of Secrets
are printed redacted: a `Difference` says which fields differ that neither a read nor the printed form shows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from auditor.base.progress import tell
from auditor.server.object_reader import UndecodedObject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.server.dump_rows import StoredRow
    from auditor.server.object_reader import ObjectReader


_BOOKKEEPING: Final = ("resourceVersion", "managedFields")
"""Fields of metadata that change with every write."""
_PLACES_BETWEEN: Final = 256
"""Objects between two words about the progress."""
_MOST_PATHS: Final = 100
"""Paths at most that a difference has of each sort; there may be more."""
_IN_A_CELL: Final = 2
"""Paths that a cell of a table names."""
_SHOWN: Final = 5
"""Paths that a sentence names."""

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class State:
    """One state of an object.

    Attributes:
        read: As a server reads it, or as stored if only another version or a webhook can read it.
        stored: As stored.
    """

    read: JsonObject
    stored: JsonObject


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two states of an object differ, apart from `resourceVersion` and `managedFields`; at most 100 paths each.

    Attributes:
        read: Paths at which the objects differ as a server reads them.
        stored: Paths at which only the stored values differ.
        redacted: Those of `read` that are redacted in what is printed.
    """

    read: Sequence[str] = ()
    stored: Sequence[str] = ()
    redacted: Sequence[str] = ()

    @property
    def is_cut(self) -> bool:
        """Whether there may be more paths."""
        return _MOST_PATHS in (len(self.read), len(self.stored))

    def paths(self) -> list[str]:
        """Return the paths in words: those of a read, then those of the stored values."""
        return [*self.read, *(f"{path} (as stored)" for path in self.stored)]

    def first_paths(self) -> str:
        """Return the first paths as a cell of a table, and how many more there are."""
        paths = self.paths()
        more = len(paths) - _IN_A_CELL
        at_least = "at least " if self.is_cut else ""
        return ", ".join([*paths[:_IN_A_CELL], *([f"{at_least}{more} more"] if more > 0 else [])])

    def notes(self) -> list[str]:
        """Return a sentence for the paths that the printed objects do not show, of each sort."""
        notes = []
        if self.redacted:
            notes.append(f"{_few(self.redacted)} differs, redacted (--show-secrets prints it)")
        if self.stored:
            notes.append(f"the stored value differs in {_few(self.stored)}, which a read does not show")
        return notes


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that differs.

    Attributes:
        change: added, removed, changed; stored where only the stored values differ; unreadable where one side cannot be
            read; repeated where a dump has the object several times, so that its last one is compared.
        old, new: The object as a server reads it; None if that dump does not have it.
        difference: Where they differ, if both dumps have it.
    """

    change: str
    resource: Resource
    namespace: str
    name: str
    old: JsonObject | None = None
    new: JsonObject | None = None
    reason: str = ""
    difference: Difference = Difference()


def difference_of(reader: ObjectReader, resource: Resource, old: State, new: State) -> Difference:
    """Return where two states of an object of a kind differ.

    Args:
        reader: Redacts as what is printed.
        resource: The kind.
        old, new: The states.
    """
    read = _differing(old.read, new.read)
    shown = _differing(reader.concealed(resource, old.read), reader.concealed(resource, new.read))
    stored = [path for path in _differing(old.stored, new.stored) if path not in read]
    redacted = [path for path in read if path not in shown]
    return Difference(*(tuple(islice(paths, _MOST_PATHS)) for paths in (read, stored, redacted)))


def are_different(old: Any, new: Any) -> bool:
    """Return whether two values of an object differ, apart from `resourceVersion`; so do 1 and 1.0."""
    return any(path != "metadata.resourceVersion" for path in _paths(old, new, ""))


def _differing(old: JsonObject, new: JsonObject) -> dict[str, None]:
    """Return all paths at which two objects differ, apart from bookkeeping, in their order."""
    return dict.fromkeys(_paths(without_bookkeeping(old), without_bookkeeping(new), ""))


def _few(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")


def differences(
    old: DumpStore, new: DumpStore, resource: Resource, *, namespace: str = "", name: str = ""
) -> Iterator[ObjectChange | None]:
    """Yield the differences of a kind, by namespace and name; None for each object that is equal in both dumps.

    Objects with the same bytes are equal; others are decoded, and compared without `resourceVersion` and
    `managedFields`: as stored and as read, but only as read where one dump is an export, as that holds what was read.
    """
    repeated: dict[Place, list[str]] = {}
    before, after = (_rows(store, resource, word, repeated) for store, word in ((old, "OLD"), (new, "NEW")))
    places = sorted(before.keys() | after.keys())
    for count, place in enumerate(places):
        if not count % _PLACES_BETWEEN:
            tell("comparing", count, len(places), "objects")
        if (namespace and place[0] != namespace) or (name and place[1] != name):
            continue
        row, other = before.get(place), after.get(place)
        if place in repeated:
            reason = "; ".join(repeated[place])
            yield ObjectChange("repeated", resource, *place, reason=reason)
        if row is not None and other is not None and old.rows.stored_bytes(row) == new.rows.stored_bytes(other):
            yield None
            continue
        yield _compared(old, new, resource, place, row, other)


def _compared(
    old: DumpStore, new: DumpStore, resource: Resource, place: Place, row: StoredRow | None, other: StoredRow | None
) -> ObjectChange | None:
    try:
        was = None if row is None else read_state(old, resource, row)
        now = None if other is None else read_state(new, resource, other)
    except UndecodedObject as error:
        return ObjectChange("unreadable", resource, *place, reason=str(error))
    before, after = (None if state is None else state.read for state in (was, now))
    if row is None or other is None or was is None or now is None:
        return ObjectChange("added" if row is None else "removed", resource, *place, before, after)
    difference = difference_of(new.reader, resource, was, now)
    if (row.key is None) is not (other.key is None):
        difference = replace(difference, stored=())
    if not (difference.read or difference.stored):
        return None
    change = "changed" if difference.read else "stored"
    return ObjectChange(change, resource, *place, before, after, difference=difference)


def read_state(store: DumpStore, resource: Resource, row: StoredRow) -> State:
    """Return an object as a server reads it, and as stored.

    Raises:
        UndecodedObject: It cannot be decoded.
    """
    definition = store.catalog.definition(resource)
    stored = store.reader.as_stored(resource, row)
    if definition is not None and resource.version not in definition.versions:
        return State(stored, stored)
    try:
        return State(store.reader.read(resource, row), stored)
    except UndecodedObject as error:
        if not error.needs_webhook:
            raise
    return State(stored, stored)


def _rows(store: DumpStore, resource: Resource, dump: str, repeated: dict[Place, list[str]]) -> dict[Place, StoredRow]:
    """Return the rows of a kind by the namespace and name in their keys; for an export, by those in the objects.

    Args:
        store, resource: The dump and the kind.
        dump: A name for the dump.
        repeated: Gets a sentence for each object that the dump has several times.
    """
    rows: dict[Place, StoredRow] = {}
    times: Counter[Place] = Counter()
    for row in store.rows.of(resource):
        if (place := store.rows.place_in(resource, row)) is not None:
            rows[place] = row
            times[place] += 1
    for place, count in times.items():
        if count > 1:
            repeated.setdefault(place, []).append(f"{dump} has it {count} times, its last one is compared")
    return rows


def without_bookkeeping(obj: JsonObject | None) -> JsonObject | None:
    """Return an object without the fields of metadata that change with every write."""
    metadata = obj.get("metadata") if obj is not None else None
    if obj is None or type(metadata) is not dict:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key not in _BOOKKEEPING}}


def _paths(old: Any, new: Any, path: str) -> Iterator[str]:
    """Yield the paths at which two values differ: ``spec.replicas``, ``spec.containers[0].image``."""
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
