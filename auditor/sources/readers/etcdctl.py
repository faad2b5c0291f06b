"""The reader of the output of ``etcdctl get -w json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.sources.readers.reader import Reader
from auditor.sources.signatures import looks_like_etcdctl

if TYPE_CHECKING:
    from auditor.sources.plan import SourcePlan
    from auditor.sources.readers.reader import DumpFile, Settings

__all__ = ["READER"]


def _open(file: DumpFile, settings: Settings) -> SourcePlan:
    from auditor.sources.etcdctl import open_etcdctl  # noqa: PLC0415 - loaded where needed

    sha256 = file.plain.sha256 or settings.digest(file.plain.path)
    return open_etcdctl(file.name, file.plain.path, number=file.number, workdir=settings.workdir, sha256=sha256)


READER: Final = Reader("etcdctl", lambda _, head: looks_like_etcdctl(head), _open, is_text=True)
