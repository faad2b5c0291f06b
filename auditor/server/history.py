"""The past in a dump: the state at a revision, the revisions of keys, and the events that a watch would have sent.

An etcd database has every revision since the last compaction, and of each key the newest compacted one if it is no
deletion.

Source: etcd server/storage/mvcc (kvstore.go: what is compacted, what is in the future); apiserver
pkg/storage/etcd3/watcher.go (transform: the event that a watch with selectors sends for a change).
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.base.errors import PlanError
from auditor.base.records import metadata_of, namespace_of
from auditor.crds.definitions_file import definition_entry, write_definitions
from auditor.golang import jsontext
from auditor.golang.times import unix_seconds
from auditor.plan.dumps import open_live, open_values
from auditor.server.clock import (
    LOOKED_AT,
    deletion_time,
    newest_time,
    stored_times,
    time_text,
    write_times,
)
from auditor.server.comparison import State, read_state
from auditor.server.dump_rows import StoredRow
from auditor.server.object_reader import UndecodedObject
from auditor.sources.crd_files import definitions_in
from auditor.sources.dump_formats import HAS_HISTORY
from auditor.sources.encryption import make_unsealer
from auditor.sources.etcd import EtcdFile
from auditor.sources.etcd.mvcc import keyed_rows, revisions
from auditor.sources.live_table import NewestPerKey
from auditor.sources.registry_key import printable_key
from auditor.updates.managed_fields import managers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import Plan
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.sources.etcd.mvcc import Revisions
    from auditor.sources.source_plan import SourcePlan


@dataclass(frozen=True, slots=True)
class KeyRevision:
    """One revision of one key; a deletion has no value."""

    key: bytes
    revision: int
    deleted: bool
    version: int
    offset: int
    length: int

    def row(self, source: int) -> StoredRow:
        """Return the revision as a row of the live table."""
        return StoredRow(source, self.key, self.revision, self.offset, self.length, 0)


def check_history(source: SourcePlan) -> None:
    """Make sure that a source has revisions.

    Raises:
        PlanError: It has only the current state.
    """
    if source.format not in HAS_HISTORY:
        raise PlanError(
            source.name, f"past revisions are not read from the form {source.format}", "an etcd database or snapshot"
        )


def _batches(source: SourcePlan) -> Iterator[tuple[Any, Revisions]]:
    check_history(source)
    file = EtcdFile.open(Path(source.mapped), name=source.name)
    for rows in file.rows(b"key"):
        yield file.view, revisions(file.view, rows, lambda *_: None)


Point = int | float | timedelta
"""A revision (int), a time in seconds since 1970 (float), or how long before the newest time of the dump."""


def revision_at(store: DumpStore, number: int, point: Point, *, before: bool = False) -> int:
    """Return the last revision of a source up to a point.

    A revision has the newest time that any object carries up to it.

    Args:
        before: Return the first revision from that time on, 0 if all known times are later.

    Raises:
        PlanError: The dump has no history, no known time, or none that is so early.
    """
    source = store.plan.sources[number]
    check_history(source)
    if isinstance(point, int):
        return point
    newest = newest_time(store) if isinstance(point, timedelta) else None
    time = point if isinstance(point, float) else None if newest is None else newest - point.total_seconds()
    compacted = source.compacted_revision or 0
    early = (revision for revision in key_revisions(source, b"") if revision.revision <= compacted)
    later = (revision for revision in key_revisions(source, b"") if revision.revision > compacted)
    is_known = False
    for revision in chain(deque(early, LOOKED_AT), later):
        data = b"" if revision.deleted else store.rows.stored_bytes(revision.row(number))
        known = max(stored_times(data), default=None)
        if known is not None and time is not None and (known >= time if before else known > time):
            if not (is_known or before):
                first = time_text(known)
                raise PlanError(source.name, f"has no write up to {time_text(time)}", f"a time from {first} on")
            return revision.revision if before else revision.revision - 1
        is_known |= known is not None
    if not is_known or time is None:
        raise PlanError(source.name, "no object carries a time", "a revision")
    return (source.revision or 0) + before


def plan_as_of(plan: Plan, numbers: Sequence[int], workdir: Path) -> Plan:
    """Return a plan of the state at a revision of each source: its live keys and its definitions.

    Raises:
        PlanError: That revision was compacted, or has not happened, or a dump has no history.
    """
    sources = tuple(
        _source_as_of(source, numbers[number], workdir, number) for number, source in enumerate(plan.sources)
    )
    plan = replace(plan, sources=sources)
    documents = dict(_definitions(plan))
    from_files = (entry for entry in plan.entries if entry.name in plan.from_files)
    documents |= {entry.name: jsontext.decode(text) for entry, text in plan.definitions_file.texts(from_files)}
    path = workdir / "definitions-as-of.ndjson"
    given = (
        (definition_entry(name, document, name not in plan.from_files), jsontext.encode(document).encode())
        for name, document in sorted(documents.items())
    )
    entries, sha256 = write_definitions(path, given)
    return replace(plan, definitions=str(path), entries=entries, crds_sha256=sha256)


def _source_as_of(source: SourcePlan, revision: int, workdir: Path, number: int) -> SourcePlan:
    check_history(source)
    if source.compacted_revision is not None and revision < source.compacted_revision:
        raise PlanError(
            source.name,
            f"etcdserver: mvcc: required revision has been compacted (revision {revision})",
            f"a revision from {source.compacted_revision} on",
        )
    if source.revision is not None and revision > source.revision:
        raise PlanError(
            source.name,
            f"etcdserver: mvcc: required revision is a future revision (revision {revision})",
            f"a revision up to {source.revision}",
        )
    newest = NewestPerKey(workdir, 1000 + number)
    for view, batch in _batches(source):
        kept = batch.select(batch.main <= revision)
        if len(kept):
            newest.add(keyed_rows(view, kept))
    path = workdir / f"as-of-{number:03d}.arrow"
    rows = newest.finish(path)
    return replace(source, live=str(path), rows=rows, revision=revision)


def _definitions(plan: Plan) -> Iterator[tuple[str, JsonObject]]:
    """Yield the definitions among the live keys of a plan, by name."""
    prefix = f"/{plan.options.etcd_prefix.strip('/')}/apiextensions.k8s.io/customresourcedefinitions/"
    unsealer = make_unsealer(plan.options.encryption_config, plan.options.kms_decryptor)
    for source in plan.sources:
        table, values = open_live(source), open_values(source)
        for row in table.filter(pc.starts_with(table["key"], prefix)).to_pylist():
            data = bytes(values[row["offset"] : row["offset"] + row["length"]])
            opened = unsealer.open(row["key"], ("apiextensions.k8s.io", "customresourcedefinitions"), data)
            try:
                document = jsontext.decode(opened.data or b"")
            except jsontext.GoJsonError:
                continue
            for definition in definitions_in(document):
                yield str((definition.get("metadata") or {}).get("name")), definition


def key_revisions(source: SourcePlan, prefix: bytes, *, exact: bool = False) -> Iterator[KeyRevision]:
    """Yield the revisions of keys, in order of time.

    Args:
        prefix: Prefix of the keys, or the key itself if `exact`.
    """
    yield from _revisions(source, lambda keys: pc.equal(keys, prefix) if exact else pc.starts_with(keys, prefix))


def deleted_keys(store: DumpStore, begin: str, end: str) -> list[tuple[StoredRow, int]]:
    """Return the last values of deleted keys that begin and end so, each with the revision of the deletion."""
    prefix, suffix = (text.encode("utf-8", "surrogateescape") for text in (begin, end))
    rows: list[tuple[StoredRow, int]] = []
    for number, source in enumerate(store.plan.sources):
        values: dict[bytes, KeyRevision] = {}
        deletions: dict[bytes, int] = {}
        for revision in key_revisions(source, prefix) if source.format in HAS_HISTORY else ():
            if source.revision is not None and revision.revision > source.revision:
                break  # later than the state that is asked for
            if revision.key.endswith(suffix) and revision.deleted:
                deletions[revision.key] = revision.revision
            elif revision.key.endswith(suffix):
                values[revision.key] = revision
        rows += [
            (value.row(number), deletions[key])
            for key, value in values.items()
            if deletions.get(key, 0) > value.revision
        ]
    return rows


def deletion(store: DumpStore, resource: Resource, namespace: str, name: str) -> str:
    """Return in words when an object that does not exist was deleted; empty if the dump does not tell."""
    below = f"{store.catalog.key_prefix(resource)}{f'{namespace}/' if namespace and resource.namespaced else ''}"
    revisions = [revision for _, revision in deleted_keys(store, below, f"/{name}")]
    command = "auditor show DUMP KIND/NAME prints its last value"
    return f"it was deleted at revision {max(revisions)}; {command}" if revisions else ""


def _revisions(source: SourcePlan, wanted: Callable[[pa.Array], Any]) -> Iterator[KeyRevision]:
    for view, batch in _batches(source):
        keys: pa.Array = view.binary(batch.key, batch.key_size)
        mask = wanted(keys)
        for row in np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist():
            yield KeyRevision(
                keys[row].as_py(),
                int(batch.main[row]),
                bool(batch.deleted[row]),
                int(batch.version[row]),
                int(batch.value[row]),
                int(batch.value_size[row]),
            )


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a key.

    Attributes:
        type: ADDED, MODIFIED or DELETED, as a watch with the selectors has it; ERROR if it cannot be read.
        resource: The kind.
        place: Namespace and name, by the key.
        revision: Where the written value is.
        old: The object before; None if there was none, or it cannot be read.
        new: The object after; None if it was deleted, or cannot be read.
        is_first: Whether the dump has no earlier revision of the key; `version` of the revision tells if there was one.
        reason: Why it cannot be read.
        is_corrupt: Whether no server can read it; else it is encrypted, and no key was given.
    """

    type: str
    resource: Resource
    place: tuple[str, str]
    revision: KeyRevision
    old: State | None = None
    new: State | None = None
    is_first: bool = False
    reason: str = ""
    is_corrupt: bool = False

    @property
    def object(self) -> JsonObject | None:
        """The object as a watch sends it: of one that is gone the last one, with the revision of the write."""
        if self.type != "DELETED" or self.old is None:
            return None if self.new is None else self.new.read
        version = str(self.revision.revision)
        return {**self.old.read, "metadata": {**metadata_of(self.old.read), "resourceVersion": version}}

    def by(self) -> tuple[float | None, str]:
        """Return time and manager of the newest entry of managedFields that the write made or changed.

        Returns:
            Seconds since 1970 of the newest time that the write brought in, None if there is none; and the manager,
            empty if no entry differs from those before. A request to delete has a time, and changes no entry.
        """
        if self.new is None:
            return None, ""
        metadata = metadata_of(self.new.stored)
        was_deleting = self.old is not None and metadata_of(self.old.stored).get("deletionTimestamp")
        if metadata.get("deletionTimestamp") and not was_deleting:
            return deletion_time(metadata), ""
        before: set[float] = set() if self.old is None else set(write_times(self.old.stored))
        known = [] if self.old is None else managers_of(self.old.stored)
        entries = [entry for entry in managers_of(self.new.stored) if entry not in known]
        newest = max(reversed(entries), key=lambda entry: entry.time, default=None)
        times = {time for time in write_times(self.new.stored) if time not in before}
        if newest is not None and (time := unix_seconds(newest.time)) is not None:
            times.add(time)
        return max(times, default=None), newest.manager if newest is not None else ""


