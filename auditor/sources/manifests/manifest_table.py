"""Reads manifests into a live table: objects exported through an API, or written by people.

Supported: NDJSON, one JSON object, JSON values one after another, ``kind: List`` and typed lists (nested ones are
flattened), a bare JSON array, YAML of one or many documents, folders of all these; with byte order marks and in UTF-16.
Workers cut objects out of the file itself if they are complete there, else out of a spool of JSON lines.

An export has no keys and revisions, so every plan has `is_export`; lines that were copied from etcd look the same and
are treated the same.
"""

from __future__ import annotations

import codecs
import hashlib
import shutil
from bisect import bisect_left
from contextlib import ExitStack
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from auditor.base.errors import DamagedDump, SourceError, UnknownDump
from auditor.sources.files.compression import PACKED_SUFFIXES
from auditor.sources.files.digest import map_file
from auditor.sources.files.folders import SmallFiles, not_a_file, whole_file
from auditor.sources.files.helpers import NO_HELPERS, Helpers
from auditor.sources.manifests.export_table import ManifestRows
from auditor.sources.manifests.manifest_files import (
    BLOCK,
    MANIFEST_SUFFIXES,
    UTF16,
    manifest_paths,
    name_below,
    text_bytes,
    unpacked,
)
from auditor.sources.manifests.manifest_walk import PRINTED, ManifestWalk
from auditor.sources.manifests.sinks import NeedsSpool, Spans, Spool
from auditor.sources.source_plan import NAMED, DamageLog, SourcePlan, first_names

if TYPE_CHECKING:
    import mmap


_YAML: Final = (".yaml", ".yml")
_WORK_OF_YAML: Final = 5
"""Work of reading a file of YAML, as a multiple of that for one of JSON."""
_WORTH_HELPERS: Final = 20_000
"""Least work that is shared with other processes: less is done before they have started."""


def _bytes_of(path: str) -> mmap.mmap | bytes:
    """Return the bytes of a file, read once; one of more than a block is mapped."""
    data = whole_file(path, BLOCK)
    return map_file(path) if data is None else data


def _as_utf8(data_file: Path, target: Path) -> Path | None:
    """Write a UTF-16 file as UTF-8 to `target`; None if it is not UTF-16."""
    with data_file.open("rb") as source:
        encoding = UTF16.get(source.read(2))
        if encoding is None:
            return None
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        with target.open("wb") as out:
            while block := source.read(BLOCK):
                out.write(decoder.decode(block).encode("utf-8", "replace"))
            out.write(decoder.decode(b"", final=True).encode("utf-8", "replace"))
    return target


def _walk_spans(data: Any, number: int) -> tuple[ManifestWalk, ManifestRows] | None:
    rows = ManifestRows(number)
    walk = ManifestWalk(Spans(rows))
    try:
        walk.walk(data)
    except NeedsSpool:
        return None
    return walk, rows


def _walk_into_spool(data: Any, number: int, spool: Path) -> tuple[ManifestWalk, ManifestRows]:
    rows = ManifestRows(number)
    with spool.open("wb") as file:
        walk = ManifestWalk(Spool(rows, file))
        walk.walk(data)
    return walk, rows


def _refuse_empty(name: str, walk: ManifestWalk) -> None:
    if walk.objects:
        return
    if walk.tables:
        raise UnknownDump(name, "the output of a printer (kind: Table)", "Kubernetes objects", PRINTED)
    for first in walk.damage.records():
        raise DamagedDump(name, f"{first.where}: {first.reason}", "Kubernetes objects as JSON or YAML")


def open_manifests(path: str, data_file: Path, *, number: int, workdir: Path, sha256: str = "") -> SourcePlan:
    """Find the objects in one file of manifests.

    Args:
        path: The path that the user gave.
        data_file: The uncompressed file: the file itself or a spool.
        number: Position of the dump among the inputs.
        workdir: Folder for the live table, and for a spool of objects if one is needed.
        sha256: SHA-256 of the given file.

    Returns:
        The plan; rows in the order of group, kind, namespace, name, then position. `format` is ndjson, json,
        list-json or yaml.

    Raises:
        UnknownDump: The file is a printed table.
        DamagedDump: Nothing in it can be read.
    """
    notes = []
    converted = _as_utf8(data_file, workdir / f"utf8-{number}.txt")
    if converted is not None:
        notes.append("UTF-16 text, read as UTF-8; broken characters became U+FFFD")
        data_file = converted
    data = map_file(data_file)
    mapped = data_file
    spans = _walk_spans(data, number)
    if spans is None:
        mapped = workdir / f"objects-{number}.ndjson"
        spans = _walk_into_spool(data, number, mapped)
    walk, rows = spans
    _refuse_empty(path, walk)
    live = workdir / f"live-{number}.arrow"
    if not walk.objects:
        notes.append("no object in this file")
    count = rows.write(live)
    return SourcePlan(
        name=path,
        format=walk.format,
        mapped=str(mapped),
        sha256=sha256,
        revision=None,
        compacted_revision=None,
        is_export=True,
        live=str(live),
        rows=count,
        damage=walk.damage.records(),
        notes=(*notes, *walk.notes, *rows.notes()),
        defining=rows.defining,
        kinds=rows.kinds,
    )


