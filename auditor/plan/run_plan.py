"""Stage 1: find the live keys and the definitions, cut Shards.

The plan is a few small files: one live table a source (Arrow, mapped by workers) and the definitions as NDJSON. A
worker gets a Plan (names of files) once, and then Shards (ranges of rows).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
import pyarrow as pa

from auditor.base.statuses import KeyClass
from auditor.crds.as_v1 import as_v1
from auditor.crds.conversion import LostWebhook
from auditor.crds.definitions_file import FILE, DefinitionsFile, write_definitions
from auditor.golang import jsontext
from auditor.plan.definition_paths import definitions_at, no_definition, render_of
from auditor.plan.dumps import (
    cut_value,
    definition_name,
    encoded_definition,
    first_not_before,
    open_live,
    open_values,
    opened_dumps,
    stored_definitions,
)
from auditor.sources.crd_files import no_collector
from auditor.sources.encryption import make_unsealer
from auditor.sources.files.helpers import NO_HELPERS, Helpers
from auditor.sources.files.state import changes, states_below
from auditor.sources.registry_key import classify, split_key
from auditor.sources.source_plan import damage_beside
from auditor.sources.stores.locations import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from auditor.base.errors import DamagedDump, UnknownDump
    from auditor.base.records import JsonObject, Shard
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.charts import Render
    from auditor.plan.options import AuditOptions
    from auditor.sources import SourcePlan
    from auditor.sources.files.digest import LateDigests
    from auditor.sources.files.state import FileState
    from auditor.sources.source_plan import Damage


_WEBHOOK_TIMEOUT: Final = "30s"
_WEBHOOK: Final = b'"Webhook"'
"""Text in the JSON of each definition whose objects a webhook converts."""


@dataclass(frozen=True, slots=True)
class SourceShard:
    """A shard and the source (position in the plan) whose rows it means.

    Attributes:
        largest: Bytes of its largest value.
        is_last: Whether it begins with definitions: they take less time once their objects are judged.
    """

    source: int
    shard: Shard
    bytes: int
    largest: int = 0
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The data that every worker needs; picklable.

    Attributes:
        sources: The opened dumps.
        definitions: NDJSON file of definition documents: those of the dumps, replaced by name by those from files.
        entries: One for each of its lines, sorted by name.
        from_files: Names of the definitions that came from files; they count as established.
        crds_sha256: Hash over that file.
        old: Dumps of the state before, if there is one to compare with; they get no rows.
        identities: File of the identities of its objects (`write_identities`).
        sealed: Names of definitions in a dump that are sealed by a provider for which no key was given.
        replaced: Definitions of the dumps that were replaced by those from files, by name.
        lost_webhooks: Why a server cannot call the conversion webhook of definitions, by name, in its words.
    """

    sources: tuple[SourcePlan, ...]
    definitions: str
    entries: tuple[DefinitionEntry, ...]
    from_files: frozenset[str]
    crds_sha256: str
    options: AuditOptions
    old: tuple[SourcePlan, ...] = ()
    identities: str = ""
    sealed: frozenset[str] = frozenset()
    replaced: dict[str, bytes] = field(default_factory=dict)
    lost_webhooks: dict[str, str] = field(default_factory=dict)

    def lost_webhook(self, name: str) -> LostWebhook | None:
        """Return what fails as the conversion webhook of a definition does that no server can call, or None."""
        why = self.lost_webhooks.get(name)
        return None if why is None else LostWebhook(why)

    @property
    def definitions_file(self) -> DefinitionsFile:
        """Reads the definitions."""
        return DefinitionsFile(self.definitions)


def look_again(plan: Plan) -> str:
    """Note which files changed after they were read as damage of their dumps; return a line for each of them."""
    lines = ""
    for source in (*plan.sources, *plan.old):
        changed = tuple(changes(source.states))
        source.states = ()  # each is noted once
        if not changed:
            continue
        source.sha256 = ""  # the digest of the file is no longer that of the bytes that were judged
        noted = source if source in plan.sources else plan.sources[0]
        noted.damage += changed
        lines += "".join(f"{damage.line(source.name)}\n" for damage in changed)
    return lines


def has_objects(keys: pa.ChunkedArray, entry: DefinitionEntry, etcd_prefix: str) -> bool:
    """Return whether any of sorted keys belongs to an object of a definition."""
    below = f"{etcd_prefix.rstrip('/')}/{entry.group}/{entry.plural}/".encode()
    first = first_not_before(keys, below)
    return first is not None and first.startswith(below)


class Given(NamedTuple):
    """The definitions in files.

    Attributes:
        by_name: Each with its JSON; the place in the definitions file is still open.
        states: The files, as they were before they were read.
        unread: Files that may hold more of them.
    """

    by_name: dict[str, tuple[DefinitionEntry, bytes]]
    states: tuple[FileState, ...] = ()
    unread: tuple[Damage, ...] = ()