def writes(
    store: DumpStore,
    kinds: Sequence[Resource],
    *,
    namespace: str = "",
    name: str = "",
    key: bytes = b"",
    labels: str = "",
    fields: str = "",
    spans: Sequence[tuple[int, int]] = (),
    outside: set[bytes] | None = None,
) -> Iterator[Write]:
    """Yield the writes of objects of some kinds, the oldest first, in the words of a watch with selectors.

    An object that begins to match is ADDED; one that no longer matches is DELETED. Where the state before is not known,
    because it was compacted or cannot be read, what matches is MODIFIED.

    Args:
        key: Only of this key.
        spans: The first and the last revision, of each source; empty for all that the dump has.
        outside: Gets the keys of no such kind.

    Raises:
        StatusError: A selector is refused.
        PlanError: There is no history.
    """
    selected = _Selected(store, namespace, name, labels, fields, kinds)
    prefixes = {store.catalog.key_prefix(resource).encode(): resource for resource in kinds}
    lengths = sorted(set(map(len, prefixes)))
    below = key or (next(iter(prefixes)) if len(prefixes) == 1 else b"")
    for number, source in enumerate(store.plan.sources):
        check_history(source)
        first, last = spans[number] if spans else (0, sys.maxsize)
        newest: dict[bytes, KeyRevision] = {}
        for revision in key_revisions(source, below, exact=bool(key)):
            if revision.revision > last:
                break
            resource = next((prefixes[part] for length in lengths if (part := revision.key[:length]) in prefixes), None)
            old = newest.get(revision.key)
            newest[revision.key] = revision
            if revision.revision < first:
                continue
            if resource is None:
                if outside is not None:
                    outside.add(revision.key)
                continue
            try:
                write = selected.write(resource, number, old, revision)
            except Exception as error:  # noqa: BLE001 - it is left out
                store.leave_out(printable_key(revision.key), error)
                continue
            if write is not None:
                yield write


