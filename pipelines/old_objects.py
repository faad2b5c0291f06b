"""The state before: objects of the dumps given with --old, found by kind, namespace and name.

The plan writes one small file, sorted by identity; workers map it and look up what they meet. An update is then judged
as one: a manifest is applied to the object that is there, an object of another dump is what it shall become.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
import pyarrow as pa

from auditor.golang import jsontext
from auditor.program.apply import merged, replaced
from auditor.program.noop_update import NoopUpdates
from auditor.program.update_program import Place
from auditor.sources.encryption import resource_of
from auditor.sources.registry_key import classify, split_key
from pipelines.plan import cut_value, open_live, open_values
from pipelines.verdicts import NOT_ASKED, Outcome, judged_change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.model import AuditedObject, JsonObject
    from auditor.program.audit_program import AuditProgram
    from auditor.sources import SourcePlan
    from pipelines.plan import DefinitionEntry, Plan

__all__ = ["Before", "Changes", "OldObjects", "identity", "namespace_of", "write_identities"]

_BATCH: Final = 50_000
_SCHEMA: Final = pa.schema([("identity", pa.binary()), ("source", pa.int32()), ("row", pa.int64())])


class Before(NamedTuple):
    """An object as it was: its stored bytes (None: sealed, and not opened; then why) and its revision."""

    data: bytes | None
    revision: int | None
    reason: str = ""


def identity(group: str, plural: str, namespace: str, name: str) -> bytes:
    """Return what an object is found by."""
    return f"{group}\0{plural}\0{namespace}\0{name}".encode("utf-8", "surrogatepass")


def write_identities(
    path: Path, sources: Sequence[SourcePlan], entries: Sequence[DefinitionEntry], etcd_prefix: str
) -> int:
    """Write the identities of all custom resources of some sources; of two with the same the last counts.

    Returns:
        Their number.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - it makes 300 functions when it is loaded

    scopes = {(entry.group, entry.plural): entry.namespaced for entry in entries}
    kinds = {(entry.group, entry.kind): entry for entry in entries}
    batches: list[pa.RecordBatch] = [pa.RecordBatch.from_pylist([], schema=_SCHEMA)]
    for number, source in enumerate(sources):
        found: list[tuple[bytes, int]] = []
        for row, name in _identities(source, scopes, kinds, etcd_prefix):
            found.append((name, row))
            if len(found) >= _BATCH:
                batches.append(_batch(found, number))
                found = []
        batches.append(_batch(found, number))
    table = pa.Table.from_batches(batches, schema=_SCHEMA).combine_chunks()
    keys = [("identity", "ascending"), ("source", "ascending"), ("row", "ascending")]
    table = table.take(pc.sort_indices(table, sort_keys=keys))
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, _SCHEMA) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(table.num_rows, 1))
    return int(pc.count_distinct(table["identity"]).as_py())