@no_collector()
def read_definitions(
    paths: Sequence[str],
    render: Render | None = None,
) -> Given:
    """Return the definitions in files.

    Args:
        paths: As `definitions_at` takes them.
        render: How charts are rendered; None if they are not.

    Raises:
        PlanError: There is no definition in them.
        SourceError: A file cannot be read, as `definitions_at`.
    """
    states = tuple(state for path in paths if path != "-" and not is_remote(path) for state in states_below(path))
    given = definitions_at(paths, render=render)
    documents = {definition_name(document): document for document in given.documents}
    by_name = {name: encoded_definition(name, document, stored=False) for name, document in documents.items()}
    if paths and not by_name and not given.unread:
        raise no_definition(paths)
    return Given(by_name, states, given.unread)


def make_plan(
    options: AuditOptions,
    workdir: Path,
    from_files: Callable[[], Given] | None = None,
    *,
    go_on: bool = False,
    digests: LateDigests | None = None,
    helpers: Helpers = NO_HELPERS,
) -> Plan:
    """Open every dump, find the definitions.

    Args:
        options: The options of the run.
        workdir: Folder for live tables and definitions.
        from_files: Returns the result of `read_definitions`, if the caller reads the files of definitions.
        go_on: Record a dump that cannot be read as damage of the first readable one.
        digests: As `open_source` takes them.
        helpers: As `open_source` takes them.

    Raises:
        SourceError: A dump cannot be read at all; with `go_on`: none can.
    """
    unsealer = make_unsealer(options.encryption_config, options.kms_decryptor)
    broken: list[DamagedDump | UnknownDump] | None = [] if go_on else None
    sources = opened_dumps(options.dumps, options, workdir, 0, unsealer, broken, digests, helpers)
    if broken and not sources:
        raise broken[0]
    if broken:
        sources[0].damage += tuple(damage_beside(error) for error in broken)
    old = opened_dumps(options.old, options, workdir, len(sources), unsealer)
    by_name: dict[str, tuple[DefinitionEntry, bytes]] = {}
    sealed: set[str] = set()
    for source in (*old, *sources):
        for entry, text in stored_definitions(source, options, unsealer, sealed):
            by_name[entry.name] = entry, text
    given = from_files() if from_files else read_definitions(options.crds, render=render_of(options))
    replaced = {name: by_name[name][1] for name in given.by_name if name in by_name}
    by_name.update(given.by_name)
    if sources:
        sources[0].damage += tuple(
            replace(change, where=f"definitions {change.where}") for change in changes(given.states)
        )
    path = workdir / FILE
    entries, sha256 = write_definitions(path, (by_name[name] for name in sorted(by_name)))
    identities = workdir / "identities.arrow"
    if old:
        has_manifests = any(source.is_export for source in sources)
        write_identities(identities, old, entries, options.etcd_prefix, with_builtin=has_manifests)
    stored = [entry for entry in entries if entry.name not in given.by_name]
    lost = {} if options.convert_with else _lost_webhooks(sources, stored, DefinitionsFile(path), options.etcd_prefix)
    if lost and digests is not None:
        digests.settle_now(sources)
        if any(source.damage for source in sources):
            lost = {}
    if sources:
        sources[0].damage += given.unread
    return Plan(
        sources=tuple(sources),
        definitions=str(path),
        entries=entries,
        from_files=frozenset(given.by_name),
        crds_sha256=sha256,
        options=options,
        old=tuple(old),
        identities=str(identities) if old else "",
        sealed=frozenset(sealed - by_name.keys()),
        replaced=replaced,
        lost_webhooks=lost,
    )


def _lost_webhooks(
    sources: Sequence[SourcePlan], entries: Iterable[DefinitionEntry], definitions: DefinitionsFile, prefix: str
) -> dict[str, str]:
    """Return why a server cannot call the conversion webhook of definitions, by name, in its words.

    A dump without keys shows what some clients saw, and one with damage lacks something: of these nothing is said.

    Args:
        sources: The dumps.
        entries: The definitions that a server would use as they are stored.
        definitions: Reads them.
        prefix: That of the keys.

    Source: apiserver pkg/util/webhook/client.go, apiextensions-apiserver
    pkg/apiserver/conversion/webhook_converter.go; measured on v1.37.2.
    """
    if any(source.is_export or source.damage for source in sources):
        return {}
    texts = ((entry.name, text) for entry, text in definitions.texts(entries) if _WEBHOOK in text)
    named = [(name, service) for name, text in texts if (service := _service_of(as_v1(jsontext.decode(text))))]
    if not named:
        return {}
    below = f"{prefix.rstrip('/')}/services/specs/".encode()
    tables = [open_live(source)["key"] for source in sources]
    if not any((first_not_before(keys, below) or b"").startswith(below) for keys in tables):
        return {}
    lost = {}
    for name, service in named:
        namespace, own, path, port = service
        key = below + f"{namespace}/{own}".encode()
        if not any(first_not_before(keys, key) == key for keys in tables):
            url = f"https://{own}.{namespace}.svc:{port}{path}?timeout={_WEBHOOK_TIMEOUT}"
            lost[name] = f'Post "{url}": service "{own}" not found'
    return lost


