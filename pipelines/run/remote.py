"""Local copies of reports and dumps in object stores, and the upload of new reports."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.base.errors import PlanError
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.stores.folders import remote_files, remote_names, upload
from auditor.sources.stores.locations import is_remote, is_web, local_path, remote_file, shown_url
from auditor.sources.stores.patterns import fetched
from auditor.store.manifest import MANIFEST
from pipelines.exit_codes import forget_reports, note_report
from pipelines.run.report_target import check_manifest_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.plan.options import AuditOptions
    from pipelines.run.objects.query_options import QueryOptions


@contextmanager
def report_here(options: AuditOptions) -> Iterator[AuditOptions]:
    """Yield options whose reports are local; the new report is copied to its store at the end.

    Raises:
        PlanError: The target exists already, or cannot be written.
        SourceError: An earlier report cannot be fetched, or the store refuses the new one.
    """
    local = replace(options, report=_local(options.report), diff=_local(options.diff))
    url = local.report if is_remote(local.report) else ""
    if not url and not is_remote(local.diff):
        yield local
        return
    with temporary_folder("report") as folder:
        if is_web(url):
            raise PlanError(shown_url(url), "a report cannot be written to a web server", "a folder, or an s3:// URL")
        replaced = _replaced(local) if url else []
        if is_remote(local.diff):
            local = replace(local, diff=_one(local.diff, folder / "diff"))
        if url:
            local = replace(local, report=str(folder / "report"))
        yield local
        if url:
            forget_reports()  # what is in place is a copy of this run
            upload(Path(local.report), url, last=MANIFEST, replaced=replaced)
            note_report(url)


def _local(path: str) -> str:
    """Return the path of a ``file://`` URL; others unchanged."""
    return local_path(path) or path


def _replaced(options: AuditOptions) -> list[str]:
    """Return the files of the report in a store that a run replaces, by their paths in the report.

    Raises:
        PlanError: There are files other than those of a report, or the report may not be replaced.
    """
    names = remote_files(options.report)
    if not names:
        return []
    shown = shown_url(options.report)
    if MANIFEST not in names:
        raise PlanError(shown, "holds files that are not a report", "a new or empty folder", "give another --report")
    if not options.force:
        raise PlanError(shown, "holds a report already", "", "give --force to replace it")
    root = shown.rstrip("/")
    for url in filter(is_remote, (*options.dumps, *options.old, *options.crds)):
        if f"{shown_url(url).rstrip('/')}/".startswith(f"{root}/"):
            raise PlanError(
                shown_url(url),
                f"is read by this run and is in {shown}, which --force would remove",
                "",
                "give another --report, or move the input elsewhere",
            )
    with remote_file(f"{options.report.rstrip('/')}/{MANIFEST}").open() as stream:
        manifest = stream.read()
    check_manifest_of(shown, manifest, ((name, True) for name in names))
    return names


@contextmanager
def query_here(options: QueryOptions) -> Iterator[QueryOptions]:
    """Yield options whose report and dumps of a report are local.

    A dump given as the target is not copied: the code that opens it can read from its store.
    """
    here = _local(options.target)
    if here != options.target and (Path(here) / MANIFEST).exists():
        options = replace(options, target=here)
    if not any(is_remote(path) for path in (options.target, *options.dumps)):
        yield options
        return
    with temporary_folder("store") as folder:
        target = options.target
        if is_remote(target) and remote_file(target).is_folder() and MANIFEST in remote_names(target):
            target = _one(target, folder / "report")
        dumps = tuple(
            _one(path, folder / f"dump-{number}") if is_remote(path) else path
            for number, path in enumerate(options.dumps)
        )
        yield replace(options, target=target, dumps=dumps)


@contextmanager
def reports_here(*reports: str) -> Iterator[list[str]]:
    """Yield local folders of reports, some of them in object stores.

    Raises:
        SourceError: One cannot be fetched.
    """
    named = [_local(report) for report in reports]
    if not any(map(is_remote, named)):
        yield named
        return
    with temporary_folder("store") as folder:
        yield [
            _one(path, folder / f"report-{number}") if is_remote(path) else path for number, path in enumerate(named)
        ]


def _one(url: str, folder: Path) -> str:
    files = [str(local) for _, local in fetched(url, folder)]
    if len(files) > 1:
        raise PlanError(shown_url(url), f"matches {len(files)} dumps", "the URL of one", "give each dump on its own")
    return files[0]