_LATEST_STATES: Final = 256
"""Objects that are held while revisions are read: the next write of each compares with them."""


class _Selected:
    """The writes of the objects that match."""

    def __init__(
        self, store: DumpStore, namespace: str, name: str, labels: str, fields: str, kinds: Sequence[Resource]
    ) -> None:
        self._store, self._namespace, self._name = store, namespace, name
        self._is_any = not (labels or fields)
        self._selectors = {resource: store.selection.parsed(resource, labels, fields) for resource in kinds}
        self._state = lru_cache(_LATEST_STATES)(
            lambda resource, number, revision: read_state(store, resource, revision.row(number))
        )

    def _fits(self, resource: Resource, state: State | None) -> bool:
        if state is None or (self._namespace and namespace_of(state.read) != self._namespace):
            return False
        return self._store.selection.matches(resource, state.read, *self._selectors[resource])

    def write(self, resource: Resource, number: int, before: KeyRevision | None, revision: KeyRevision) -> Write | None:
        """Return a revision of a source as a write, given the one before; None if it does not match."""
        place = self._store.rows.place_in(resource, revision.row(number)) or ("", "")
        if self._name not in ("", place[1]):
            return None
        write = partial(Write, resource=resource, place=place, revision=revision, is_first=before is None)
        is_near = self._namespace in ("", place[0])
        is_known = revision.version == 1 if before is None else True
        old = new = None
        try:
            old = None if before is None or before.deleted else self._state(resource, number, before)
        except UndecodedObject:
            is_known = False
        try:
            new = None if revision.deleted else self._state(resource, number, revision)
        except UndecodedObject as error:
            is_corrupt = not (error.lacks_key or error.needs_webhook)
            return write("ERROR", reason=str(error), is_corrupt=is_corrupt) if is_near else None
        fitted, fits = self._fits(resource, old), self._fits(resource, new)
        if fits or fitted:
            type_ = "DELETED" if not fits else "MODIFIED" if fitted or not is_known else "ADDED"
            return write(type_, old=old, new=new)
        if revision.deleted and not is_known and is_near:
            reason = "its last value cannot be read"
            return write("DELETED" if self._is_any else "ERROR", reason=reason, is_corrupt=not self._is_any)
        return None