def _batch(found: list[tuple[bytes, int]], source: int) -> pa.RecordBatch:
    columns = [
        pa.array([name for name, _ in found], pa.binary()),
        pa.array([source] * len(found), pa.int32()),
        pa.array([row for _, row in found], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _identities(
    source: SourcePlan,
    scopes: Mapping[tuple[str, str], bool],
    kinds: Mapping[tuple[str, str], DefinitionEntry],
    etcd_prefix: str,
) -> Iterator[tuple[int, bytes]]:
    table = open_live(source)
    if not source.is_export:
        for row, key in enumerate(table["key"].to_pylist()):
            place = classify(split_key(key, etcd_prefix), scopes)
            if place.status == "custom":
                yield row, identity(place.group or "", place.plural or "", place.namespace or "", place.name or "")
        return
    values = open_values(source)
    spans = zip(*(table[name].to_pylist() for name in ("offset", "length", "encoding")), strict=True)
    for row, (offset, length, encoding) in enumerate(spans):
        found = _of_document(cut_value(values, offset, length, encoding), kinds)
        if found is not None:
            yield row, found


def _of_document(data: bytes, kinds: Mapping[tuple[str, str], DefinitionEntry]) -> bytes | None:
    document: Any
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            document = jsontext.decode(data)
        except jsontext.GoJsonError:
            return None
    if type(document) is not dict:
        return None
    api_version, kind, metadata = document.get("apiVersion"), document.get("kind"), document.get("metadata")
    if type(api_version) is not str or type(kind) is not str or type(metadata) is not dict:
        return None
    entry = kinds.get((api_version.rpartition("/")[0], kind))
    name = metadata.get("name")
    if entry is None or type(name) is not str:
        return None
    return identity(entry.group, entry.plural, namespace_of(entry, metadata), name)


def namespace_of(entry: DefinitionEntry, metadata: JsonObject) -> str:
    """Return the namespace that a manifest means: where it names none, the client's default."""
    if not entry.namespaced:
        return ""
    namespace = metadata.get("namespace")
    return namespace if type(namespace) is str and namespace else "default"


class OldObjects:
    """Looks up objects of the state before.

    Args:
        path: What `write_identities` wrote.
        sources: Its sources.
        unsealer: Opens encrypted values.
        etcd_prefix: What keys start with.
    """

    def __init__(self, path: str, sources: Sequence[SourcePlan], unsealer: Any, etcd_prefix: str) -> None:
        with pa.memory_map(path) as stream:
            table = pa.ipc.open_file(stream).read_all()
        self._names = table["identity"].combine_chunks()
        self._sources = table["source"]
        self._rows = table["row"]
        self._plans = sources
        self._unsealer = unsealer
        self._prefix = etcd_prefix
        self._open: dict[int, tuple[Any, Any]] = {}

    def find(self, name: bytes) -> Before | None:
        """Return the object with an identity, or None: there was none."""
        names = self._names
        low, high = 0, len(names)
        while low < high:  # the last of those that are not greater
            middle = (low + high) // 2
            if names[middle].as_py() <= name:
                low = middle + 1
            else:
                high = middle
        if not low or names[low - 1].as_py() != name:
            return None
        source, row = self._sources[low - 1].as_py(), self._rows[low - 1].as_py()
        if source not in self._open:
            self._open[source] = open_live(self._plans[source]), open_values(self._plans[source])
        table, values = self._open[source]
        cut = (table[column][row].as_py() for column in ("offset", "length", "encoding"))
        data, revision = cut_value(values, *cut), table["mod_revision"][row].as_py()
        key = table["key"][row].as_py()
        if key is not None and data[:4] == b"k8s:":
            place = classify(split_key(key, self._prefix), {})
            opened = self._unsealer.open(key, resource_of(place), data)
            return Before(opened.data, revision, opened.reason or "")
        return Before(data, revision)


class Changes:
    """Judges the objects of an audit as changes of the state before.

    Args:
        plan: Of the audit; it has old sources.
        unsealer: Opens encrypted values.
        program: Returns the program of a definition at a version.
    """

    def __init__(
        self, plan: Plan, unsealer: Any, program: Callable[[CustomResourceDefinition, str], AuditProgram]
    ) -> None:
        self._old = OldObjects(plan.identities, plan.old, unsealer, plan.options.etcd_prefix)
        self._replace = plan.options.apply == "replace"
        self._ratcheting = plan.options.ratcheting
        self._program = program
        self._noops: dict[int, NoopUpdates] = {}

    def before(
        self, definition: CustomResourceDefinition, namespace: str | None, name: str | None, *, is_manifest: bool
    ) -> Before | None:
        """Return what an object was; None: it is new."""
        if definition.namespaced and not namespace and is_manifest:
            namespace = "default"
        place = namespace or "" if definition.namespaced else ""
        return self._old.find(identity(definition.group, definition.plural, place, name or ""))

    def applied(self, definition: CustomResourceDefinition, before: Before, data: bytes) -> bytes:
        """Return the JSON of a manifest applied to the object that is there; as it is where that cannot be told."""
        try:
            manifest = jsontext.decode(data)
        except jsontext.GoJsonError:
            return data
        api_version = manifest.get("apiVersion") if type(manifest) is dict else None
        version = api_version.rpartition("/")[2] if type(api_version) is str else ""
        if before.data is None or version not in definition.versions:
            return data
        live = self._program(definition, version).audit(before.data).object
        if live is None:
            return data
        return jsontext.encode((replaced if self._replace else merged)(live, manifest)).encode("utf-8", "surrogatepass")

    def outcome(
        self,
        program: AuditProgram,
        audited: AuditedObject,
        before: Before,
        key: tuple[str | None, str | None] | None,
    ) -> Outcome:
        """Judge the change from what an object was to what it was audited as.

        Args:
            program: What audited it.
            audited: What it becomes.
            before: What it was.
            key: Namespace and name of its key; None: it is a manifest, which says nothing of the status.
        """
        if audited.object is None:
            return NOT_ASKED
        if before.data is None:
            return Outcome((None, None, None))
        old = program.audit(before.data).object
        if old is None:
            return Outcome((500, None, None))
        metadata, known = audited.object.get("metadata") or {}, old.get("metadata") or {}
        if metadata.get("uid") and known.get("uid") and metadata["uid"] != known["uid"]:
            return NOT_ASKED  # deleted and created again: no update
        noop = self._noops.get(id(program))
        if noop is None:
            noop = self._noops[id(program)] = NoopUpdates(program, ratcheting=self._ratcheting)
        place = Place(*(name or "" for name in key or (known.get("namespace"), known.get("name"))))
        verdict = noop.judge_change(audited, old, place, before.revision or 1, with_status=key is not None)
        return judged_change(program, verdict)
