"""Stage 1: find the live keys and the definitions, cut Shards.

The plan is a few small files: one live table a source (Arrow, mapped by workers) and the definitions as NDJSON. A
worker gets a Plan (names of files) once, and then Shards (ranges of rows).
"""

from __future__ import annotations

import base64
import mmap
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
import orjson
import pyarrow as pa

from auditor.base import arrow as kernels
from auditor.base.disk_cache import use_cache
from auditor.base.errors import ChangedDump, DamagedDump, PlanError, UnknownDump
from auditor.crds.definitions_file import FILE, DefinitionsFile, definition_entry, encode_definition, write_definitions
from auditor.crds.specs import KNOWN_SPECS
from auditor.golang import jsontext
from auditor.plan.definition_paths import definition_documents
from auditor.plan.limits import SIZE_IN_MEMORY
from auditor.sources import SourcePlan, open_source
from auditor.sources.crd_files import definitions_in, files_digest, no_collector
from auditor.sources.encryption import make_unsealer
from auditor.sources.files.map_guard import guard_maps
from auditor.sources.files.state import changes, state_of_file, states_below
from auditor.sources.manifests.rows import fast_header
from auditor.sources.plan import Damage, damage_beside, with_printable_names
from auditor.sources.registry_key import printable_key
from auditor.sources.stores.locations import is_remote, modified_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from auditor.base.records import JsonObject, Shard
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.options import AuditOptions
    from auditor.sources.encryption import Unsealer
    from auditor.sources.files.state import FileState
    from auditor.sources.late import LateDigests

__all__ = [
    "CHANGED",
    "CRD_PATH",
    "Given",
    "Plan",
    "SourceShard",
    "cut_value",
    "cut_values",
    "damage_text",
    "first_not_before",
    "has_objects",
    "is_at_rest",
    "look_again",
    "make_plan",
    "open_live",
    "open_values",
    "position_not_before",
    "read_definitions",
]

_CRDS = ("apiextensions.k8s.io", "customresourcedefinitions")
_TOO_LARGE: Final = "needs more memory than there is (--memory): it was not read, and no object of it was judged"
_value = methodcaller("as_py")
_BASE64: Final = msgspec.json.Decoder(bytes)
CRD_PATH = f"/{_CRDS[0]}/{_CRDS[1]}/"