class _Folder:
    """Reads the files of a folder into one spool."""

    def __init__(self, root: Path, number: int, file: BinaryIO, small: SmallFiles | None) -> None:
        self.root = root
        self.small = small or SmallFiles()
        self.rows = ManifestRows(number)
        self.spool = Spool(self.rows, file)
        self.damage = DamageLog()
        self.notes: list[str] = []
        self.formats: set[str] = set()
        self.digests: list[str] = []

    def add(self, path: str) -> None:
        name = name_below(path, self.root)
        read, broken = self.small.take(path), ""
        if read is None and (odd := not_a_file(path)):
            self.damage.add(name, odd)
            return
        try:
            data = _bytes_of(path) if read is None else read
            digest = hashlib.sha256(data).hexdigest()
            if name.lower().endswith(PACKED_SUFFIXES):
                data, broken = unpacked(Path(path))
        except (SourceError, OSError) as error:
            self.damage.add(name, str(getattr(error, "found", error)))
            return
        self.digests.append(f"{name}\0{digest}\n")
        if broken:
            self.damage.add(name, broken)
        walk = ManifestWalk(self.spool)
        walk.walk(text_bytes(data))
        for damage in walk.damage.records():
            self.damage.add(f"{name}: {damage.where}", damage.reason)
        if walk.objects:
            self.formats.add(walk.format)

    def part(self) -> _Part:
        """Return what was read, for another process."""
        return _Part(self.rows, self.damage, self.formats, self.digests)

    def extend(self, part: _Part, spool: Path) -> None:
        """Take what another process read into a spool of its own, which is removed."""
        self.rows.extend(part.rows, self.spool.at)
        self.damage.extend(part.damage)
        self.formats |= part.formats
        self.digests += part.digests
        with spool.open("rb") as file:
            shutil.copyfileobj(file, self.spool.file, BLOCK)
        spool.unlink()
        self.spool.at = self.spool.file.tell()

    def note_others(self, others: list[str]) -> None:
        if others:
            names = first_names([name_below(path, self.root) for path in others[:NAMED]], len(others))
            self.notes.append(f"{len(others)} files were not read, being no manifests by their names: {names}")


class _Part(NamedTuple):
    """What was read of some files of a folder; the objects are in a spool of their own."""

    rows: ManifestRows
    damage: DamageLog
    formats: set[str]
    digests: list[str]


def _read_part(root: Path, number: int, paths: list[str], spool: Path) -> _Part:
    """Read some files of a folder into a spool."""
    with spool.open("wb", BLOCK) as file:
        folder = _Folder(root, number, file, None)
        for path in paths:
            folder.add(path)
    return folder.part()


def _shares(paths: list[str], helpers: Helpers) -> list[list[str]]:
    """Return the files that this process reads, and those that each helper reads; few are read by this one."""
    work = [_WORK_OF_YAML if path.endswith(_YAML) else 1 for path in paths]
    if not helpers.number or sum(work) < _WORTH_HELPERS:
        return [paths]
    done = list(accumulate(work))
    count = helpers.number + 1
    bounds = [bisect_left(done, done[-1] * place / count) for place in range(1, count)]
    return [paths[start:stop] for start, stop in pairwise((0, *bounds, len(paths)))]


def open_directory(
    path: Path, *, number: int, workdir: Path, small: SmallFiles | None = None, helpers: Helpers = NO_HELPERS
) -> SourcePlan:
    """Find the objects in a folder of manifests and its subfolders.

    Files count by their names: .json .yaml .yml .ndjson .jsonl, and these with .gz, .zst, .xz or .bz2; the notes list
    the others. All objects are copied into one spool.

    Args:
        path: The folder.
        number: The source's position among the inputs.
        workdir: Where the live table and the spool go.
        small: Has read files of the folder for their formats.
        helpers: Other processes that read a part of the files, if they are many.

    Returns:
        The plan; `sha256` is that of the lines ``name NUL digest`` of the files read, in the order of their names;
        `format` is the one that all files have, ``yaml`` where any is YAML, else ``json``.

    Raises:
        UnknownDump: No file in it is a manifest by its name.
    """
    refused: list[OSError] = []
    chosen, others = manifest_paths(path, refused.append)
    if not chosen and refused:
        raise refused[0]
    if not chosen:
        raise UnknownDump(str(path), "no manifest in this folder", f"files named {' '.join(MANIFEST_SUFFIXES)}")
    mapped, live = workdir / f"objects-{number}.ndjson", workdir / f"live-{number}.arrow"
    own, *shares = _shares(chosen, helpers)
    with ExitStack() as stack, mapped.open("wb", BLOCK) as file:
        spools = [workdir / f"objects-{number}-{place}.ndjson" for place in range(len(shares))]
        parts = [
            stack.enter_context(helpers.start(partial(_read_part, path, number, share, spool)))
            for share, spool in zip(shares, spools, strict=True)
        ]
        folder = _Folder(path, number, file, small)
        for error in refused:
            folder.damage.add(name_below(error.filename, path), str(error.strerror))
        for chosen_file in own:
            folder.add(chosen_file)
        for part, spool in zip(parts, spools, strict=True):
            folder.extend(part(), spool)
    folder.note_others(others)
    formats = folder.formats
    return SourcePlan(
        name=str(path),
        format=next(iter(formats)) if len(formats) == 1 else "yaml" if "yaml" in formats else "json",
        mapped=str(mapped),
        sha256=hashlib.sha256("".join(folder.digests).encode()).hexdigest(),
        revision=None,
        compacted_revision=None,
        is_export=True,
        live=str(live),
        rows=folder.rows.write(live),
        damage=folder.damage.records(),
        notes=(*folder.notes, *folder.rows.notes()),
        defining=folder.rows.defining,
        kinds=folder.rows.kinds,
    )
