"""The reader of kine's SQLite database, with the write-ahead log beside it, compressed or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.sources.files.compression import materialize
from auditor.sources.readers.reader import Reader
from auditor.sources.signatures import SQLITE_MAGIC

if TYPE_CHECKING:
    from auditor.sources.plan import SourcePlan
    from auditor.sources.readers.reader import DumpFile, Settings

__all__ = ["READER"]


def _open(file: DumpFile, settings: Settings) -> SourcePlan:
    from auditor.sources.kine.sqlite import open_kine, wal_of  # noqa: PLC0415 - loaded where needed

    wal = wal_of(file.path) if file.path is not None else None
    if wal is not None:
        folder = settings.workdir / f"wal-{file.number:03d}"
        folder.mkdir()
        wal = materialize(
            str(wal), wal, None, workdir=folder, number=file.number, damage=file.damage, limits=settings.limits
        ).path
    return open_kine(
        file.name,
        file.plain.path,
        number=file.number,
        workdir=settings.workdir,
        sha256=file.plain.sha256 or settings.digest(file.plain.path),
        wal=wal,
        database="" if file.path is None else str(file.path),
    )


READER: Final = Reader("sqlite", lambda _, head: head.startswith(SQLITE_MAGIC), _open)