@dataclass(frozen=True, slots=True)
class SourceShard:
    """A shard and the source (position in the plan) whose rows it means; `largest`: bytes of its largest value."""

    source: int
    shard: Shard
    bytes: int
    largest: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The data that every worker needs; picklable.

    Attributes:
        sources: The opened dumps.
        definitions: NDJSON file of definition documents: those of the dumps, replaced by name by those from files.
        entries: One for each of its lines, sorted by name.
        from_files: Names of the definitions that came from files; they count as established.
        crds_sha256: Hash over that file.
        files_sha256: Hash over the files that definitions came from; empty if there are none or the hash is unknown.
        old: Dumps of the state before, if there is one to compare with; they get no rows.
        identities: File of the identities of its objects (`auditor.plan.identities`).
        sealed: Names of definitions in a dump that are sealed by a provider for which no key was given.
        replaced: Definitions of the dumps that were replaced by those from files, by name.
    """

    sources: tuple[SourcePlan, ...]
    definitions: str
    entries: tuple[DefinitionEntry, ...]
    from_files: frozenset[str]
    crds_sha256: str
    options: AuditOptions
    files_sha256: str = ""
    old: tuple[SourcePlan, ...] = ()
    identities: str = ""
    sealed: frozenset[str] = frozenset()
    replaced: dict[str, bytes] = field(default_factory=dict)

    @property
    def definitions_file(self) -> DefinitionsFile:
        """Reads the definitions."""
        return DefinitionsFile(self.definitions)


def open_live(plan: SourcePlan) -> pa.Table:
    """Map the live table of a source; its pages are read on first use."""
    with pa.memory_map(plan.live) as stream:
        return pa.ipc.open_file(stream).read_all()


def open_values(plan: SourcePlan) -> mmap.mmap | bytes:
    """Map the file that values are cut from."""
    with Path(plan.mapped).open("rb") as stream:
        now = state_of_file(plan.mapped, stream.fileno())
        if not is_at_rest(plan, now):
            raise ChangedDump(plan.name, CHANGED, "a file at rest", "read a copy of it")
        if now is not None and now.size == 0:
            return b""
        guard_maps()
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


CHANGED: Final = "it changed after its keys were read"


def is_at_rest(plan: SourcePlan, now: FileState | None = None) -> bool:
    """Return whether the file of the values is unchanged since its keys were read.

    Args:
        plan: The dump.
        now: The state of the open file; if None, the state of the file at that path now.
    """
    before = next((state for state in plan.states if state.path == plan.mapped), None)
    return before is None or before == (now or state_of_file(plan.mapped))


def look_again(plan: Plan) -> str:
    """Note which files changed after they were read as damage of their dumps; return a line for each of them."""
    told = ""
    for source in (*plan.sources, *plan.old):
        found = tuple(changes(source.states))
        source.states = ()  # each is noted once
        if not found:
            continue
        source.sha256 = ""  # the digest of the file is no longer that of the bytes that were judged
        noted = source if source in plan.sources else plan.sources[0]
        noted.damage += found
        told += "".join(f"{damage.line(source.name)}\n" for damage in found)
    return told


def _definitions_of(
    plan: SourcePlan, options: AuditOptions, unsealer: Unsealer, sealed: set[str]
) -> Iterator[tuple[DefinitionEntry, bytes]]:
    """Yield the definitions among the live values of a source with their JSON, without those that do not decode.

    Names of definitions that are sealed without a key are added to `sealed`; those that do not fit into memory count as
    damage.
    """
    prefix = options.etcd_prefix
    if plan.defining == ():
        return
    table = open_live(plan)
    if not table.num_rows:
        return
    values = open_values(plan)
    if plan.is_export:
        among = ((0, table.num_rows),) if plan.defining is None else plan.defining
        rows = _rows_that_mention_definitions(table, values, among)
    else:
        rows = np.flatnonzero(kernels.starts_with(table["key"], prefix.rstrip("/") + CRD_PATH)).tolist()
    for row in rows:
        offset, length = table["offset"][row].as_py(), table["length"][row].as_py()
        data = cut_value(values, offset, length, table["encoding"][row].as_py())
        if not plan.is_export:
            key = table["key"][row].as_py()
            opened = unsealer.open(key, _CRDS, data)
            if opened.data is None:
                if opened.lacks_key:
                    sealed.add(printable_key(key.rpartition(b"/")[2]))
                continue
            data = opened.data
        if options.memory and len(data) * SIZE_IN_MEMORY > options.memory:
            header = fast_header(data)
            name = printable_key(table["key"][row].as_py()) if not plan.is_export else header.name if header else ""
            plan.damage += (Damage(f"definition {name}", f"{len(data)} bytes, {_TOO_LARGE}"),)
            continue
        if options.in_fleet and not plan.is_export and (known := KNOWN_SPECS.read(data)) is not None:
            yield known
            continue
        try:
            document = jsontext.decode(data)
        except jsontext.GoJsonError:
            continue
        for one in definitions_in(document):
            yield _encoded(_name(one), one, stored=not plan.is_export or "status" in one)


def cut_value(values: mmap.mmap | bytes, offset: int, length: int, encoding: int) -> bytes:
    """Return the value of a row of the live table from its file (`tables.LIVE_KEYS`)."""
    data = bytes(values[offset : offset + length])
    return data if encoding != 1 else _decoded(data)


def _decoded(text: bytes) -> bytes:
    """Return the bytes of a text in base64, which the reader of the dump has checked."""
    try:
        return _BASE64.decode(b'"%b"' % text)  # in half the time of `base64`
    except msgspec.MsgspecError:  # it has more padding than it needs
        return base64.b64decode(text)


def cut_values(rows: pa.Table, values: mmap.mmap | bytes) -> Iterator[bytes]:
    """Yield the values of rows of the live table, one at a time."""
    starts, lengths, encodings = (rows[name].to_numpy() for name in ("offset", "length", "encoding"))
    if encodings.any():
        return map(cut_value, repeat(values), starts.tolist(), lengths.tolist(), encodings.tolist())
    return map(values.__getitem__, map(slice, starts.tolist(), (starts + lengths).tolist()))


def has_objects(keys: pa.ChunkedArray, entry: DefinitionEntry, etcd_prefix: str) -> bool:
    """Return whether any of sorted keys belongs to an object of a definition."""
    below = f"{etcd_prefix.rstrip('/')}/{entry.group}/{entry.plural}/".encode()
    first = first_not_before(keys, below)
    return first is not None and first.startswith(below)


def first_not_before(keys: pa.ChunkedArray, key: bytes) -> bytes | None:
    """Return the first of sorted keys that is not before a key, or None."""
    at = position_not_before(keys, key)
    found: bytes | None = keys[at].as_py() if at < len(keys) else None
    return found


def position_not_before(keys: pa.ChunkedArray, key: bytes) -> int:
    """Return the position of the first of sorted keys that is not before a key; their number if there is none."""
    return bisect_left(keys, key, key=_value)


def _rows_that_mention_definitions(
    table: pa.Table, values: mmap.mmap | bytes, among: Iterable[tuple[int, int]]
) -> list[int]:
    offsets, lengths = table["offset"].to_numpy(), table["length"].to_numpy()
    rows: list[int] = []
    for first, end in among:
        starts, ends = offsets[first:end].tolist(), (offsets + lengths)[first:end].tolist()
        for row, start, stop in zip(range(first, end), starts, ends, strict=True):
            if values.find(b'"CustomResourceDefinition"', start, stop) >= 0:
                rows.append(row)
    return rows


class Given(NamedTuple):
    """The definitions in files.

    Attributes:
        by_name: Each with its JSON; the place in the definitions file is still open.
        files_sha256: As in `Plan`.
        states: The files, as they were before they were read.
    """

    by_name: dict[str, tuple[DefinitionEntry, bytes]]
    files_sha256: str
    states: tuple[FileState, ...] = ()


@no_collector()
def read_definitions(
    paths: Sequence[str], known: Callable[[str], tuple[list[bytes], set[str]] | None] | None = None, cache: str = ""
) -> Given:
    """Return the definitions in files.

    Args:
        paths: As `definition_documents` takes them.
        known: Function from a hash of files to what is known about them, as `OldReport.definitions`; known files are
            not parsed.
        cache: Cache folder, for a process that does not use it yet.

    Raises:
        PlanError: There is no definition in them.
        SourceError: A file cannot be read, as `definition_documents`.
    """
    use_cache(cache)
    states = tuple(state for path in paths if path != "-" and not is_remote(path) for state in states_below(path))
    files_sha256 = files_digest(paths)
    written = known(files_sha256) if known and files_sha256 else None
    by_name = None if written is None else _as_written(*written)
    if by_name is None:
        documents = {_name(document): document for document in definition_documents(paths)}
        by_name = {name: _encoded(name, document, stored=False) for name, document in documents.items()}
    if paths and not by_name:
        raise PlanError(", ".join(paths), "no definition found", "at least one CustomResourceDefinition")
    return Given(by_name, files_sha256, states)


def _as_written(lines: list[bytes], names: set[str]) -> dict[str, tuple[DefinitionEntry, bytes]] | None:
    """Return the definitions of some names among lines, or None if they would be written in another way."""
    found = {}
    for line in lines:
        try:
            document = orjson.loads(line)
        except orjson.JSONDecodeError:  # a number or a string that only Go's own decoder reads
            return None
        if (name := _name(document)) in names:
            found[name] = _encoded(name, document, stored=False)
            if found[name][1] != line:
                return None
    return found if found.keys() == names else None


def _encoded(name: str, document: JsonObject, *, stored: bool) -> tuple[DefinitionEntry, bytes]:
    return definition_entry(name, document, stored), encode_definition(document)


def make_plan(
    options: AuditOptions,
    workdir: Path,
    from_files: Callable[[], Given] | None = None,
    *,
    go_on: bool = False,
    digests: LateDigests | None = None,
) -> Plan:
    """Open every dump, find the definitions.

    Args:
        options: The options of the run.
        workdir: Folder for live tables and definitions.
        from_files: Returns the result of `read_definitions`, if the caller reads the files of definitions.
        go_on: Record a dump that cannot be read as damage of the first readable one.
        digests: As `open_source` takes them.

    Raises:
        SourceError: A dump cannot be read at all; with `go_on`: none can.
    """
    unsealer = make_unsealer(options.encryption_config, options.kms_decryptor)
    broken: list[DamagedDump | UnknownDump] | None = [] if go_on else None
    sources = _opened(options.dumps, options, workdir, 0, unsealer, broken, digests)
    if broken and not sources:
        raise broken[0]
    if broken:
        sources[0].damage += tuple(damage_beside(error) for error in broken)
    old = _opened(options.old, options, workdir, len(sources), unsealer)
    by_name: dict[str, tuple[DefinitionEntry, bytes]] = {}
    sealed: set[str] = set()
    for source in (*old, *sources):
        for entry, text in _definitions_of(source, options, unsealer, sealed):
            by_name[entry.name] = entry, text
    given = from_files() if from_files else read_definitions(options.crds)
    replaced = {name: by_name[name][1] for name in given.by_name if name in by_name}
    by_name.update(given.by_name)
    if sources:
        sources[0].damage += tuple(replace(one, where=f"definitions {one.where}") for one in changes(given.states))
    path = workdir / FILE
    entries, sha256 = write_definitions(path, (by_name[name] for name in sorted(by_name)))
    identities = workdir / "identities.arrow"
    if old:
        from auditor.plan.identities import write_identities  # noqa: PLC0415 - it needs this module

        write_identities(identities, old, entries, options.etcd_prefix)
    return Plan(
        sources=tuple(sources),
        definitions=str(path),
        entries=entries,
        from_files=frozenset(given.by_name),
        crds_sha256=sha256,
        files_sha256=given.files_sha256,
        options=options,
        old=tuple(old),
        identities=str(identities) if old else "",
        sealed=frozenset(sealed - by_name.keys()),
        replaced=replaced,
    )


def damage_text(sources: Iterable[SourcePlan]) -> str:
    """Return a line for each part of some dumps that could not be read."""
    return "".join(f"{damage.line(source.name)}\n" for source in sources for damage in source.damage)


def _opened(
    dumps: tuple[str, ...],
    options: AuditOptions,
    workdir: Path,
    number: int,
    unsealer: Unsealer,
    broken: list[DamagedDump | UnknownDump] | None = None,
    digests: LateDigests | None = None,
) -> list[SourcePlan]:
    """Open dumps; add errors of those that cannot be read to `broken`, or raise the error if it is None."""
    found: list[SourcePlan] = []
    for dump in dumps:
        try:
            opened = open_source(
                dump,
                number=number + len(found),
                workdir=workdir,
                etcd_prefix=options.etcd_prefix,
                salvage=options.salvage,
                source=options.source,
                unsealer=unsealer,
                digests=digests,
            )
        except (DamagedDump, UnknownDump) as error:
            if broken is None:
                raise
            broken.append(error)
            continue
        changed = modified_at(dump)
        sources = opened if isinstance(opened, list) else [opened]
        found.extend(replace(with_printable_names(source), modified=changed) for source in sources)
    return found


def _name(document: JsonObject) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else jsontext.encode(document.get("spec"))[:200]
