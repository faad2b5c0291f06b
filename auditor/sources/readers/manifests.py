"""The reader of Kubernetes objects as JSON, NDJSON or YAML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from auditor.sources.readers.reader import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.sources.plan import SourcePlan
    from auditor.sources.readers.reader import DumpFile, Settings

__all__ = ["READER"]

_NODES: Final = re.compile(rb'\s*\{\s*"kind": "NodeList"')
"""How `kubectl cluster-info dump` begins where it prints everything to one stream, logs between the lists."""


def _detect(_: Path | None, head: bytes) -> bool:
    from auditor.sources.manifests.reading import looks_like_manifests  # noqa: PLC0415 - loaded where needed

    return bool(looks_like_manifests(head))


def _open(file: DumpFile, settings: Settings) -> SourcePlan:
    from auditor.sources.manifests.reading import open_manifests  # noqa: PLC0415 - loaded where needed

    text, sha256 = file.plain.path, file.plain.sha256
    if _NODES.match(file.head):
        from auditor.sources.archives.layouts import without_logs  # noqa: PLC0415

        sha256 = sha256 or settings.digest(text)
        text = without_logs(text, settings.workdir / f"text-{file.number:03d}")
    return open_manifests(file.name, text, number=file.number, workdir=settings.workdir, sha256=sha256)


READER: Final = Reader("manifests", _detect, _open, is_text=True, is_dump=False)