def _service_of(document: Any) -> tuple[str, str, str, int] | None:
    """Return namespace, name, path and port of the Service of a definition's conversion webhook."""
    service = document.get("spec")
    for step in ("conversion", "webhook", "clientConfig", "service"):
        service = service.get(step) if type(service) is dict else None
    if type(service) is not dict or document["spec"]["conversion"].get("strategy") != "Webhook":
        return None
    namespace, name, path, port = (service.get(each) for each in ("namespace", "name", "path", "port"))
    if type(namespace) is not str or type(name) is not str:
        return None
    path = path if type(path) is str else ""
    return namespace, name, path if path.startswith("/") else f"/{path}", port if type(port) is int else 443


def damage_text(sources: Iterable[SourcePlan]) -> str:
    """Return a line for each part of some dumps that could not be read."""
    return "".join(f"{damage.line(source.name)}\n" for source in sources for damage in source.damage)


_BATCH: Final = 50_000
_SCHEMA: Final = pa.schema([("identity", pa.binary()), ("source", pa.int32()), ("row", pa.int64())])


def identity(group: str, plural: str, namespace: str, name: str) -> bytes:
    """Return the key by which an object is looked up."""
    return f"{group}\0{plural}\0{namespace}\0{name}".encode("utf-8", "surrogatepass")


def write_identities(
    path: Path,
    sources: Sequence[SourcePlan],
    entries: Sequence[DefinitionEntry],
    etcd_prefix: str,
    *,
    with_builtin: bool = False,
) -> int:
    """Write the identities of all custom resources of some sources, sorted; if two are equal, the last one counts.

    Workers map the file and search it.

    Args:
        path: The file.
        sources: The sources.
        entries: The definitions of their custom resources.
        etcd_prefix: The prefix of the keys.
        with_builtin: Whether objects of built-in kinds are written too; those of exports by kind, not by plural.
    Returns:
        Their number.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - it makes 300 functions when it is loaded

    scopes = {(entry.group, entry.plural): entry.namespaced for entry in entries}
    kinds = {(entry.group, entry.kind): entry for entry in entries}
    batches: list[pa.RecordBatch] = [pa.RecordBatch.from_pylist([], schema=_SCHEMA)]
    for number, source in enumerate(sources):
        pairs: list[tuple[bytes, int]] = []
        for row, name in _identities(source, scopes, kinds, etcd_prefix, with_builtin=with_builtin):
            pairs.append((name, row))
            if len(pairs) >= _BATCH:
                batches.append(_batch(pairs, number))
                pairs = []
        batches.append(_batch(pairs, number))
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
    *,
    with_builtin: bool,
) -> Iterator[tuple[int, bytes]]:
    table = open_live(source)
    if not source.is_export:
        for row, key in enumerate(table["key"].to_pylist()):
            place = classify(split_key(key, etcd_prefix), scopes)
            is_builtin = place.status in (KeyClass.BUILTIN, KeyClass.DEFINITION)
            if place.status is KeyClass.CUSTOM or (with_builtin and is_builtin):
                yield row, identity(place.group or "", place.plural or "", place.namespace or "", place.name or "")
        return
    values = open_values(source)
    spans = zip(*(table[name].to_pylist() for name in ("offset", "length", "encoding")), strict=True)
    for row, (offset, length, encoding) in enumerate(spans):
        object_identity = _of_document(cut_value(values, offset, length, encoding), kinds, with_builtin=with_builtin)
        if object_identity is not None:
            yield row, object_identity


def _of_document(data: bytes, kinds: Mapping[tuple[str, str], DefinitionEntry], *, with_builtin: bool) -> bytes | None:
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
    group = api_version.rpartition("/")[0]
    entry = kinds.get((group, kind))
    name = metadata.get("name")
    if type(name) is not str:
        return None
    if entry is None:
        namespace = metadata.get("namespace")
        return identity(group, kind, namespace if type(namespace) is str else "", name) if with_builtin else None
    return identity(entry.group, entry.plural, namespace_of(entry, metadata), name)


def namespace_of(entry: DefinitionEntry, metadata: JsonObject) -> str:
    """Return the namespace of a manifest, or the client's default if it names none."""
    if not entry.namespaced:
        return ""
    namespace = metadata.get("namespace")
    return namespace if type(namespace) is str and namespace else "default"
