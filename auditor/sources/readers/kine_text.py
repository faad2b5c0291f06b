"""The reader of kine's table as text: CSV, tab-separated, or COPY of PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.sources.readers.reader import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.sources.plan import SourcePlan
    from auditor.sources.readers.reader import DumpFile, Settings

__all__ = ["READER"]


def _detect(_: Path | None, head: bytes) -> bool:
    if head.lstrip().startswith((b"{", b"[")):
        return False
    from auditor.sources.kine.text import looks_like_kine_text  # noqa: PLC0415 - loaded where needed

    return looks_like_kine_text(head)


def _open(file: DumpFile, settings: Settings) -> SourcePlan:
    from auditor.sources.kine.text import open_kine_text  # noqa: PLC0415 - loaded where needed

    sha256 = file.plain.sha256 or settings.digest(file.plain.path)
    return open_kine_text(file.name, file.plain.path, number=file.number, workdir=settings.workdir, sha256=sha256)


READER: Final = Reader("kine-text", _detect, _open)
