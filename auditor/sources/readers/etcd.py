"""The reader of etcd databases: snapshots, copies, and the database of a data directory."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.base.errors import DamagedDump
from auditor.sources.files.compression import HEAD_SIZE
from auditor.sources.files.digest import NO_DIGEST, in_use
from auditor.sources.files.free_space import check_free_space
from auditor.sources.readers.format_reader import FormatReader
from auditor.sources.signatures import BOLT_MAGIC, BOLT_PAGE_SIZES
from auditor.sources.source_plan import SourcePlan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from auditor.sources.bolt import LeafElements
    from auditor.sources.etcd import EtcdFile
    from auditor.sources.etcd.salvage import Salvage
    from auditor.sources.readers.format_reader import DumpFile, Settings


_MAGIC: Final = BOLT_MAGIC.to_bytes(4, "little")
_TRIES: Final = 3


def _detect(path: Path | None, head: bytes) -> bool:
    return head[16:20] == _MAGIC or _has_second_meta(path, head)


def _has_second_meta(path: Path | None, head: bytes) -> bool:
    for page_size in BOLT_PAGE_SIZES:
        if page_size + 20 <= len(head):
            magic = head[page_size + 16 : page_size + 20]
        elif path is None or len(head) < HEAD_SIZE:
            return False  # the file ends with its head
        else:
            with path.open("rb") as stream:
                stream.seek(page_size + 16)
                magic = stream.read(4)
        if magic == _MAGIC:
            return True
    return False


def _open(file: DumpFile, settings: Settings) -> SourcePlan:
    return read_database(settings, file.name, file.plain.path, file.number, sha256=file.plain.sha256)[0]


READER: Final = FormatReader("bolt", _detect, _open)


def read_database(
    settings: Settings, name: str, path: Path, number: int, *, sha256: str = "", form: str = "etcd-snapshot"
) -> tuple[SourcePlan, int | None]:
    """Open an etcd database, or a copy of one that is in use. Return its plan and the Raft index it has applied."""
    late = settings.digests.start(path)
    from auditor.sources.etcd.snapshot import transactions  # noqa: PLC0415 - loads beside the digest

    if not in_use(path):
        before = transactions(path)
        plan, applied = _read_once(settings, name, path, number, sha256, form, late)
        if transactions(path) == before:
            return plan, applied
    for attempt in range(_TRIES):
        copy = settings.workdir / f"copy-{number:03d}-{attempt}.db"
        check_free_space(name, settings.workdir, path.stat().st_size)
        shutil.copyfile(path, copy)
        settings.copied = True
        newest, taken = transactions(path)[:1], transactions(copy)[:1]
        if not taken:
            continue
        digests = settings.digests.for_one()
        late = digests.start(copy)
        plan, applied = _read_once(settings, name, copy, number, sha256, form, late, in_use=True)
        digests.settle_now(plan)
        # A transaction after the copied one does not change its pages. Later ones may have overwritten some; such a
        # page does not fit its position, which is damage.
        if not plan.damage or (newest and newest[0] <= taken[0] + 1):
            plan.notes += (f"the database is in use: its state at revision {plan.revision} was read, from a copy",)
            return plan, applied
        copy.unlink()
    raise DamagedDump(name, "being written while it is read", "a file at rest", "take a snapshot instead")


class _CountedRevisions:
    """Counts the revisions of batches of rows on the way."""

    def __init__(self, batches: Iterator[LeafElements]) -> None:
        self._batches = batches
        self.revisions = 0

    def __iter__(self) -> Iterator[LeafElements]:
        for rows in self._batches:
            self.revisions += len(rows)
            yield rows


def _with_saved(reached: _CountedRevisions, saved: Salvage) -> Iterator[LeafElements]:
    yield from reached
    yield from saved.rows(reached.revisions)


def _read_once(
    settings: Settings,
    name: str,
    path: Path,
    number: int,
    sha256: str,
    form: str,
    late: str,
    *,
    in_use: bool = False,
) -> tuple[SourcePlan, int | None]:
    from auditor.sources.etcd.mvcc import write_live_table  # noqa: PLC0415 - readers are loaded where needed
    from auditor.sources.etcd.salvage import Salvage  # noqa: PLC0415
    from auditor.sources.etcd.snapshot import EtcdFile, MetaValues  # noqa: PLC0415
    from auditor.sources.notes import lost_damage, salvage_notes  # noqa: PLC0415

    file = EtcdFile.open(path, name=name, salvage=settings.salvage)
    live = settings.workdir / f"live-{number:03d}.arrow"
    values = MetaValues.of(file.values(b"meta"))
    file.note_losses("meta")
    compacted = max(values.finished or 0, values.scheduled or 0)
    saved = Salvage(file.view, file.tree, compacted if values.keys else None, file.buckets.get(b"key"))
    reached = _CountedRevisions(file.rows(b"key"))
    rows = _with_saved(reached, saved) if settings.salvage else iter(reached)
    until = _last_revision(file) if in_use else None
    written = write_live_table(
        file.view, rows, live, workdir=settings.workdir, number=number, report=file.report, until=until
    )
    has_gaps = any(not loss.read_all for loss in file.tree.losses)
    lost = None if has_gaps else saved.lost(reached.revisions)
    file.note_losses()
    if lost is not None:
        file.damage.add(*lost_damage(lost, reached.revisions, salvaged=settings.salvage))
    notes = [*file.notes, late]
    if (values.scheduled or 0) > (values.finished or 0):
        notes.append(f"a compaction at revision {values.scheduled} was started and not finished")
    plan = SourcePlan(
        name=name,
        format=form,
        mapped=str(path),
        sha256=sha256 or late,
        revision=values.current_revision(written.last),
        compacted_revision=max(values.finished or 0, values.scheduled or 0) or None,
        is_export=False,
        live=str(live),
        rows=written.rows,
        damage=file.damage.records(),
        notes=tuple(notes),
    )
    if settings.salvage and (has_gaps or saved.revisions):
        plan.notes += tuple(salvage_notes(saved, plan))
    return plan, values.consistent_index


def open_data_dir(settings: Settings, path: Path, database: Path, number: int) -> SourcePlan:
    """Open an etcd data directory: its database alone."""
    now = replace(settings, digests=settings.digests.for_one())
    plan, applied = read_database(now, str(path), database, number, form="etcd-data-dir")
    now.digests.settle_now(plan)  # it has no checksum, which is normal for a data directory: see below
    settings.copied = settings.copied or now.copied
    from auditor.sources.etcd.wal import read_wal  # noqa: PLC0415 - loaded where needed
    from auditor.sources.notes import wal_notes  # noqa: PLC0415

    logs = database.parent.parent / "wal"
    if any(logs.glob("*.wal")):
        if applied is None and plan.damage:  # a new database has none either
            plan.notes += ("what the write-ahead log holds beyond the database is not known: its index is lost",)
        else:
            plan.notes += tuple(wal_notes(read_wal(logs, applied or 0)))
    else:
        plan.notes += ("no write-ahead log beside the database: what it held beyond the database is missing",)
    return replace(plan, notes=tuple(note for note in plan.notes if note != NO_DIGEST))


def _last_revision(file: EtcdFile) -> int | None:
    """Return the last revision of a database's state; later rows are from later transactions."""
    bucket = file.buckets.get(b"key")
    from auditor.sources.etcd.mvcc import parse_revision  # noqa: PLC0415 - loaded where needed

    revision = parse_revision(file.tree.last_key(bucket) or b"") if bucket is not None else None
    return revision.main if revision else None
