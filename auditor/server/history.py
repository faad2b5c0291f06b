"""The past in a dump: the state at a revision, the revisions of keys, and the events that a watch would have sent.

An etcd database has every revision since the last compaction, and of each key the newest compacted one if it is no
deletion.

Source: etcd server/storage/mvcc (kvstore.go: what is compacted, what is in the future); apiserver
pkg/storage/etcd3/watcher.go (transform: the event that a watch with selectors sends for a change).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.base.errors import PlanError
from auditor.crds.definitions_file import definition_entry, write_definitions
from auditor.golang import jsontext
from auditor.plan.dumps import open_live, open_values
from auditor.server.dump_rows import StoredRow
from auditor.server.object_reader import UndecodedObject
from auditor.sources.crd_files import definitions_in
from auditor.sources.encryption import make_unsealer
from auditor.sources.etcd import EtcdFile
from auditor.sources.etcd.mvcc import keyed_rows, revisions
from auditor.sources.live_table import OLDER, ROW, NewestPerKey
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import Plan
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.sources.etcd.mvcc import Revisions
    from auditor.sources.source_plan import SourcePlan


HAS_HISTORY = ("etcd-snapshot", "etcd-data-dir")
"""Forms of dumps that have revisions."""


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
            source.name, f"a dump of the form {source.format} knows only the present", "an etcd database or snapshot"
        )


def _batches(source: SourcePlan) -> Iterator[tuple[Any, Revisions]]:
    check_history(source)
    file = EtcdFile.open(Path(source.mapped), name=source.name)
    for rows in file.rows(b"key"):
        yield file.view, revisions(file.view, rows, lambda *_: None)


def plan_as_of(plan: Plan, revision: int, workdir: Path) -> Plan:
    """Return a plan of the state at a revision: its live keys and its definitions.

    Raises:
        PlanError: That revision was compacted, or has not happened, or a dump has no history.
    """
    sources = tuple(_source_as_of(source, revision, workdir, number) for number, source in enumerate(plan.sources))
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


def older_revisions(source: SourcePlan, keys: Sequence[bytes]) -> Iterator[KeyRevision]:
    """Yield the older revisions of live keys since each was created, newest first.

    They are those that the walk that found the live keys came across; the dump is not walked again.
    """
    table, values = open_live(source), open_values(source)
    older = np.fromfile(Path(source.live).with_suffix(OLDER), dtype=ROW)
    live = table.filter(pc.is_in(table["key"], value_set=pa.array(keys, table["key"].type)))
    older = older[np.isin(older["create"], live["create_revision"].to_numpy())]
    older = older[np.argsort(-older["mod"])]
    for key, create, newest in zip(*(live[name].to_pylist() for name in _OF_LIVE), strict=True):
        field = key + _CREATE_REVISION  # keys that one transaction created have the same create revision
        for _, mod, version, offset, length, *_ in older[older["create"] == create].tolist():
            if mod < newest and field in values[max(0, offset - len(key) - _MOST_NUMBERS) : offset]:
                yield KeyRevision(key, mod, False, version, offset, length)


_OF_LIVE: Final = ("key", "create_revision", "mod_revision")
_CREATE_REVISION: Final = b"\x10"
"""The tag of the field after the key in a KeyValue message."""
_MOST_NUMBERS: Final = 45
"""Most bytes between the key of a KeyValue message and its value: three numbers, and the length of the value."""


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
class WatchEvent:
    """An event of a watch: ADDED, MODIFIED, DELETED, or ERROR if the object cannot be read."""

    type: str
    revision: int
    key: bytes
    object: JsonObject | None
    reason: str = ""
    is_corrupt: bool = True


def changes(
    store: DumpStore, resource: Resource, *, namespace: str, labels: str, fields: str, after: int | None
) -> Iterator[WatchEvent]:
    """Yield the events that a watch with selectors would have sent.

    An object that begins to match is ADDED; one that no longer matches is DELETED, with its last matching content and
    the revision of the change.

    Args:
        after: Revision (resourceVersion) after which the watch begins; None for the oldest that the dump has.
    Raises:
        StatusError: A selector is refused.
        PlanError: The revision was compacted, or there is no history.
    """
    wanted_labels, wanted_fields = store.selection.parsed(resource, labels, fields)

    def fits(obj: JsonObject | None) -> bool:
        if obj is None or (namespace and (obj.get("metadata") or {}).get("namespace") != namespace):
            return False
        return store.selection.matches(resource, obj, wanted_labels, wanted_fields)

    for number, source in enumerate(store.plan.sources):
        check_history(source)
        begin = after if after is not None else source.compacted_revision or 0
        if source.compacted_revision is not None and begin < source.compacted_revision:
            raise PlanError(
                source.name, f"too old resource version: {begin} ({source.compacted_revision})", "", "leave --from out"
            )
        before: dict[bytes, KeyRevision] = {}
        for revision in key_revisions(source, store.catalog.key_prefix(resource).encode()):
            old = before.get(revision.key)
            before[revision.key] = revision
            if revision.revision <= begin:
                continue
            try:
                was = None if old is None or old.deleted else store.reader.read(resource, old.row(number))
                now = None if revision.deleted else store.reader.read(resource, revision.row(number))
                fitted, fit = fits(was), fits(now)
            except UndecodedObject as error:
                is_corrupt = not (error.lacks_key or error.needs_webhook)
                yield WatchEvent("ERROR", revision.revision, revision.key, None, str(error), is_corrupt)
                continue
            except Exception as error:  # noqa: BLE001 - it is left out
                store.leave_out(printable_key(revision.key), error)
                continue
            if fit and now is not None:
                yield WatchEvent("MODIFIED" if fitted else "ADDED", revision.revision, revision.key, now)
            elif fitted and was is not None:
                was["metadata"]["resourceVersion"] = str(revision.revision)
                yield WatchEvent("DELETED", revision.revision, revision.key, was)
