"""Opens dumps: their live keys, their values, and the definitions that are stored in them."""

from __future__ import annotations

import base64
import mmap
import tempfile
from bisect import bisect_left
from dataclasses import replace
from itertools import repeat
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from auditor.base import arrow as kernels
from auditor.base.errors import ChangedDump, DamagedDump, UnknownDump
from auditor.base.progress import tell
from auditor.crds.definitions_file import definition_entry, encode_definition
from auditor.crds.outline import is_from_server
from auditor.crds.specs import KNOWN_SPECS
from auditor.golang import jsontext
from auditor.plan.limits import SIZE_IN_MEMORY
from auditor.sources import SourcePlan, open_source
from auditor.sources.crd_files import definitions_in
from auditor.sources.files.digest import map_open_file
from auditor.sources.files.helpers import NO_HELPERS, Helpers
from auditor.sources.files.state import state_of_file
from auditor.sources.manifests.object_header import fast_header
from auditor.sources.registry_key import printable_key
from auditor.sources.source_plan import Damage, with_printable_names
from auditor.sources.stores.locations import modified_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.options import AuditOptions
    from auditor.sources.encryption import Unsealer
    from auditor.sources.files.digest import LateDigests
    from auditor.sources.files.state import FileState


_value = methodcaller("as_py")
_CRDS = ("apiextensions.k8s.io", "customresourcedefinitions")
_TOO_LARGE: Final = "needs more memory than there is (--memory): it was not read, and no object of it was judged"
_BASE64: Final = msgspec.json.Decoder(bytes)
CRD_PATH = f"/{_CRDS[0]}/{_CRDS[1]}/"


def opened_dumps(
    dumps: tuple[str, ...],
    options: AuditOptions,
    workdir: Path,
    number: int,
    unsealer: Unsealer,
    broken: list[DamagedDump | UnknownDump] | None = None,
    digests: LateDigests | None = None,
    helpers: Helpers = NO_HELPERS,
) -> list[SourcePlan]:
    """Open dumps; add errors of those that cannot be read to `broken`, or raise the error if it is None."""
    source_plans: list[SourcePlan] = []
    for count, dump in enumerate(dumps):
        tell("opening", count, len(dumps), "files")
        try:
            opened = open_source(
                dump,
                number=number + len(source_plans),
                workdir=workdir,
                etcd_prefix=options.etcd_prefix,
                prefixes=options.prefixes,
                salvage=options.salvage,
                source=options.source,
                unsealer=unsealer,
                digests=digests,
                helpers=helpers,
            )
        except (DamagedDump, UnknownDump) as error:
            if broken is None:
                raise
            broken.append(error)
            continue
        changed = modified_at(dump)
        sources = opened if isinstance(opened, list) else [opened]
        source_plans.extend(replace(with_printable_names(source), modified=changed) for source in sources)
    return source_plans


def open_live(plan: SourcePlan) -> pa.Table:
    """Map the live table of a source; its pages are read on first use."""
    with pa.memory_map(plan.live) as stream:
        return pa.ipc.open_file(stream).read_all()


def first_not_before(keys: pa.ChunkedArray, key: bytes) -> bytes | None:
    """Return the first of sorted keys that is not before a key, or None."""
    position = position_not_before(keys, key)
    first_key: bytes | None = keys[position].as_py() if position < len(keys) else None
    return first_key


def position_not_before(keys: pa.ChunkedArray, key: bytes) -> int:
    """Return the position of the first of sorted keys that is not before a key; their number if there is none."""
    return bisect_left(keys, key, key=_value)


def open_values(plan: SourcePlan) -> mmap.mmap | bytes:
    """Map the file that values are cut from."""
    with Path(plan.mapped).open("rb") as stream:
        now = state_of_file(plan.mapped, stream.fileno())
        if not is_at_rest(plan, now):
            raise ChangedDump(plan.name, CHANGED, "a file at rest", "read a copy of it")
        return map_open_file(stream)


_BLOCK: Final = 1 << 20
"""Bytes of base64 that are decoded at once, a multiple of 4."""
CHANGED: Final = "it changed after its keys were read"


def is_at_rest(plan: SourcePlan, now: FileState | None = None) -> bool:
    """Return whether the file of the values is unchanged since its keys were read.

    Args:
        plan: The dump.
        now: The state of the open file; if None, the state of the file at that path now.
    """
    before = next((state for state in plan.states if state.path == plan.mapped), None)
    return before is None or before == (now or state_of_file(plan.mapped))


def cut_value(values: mmap.mmap | bytes, offset: int, length: int, encoding: int) -> bytes:
    """Return the value of a row of the live table from its file (`tables.LIVE_KEYS`)."""
    data = bytes(values[offset : offset + length])
    return data if encoding != 1 else _decoded(data)


def mapped_value(values: mmap.mmap | bytes, offset: int, length: int, encoding: int) -> memoryview:
    """Return a value that does not fit the memory: mapped, where it is encoded from a file of its own."""
    if encoding != 1:
        return memoryview(values)[offset : offset + length]
    with tempfile.TemporaryFile() as file:
        for start in range(offset, offset + length, _BLOCK):
            file.write(base64.b64decode(values[start : min(start + _BLOCK, offset + length)]))
        file.flush()
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


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


def stored_definitions(
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
        for definition in definitions_in(document):
            yield encoded_definition(
                definition_name(definition), definition, stored=not plan.is_export or is_from_server(definition)
            )


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


def encoded_definition(name: str, document: JsonObject, *, stored: bool) -> tuple[DefinitionEntry, bytes]:
    """Return a definition with its JSON; its place in the definitions file is still open."""
    return definition_entry(name, document, stored), encode_definition(document)


def definition_name(document: JsonObject) -> str:
    """Return the name of a definition, or the beginning of its spec if it has none."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else jsontext.encode(document.get("spec"))[:200]
