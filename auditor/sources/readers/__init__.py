"""The readers of single files; a new format is a new line of the table.

A reader loads what it needs when it opens a file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from auditor.sources.files.compression import materialize
from auditor.sources.readers import etcd
from auditor.sources.readers.format_reader import DumpFile, FormatReader, Settings
from auditor.sources.signatures import SQLITE_MAGIC, looks_like_etcdctl

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.sources.source_plan import SourcePlan

__all__ = ["DUMPS", "READERS", "DumpFile", "FormatReader", "Settings"]

_NODES: Final = re.compile(rb'\s*\{\s*"kind": "NodeList"')
"""How `kubectl cluster-info dump` begins where it prints everything to one stream, logs between the lists."""


def _open_etcdctl(file: DumpFile, settings: Settings) -> SourcePlan:
    from auditor.sources.etcdctl import open_etcdctl  # noqa: PLC0415 - loaded where needed

    sha256 = file.plain.sha256 or settings.digests.start(file.plain.path)
    return open_etcdctl(file.name, file.plain.path, number=file.number, workdir=settings.workdir, sha256=sha256)


def _open_kine(file: DumpFile, settings: Settings) -> SourcePlan:
    """Read a database with the write-ahead log beside it, compressed or not."""
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
        sha256=file.plain.sha256 or settings.digests.start(file.plain.path),
        wal=wal,
        database="" if file.path is None else str(file.path),
    )


def _is_kine_text(_: Path | None, head: bytes) -> bool:
    if head.lstrip().startswith((b"{", b"[")):
        return False
    from auditor.sources.kine.table_text import looks_like_kine_text  # noqa: PLC0415 - loaded where needed

    return looks_like_kine_text(head)


def _open_kine_text(file: DumpFile, settings: Settings) -> SourcePlan:
    from auditor.sources.kine.table_text import open_kine_text  # noqa: PLC0415 - loaded where needed

    sha256 = file.plain.sha256 or settings.digests.start(file.plain.path)
    return open_kine_text(file.name, file.plain.path, number=file.number, workdir=settings.workdir, sha256=sha256)


def _is_manifests(_: Path | None, head: bytes) -> bool:
    from auditor.sources.manifests.manifest_files import looks_like_manifests  # noqa: PLC0415 - loaded where needed

    return bool(looks_like_manifests(head))


def _open_manifests(file: DumpFile, settings: Settings) -> SourcePlan:
    from auditor.sources.manifests.manifest_table import open_manifests  # noqa: PLC0415 - loaded where needed

    text = file.plain.path
    sha256 = file.plain.sha256 or settings.digests.start(text)
    if _NODES.match(file.head):
        from auditor.sources.archives.layouts import without_logs  # noqa: PLC0415

        text = without_logs(text, settings.workdir / f"text-{file.number:03d}")
    return open_manifests(file.name, text, number=file.number, workdir=settings.workdir, sha256=sha256)


_ALL: Final = (
    etcd.READER,
    FormatReader("sqlite", lambda _, head: head.startswith(SQLITE_MAGIC), _open_kine),
    FormatReader("kine-text", _is_kine_text, _open_kine_text),
    FormatReader("etcdctl", lambda _, head: looks_like_etcdctl(head), _open_etcdctl, is_text=True),
    FormatReader("manifests", _is_manifests, _open_manifests, is_text=True, is_dump=False),
)
READERS: Final = {each.form: each for each in _ALL}
"""By form, in the order in which they are tried: databases are detected without the readers of texts."""
DUMPS: Final = frozenset(form for form, reader in READERS.items() if reader.is_dump)
"""Forms of dumps, which are never a file of manifests."""
