"""Reports that lie in a store, or are to go there, and their dumps, brought here for commands that need files."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import PlanError
from auditor.sources.stores import fetched, is_remote, is_web, remote_file, remote_names, shown_url, upload
from pipelines.report import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.config import AuditOptions
    from pipelines.query import QueryOptions

__all__ = ["query_here", "report_here"]


@contextmanager
def report_here(options: AuditOptions) -> Iterator[AuditOptions]:
    """Yield options whose reports are local; the one that is written is copied to its store at the end.

    Raises:
        PlanError: There is something where it is to go, or nothing can go there.
        SourceError: An earlier report cannot be had, or the store does not take the new one.
    """
    if not any(is_remote(path) for path in (options.report, options.since, options.diff)):
        yield options
        return
    with tempfile.TemporaryDirectory(prefix="auditor-") as folder:
        local = options
        if is_remote(options.since):
            local = replace(local, since=_one(options.since, Path(folder) / "since"))
        if is_remote(options.diff):
            local = replace(local, diff=_one(options.diff, Path(folder) / "diff"))
        if is_web(options.report):
            raise PlanError(
                shown_url(options.report), "web servers take no files", "a folder, or one in a store: s3://"
            )
        if is_remote(options.report):
            names = remote_names(options.report)
            if names and (MANIFEST not in names or not options.force):
                what = "holds a report already" if MANIFEST in names else "holds files but no report"
                raise PlanError(shown_url(options.report), what, "", "give --force to replace a report, or another one")
            local = replace(local, report=str(Path(folder) / "report"))
        yield local
        if is_remote(options.report):
            upload(Path(local.report), options.report, last=MANIFEST)


@contextmanager
def query_here(options: QueryOptions) -> Iterator[QueryOptions]:
    """Yield options whose report and dumps of a report are local.

    A dump that is asked itself stays where it is: whoever opens it can read it from its store.
    """
    if not any(is_remote(path) for path in (options.target, *options.dumps)):
        yield options
        return
    with tempfile.TemporaryDirectory(prefix="auditor-store-") as workdir:
        folder = Path(workdir)
        target = options.target
        if is_remote(target) and remote_file(target).is_folder() and MANIFEST in remote_names(target):
            target = _one(target, folder / "report")
        dumps = tuple(
            _one(path, folder / f"dump-{number}") if is_remote(path) else path
            for number, path in enumerate(options.dumps)
        )
        yield replace(options, target=target, dumps=dumps)


def _one(url: str, folder: Path) -> str:
    found = [str(local) for _, local in fetched(url, folder)]
    if len(found) > 1:
        raise PlanError(shown_url(url), f"names {len(found)} dumps", "each by itself")
    return found[0]
