"""One run of a job: finds the earlier report, holds the lock, records how the run ended, removes surplus reports.

With `--diff auto`, each cluster is compared with the last report below the root that has it whole.
"""

from __future__ import annotations

import datetime
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.release import VERSION
from auditor.base.visible import visible
from auditor.history.last_whole import Base, compose, same_way
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.stores.locations import shown_url
from auditor.store.earlier_report import read_manifest
from auditor.store.manifest import scope_options, whole_report
from pipelines.exit_codes import Ended, exit_code_of, has_report, reason_of
from pipelines.log import LOG
from pipelines.run.job.lock import run_lock
from pipelines.run.job.roots import DEFAULT_NAME, free_name, open_root, report_name
from pipelines.run.remote import reports_here

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.plan.options import AuditOptions
    from pipelines.run.job.roots import Keep, Root, StoredReport


_LAST_RUN: Final = "last-run.json"
_REASONS: Final = {
    0: "finished, --fail-on not reached",
    1: "finished, --fail-on reached",
    2: "usage error, or nothing was judged",
    3: "finished, but part of the dumps was not read, or a cluster is missing or stale",
    130: "interrupted",
}
_SUCCESSES: Final = (0, 1)
_NOTHING: Final = 2
"""The exit code of a run that has judged nothing."""
AUTO = "auto"
"""The value of --diff that names the last whole report of each cluster below the root."""


@dataclass(frozen=True, slots=True)
class JobOptions:
    """Options of a job beside those of its audit.

    Attributes:
        root: Folder or URL below which its reports are.
        name: Template of the names of reports.
        keep: Which reports remain; None for all.
        lock: Whether the run holds the lock of the root.
    """

    root: str
    name: str = DEFAULT_NAME
    keep: Keep | None = None
    lock: bool = True


@dataclass(frozen=True, slots=True)
class _Planned:
    """The plan of a run."""

    root: Root
    options: AuditOptions
    name: str
    bases: Bases | None
    """What --diff auto compares with; None without it, or without an earlier report."""
    written: list[str]
    """Names of the reports that runs for this root wrote."""
    surplus: list[tuple[StoredReport, str]]
    """Reports that --keep-reports would remove, with the reason if one must stay."""


def plan_job(job: JobOptions, options: AuditOptions, root: Root | None = None) -> _Planned:
    """Return what a run will do; nothing is written.

    Raises:
        AuditorError: The root cannot be read, or the name is not valid.
    """
    root = root or open_root(job.root)
    now = datetime.datetime.now(datetime.UTC)
    name = report_name(job.name, now) if options.force else free_name(job.name, now, root)
    recorded = _written_reports(root)
    is_listed = options.diff == AUTO or job.keep is not None or recorded is None
    reports = root.reports() if is_listed else []
    bases = choose_bases(reports, options) if options.diff == AUTO else None
    options = replace(
        options,
        report=root.path_of(name),
        diff=("" if bases is None else AUTO) if options.diff == AUTO else options.diff,
    )
    if not options.diff:
        options = replace(options, only_new=False, require_change=False)
    written = recorded or []
    if is_listed:
        written = [report.name for report in reports if recorded is None or report.name in recorded]
    others = [report for report in reports if report.name in written and report.name != name]
    surplus = job.keep.surplus(others, now) if job.keep else []
    return _Planned(root, options, name, bases, written, [(report, root.refusal(report)) for report in surplus])


def planned_lines(planned: _Planned) -> list[str]:
    """Return what --dry-run prints."""
    options = planned.options
    lines = [f"would write   {shown_url(options.report)}"]
    diff = planned.bases.lines() if planned.bases else [shown_url(options.diff) or "no report"]
    lines += [f"{'--diff':<13} {shown}" for shown in diff]
    for report, refusal in planned.surplus:
        shown = shown_url(report.location)
        names = named(_needed(planned, report))
        why = refusal or (f"unless this run has {names} whole, it is the last report that has" if names else "")
        lines.append(f"would keep    {shown}: {why}" if why else f"would remove  {shown}")
    lines += [f"would remove  what a killed run left of {name}" for name in planned.root.leftovers()]
    return lines


@contextmanager
def run_job(job: JobOptions, options: AuditOptions) -> Iterator[AuditOptions]:
    """Yield the options of the audit; the block runs it and ends with SystemExit, or with an error.

    Raises:
        Locked: Another run holds the lock of the root.
    """
    root = open_root(job.root)
    report_name(job.name, datetime.datetime.now(datetime.UTC))  # an invalid one is refused before anything is written
    with ExitStack() as stack:
        root.prepare()
        if job.lock:
            stack.enter_context(run_lock(root))
        for name in root.leftovers():
            LOG.info("leftover", f"removing what a killed run left of {name}", report=name)
            root.clear(name)
        planned = plan_job(job, options, root)
        made = planned.options
        if options.diff == AUTO and not made.diff:
            LOG.info("first", f"no earlier report below {shown_url(root.location)}: nothing is compared")
        if planned.bases is not None:
            folder = stack.enter_context(temporary_folder("base"))
            made = replace(made, diff=earlier_report(planned.bases, stack, folder))
        earlier = planned.bases.newest.location if planned.bases else made.diff
        record = _LastRun(root, made.report, earlier, planned.written)
        record.write_start()
        root.begin(planned.name)
        try:
            yield made
        except BaseException as error:
            code = exit_code_of(error)
            is_written = _was_written(error, planned)
            root.end(planned.name, written=is_written)
            is_kept = code == _NOTHING or not isinstance(error, SystemExit)
            left = _remove_surplus(planned, nothing=is_kept) if is_written else None
            record.write_end(code, reason_of(error), left)
            raise
        root.end(planned.name, written=True)
        record.write_end(0, reports=_remove_surplus(planned))


def _was_written(error: BaseException, planned: _Planned) -> bool:
    """Return whether a run with this end has written its report: its exit code says so, or what a signal has left."""
    if isinstance(error, SystemExit):
        return exit_code_of(error) in (0, 1, 2, 3)
    is_signal = isinstance(error, (Ended, KeyboardInterrupt))
    return is_signal and has_report() and planned.root.coverage(planned.name) is not None


def _needed(planned: _Planned, report: StoredReport) -> list[str]:
    """Return the clusters that a report has whole, and no later one: without it they would be compared with nothing."""
    return planned.bases.clusters_of(report) if planned.bases else []


def _remove_surplus(planned: _Planned, *, nothing: bool = False) -> list[str]:
    """Remove what --keep-reports no longer keeps; return the names of the reports that are left, newest first.

    Args:
        planned: The plan of the run.
        nothing: Remove none: the run has judged nothing, or is being stopped.
    """
    left = [planned.name, *(name for name in planned.written if name != planned.name)]
    if nothing:
        return left
    coverage = planned.root.coverage(planned.name) if planned.surplus and planned.bases else None
    whole = coverage.whole if coverage else frozenset()
    for report, refusal in planned.surplus:
        if names := [name for name in _needed(planned, report) if name not in whole]:
            text = f"{shown_url(report.location)} stays: it is the last report that has {named(names)} whole"
            LOG.info("kept", text, report=report.name)
            continue
        if refusal:
            LOG.warning("kept", f"{shown_url(report.location)} is not removed: {refusal}", report=report.name)
            continue
        planned.root.remove(report)
        left.remove(report.name)
        LOG.info("removed", f"removed {shown_url(report.location)} (--keep-reports)", report=report.name)
    return left


# ---- the record of a run


class _LastRun:
    """`last-run.json`: start, end, exit code and its reason of the last run for a report root; the reports of its runs.

    Args:
        root: Where it is written.
        report: The report that the run writes.
        earlier: The report that it compares with; empty if there is none.
        reports: Names of the complete reports that runs for this root have written.
    """

    def __init__(self, root: Root, report: str, earlier: str, reports: list[str]) -> None:
        self._root = root
        self._content: dict[str, Any] = {
            "tool": "auditor",
            "version": VERSION,
            "started": _now(),
            "ended": None,
            "exit_code": None,
            "reason": "running, or killed",
            "report": shown_url(report),
            "since": shown_url(earlier) or None,
            "last_success": _earlier(root).get("last_success"),
            "reports": reports,
        }

    def write_start(self) -> None:
        """Write that the run has started; it remains if the process is killed."""
        self._write()

    def write_end(self, code: int, reason: str = "", reports: list[str] | None = None) -> None:
        """Write how the run ended.

        Args:
            code: Its exit code.
            reason: The error; empty for the meaning of the exit code.
            reports: Names of the reports that are left of this run and the earlier ones; None if it wrote none.
        """
        ended = _now()
        self._content |= {
            "ended": ended,
            "exit_code": code,
            "reason": reason or _REASONS.get(code, f"exit code {code}"),
        }
        if code in _SUCCESSES:
            self._content["last_success"] = {"ended": ended, "report": self._content["report"]}
        elif reports is None:
            self._content["report"] = None
        if reports is not None:
            self._content["reports"] = reports
            success = self._content["last_success"]
            kept = {shown_url(self._root.path_of(name)) for name in reports}
            if success and success.get("report") not in kept:
                self._content["last_success"] = {**success, "report": None}
        self._write()

    def _write(self) -> None:
        self._root.write(_LAST_RUN, orjson.dumps(self._content, option=orjson.OPT_INDENT_2) + b"\n")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _written_reports(root: Root) -> list[str] | None:
    """Return the names of the reports that runs for a root wrote: a copy that a person made is none of them.

    None means that all are: a version that did not name them wrote the record.
    """
    earlier = _earlier(root)
    names = earlier.get("reports", None if earlier else [])
    return [name for name in names if type(name) is str] if type(names) is list else None


def _earlier(root: Root) -> dict[str, Any]:
    """Return the record of the run before; empty if there is none."""
    try:
        content = orjson.loads(root.read(_LAST_RUN) or b"null")
    except orjson.JSONDecodeError:
        return {}
    return content if type(content) is dict else {}


@dataclass(frozen=True, slots=True)
class Bases:
    """The reports that the clusters of a run are compared with.

    Attributes:
        newest: The newest report: it says which clusters there are.
        of: The report of each cluster that has one.
    """

    newest: StoredReport
    of: dict[str, StoredReport]

    @property
    def alone(self) -> StoredReport | None:
        """The report that is the base of all clusters, and knows no others; None if there are several or none."""
        reports = {report.location: report for report in self.of.values()}
        if len(reports) != 1 or self.of.keys() != self.newest.coverage.known:
            return None
        (report,) = reports.values()
        return report if report.coverage.known == self.newest.coverage.known else None

    def clusters_of(self, report: StoredReport) -> list[str]:
        """Return the clusters that a report is the base of."""
        return sorted(name for name, base in self.of.items() if base.location == report.location)

    def lines(self) -> list[str]:
        """Return the reports, as people know them, with the clusters of all but the newest."""
        reports = {report.location: report for report in (self.newest, *self.of.values())}
        out = []
        for report in reports.values():
            names = self.clusters_of(report)
            shown = shown_url(report.location)
            is_all = len(names) == len(self.newest.coverage.known)
            out += [shown if is_all else f"{shown} ({named(names)})"] if names else []
        return out or ["no report"]


def named(clusters: Sequence[str]) -> str:
    """Return the names of clusters as people read them."""
    return ", ".join(visible(name) or "the cluster" for name in clusters)


def choose_bases(reports: Sequence[StoredReport], options: AuditOptions) -> Bases | None:
    """Return what each cluster is compared with; None if there is no report.

    Reports that judge the same part of a cluster as this run come first: one of fewer kinds lacks the others.

    Args:
        reports: Complete reports, newest first.
        options: The options of the run.
    """
    own = same_way(
        {
            "at": options.at,
            "skip": list(options.skip),
            "scope": scope_options(options.scope),
            "etcd_prefix": None if options.prefixes else options.etcd_prefix,
        }
    )
    if not reports:
        return None
    alike = [report for report in reports if report.coverage.judged_as == own]
    alike = alike or [report for report in reports if report.coverage.judged_as == reports[0].coverage.judged_as]
    bases = {name: _base_of(name, alike) for name in alike[0].coverage.known}
    return Bases(alike[0], {name: report for name, report in sorted(bases.items()) if report is not None})


def _base_of(cluster: str, reports: Sequence[StoredReport]) -> StoredReport | None:
    """Return the newest report that has a cluster whole; else the newest that has some of it."""
    dated = [report for report in reports if cluster in report.coverage.whole or cluster in report.coverage.older]
    is_older = len(dated) > 1 and cluster in dated[0].coverage.older
    if is_older and dated[0].coverage.continues(dated[1].coverage, cluster):
        return dated[0]
    ranked = [
        *(report for report in reports if cluster in report.coverage.whole),
        *(report for report in reports if cluster in report.coverage.partly),
    ]
    return next(iter(ranked), None)


def earlier_report(bases: Bases, stack: ExitStack, folder: Path) -> str:
    """Return the report that a run is compared with: one below the root, or a folder that is made of several.

    Args:
        bases: The reports.
        stack: Keeps copies of reports in a store until the run has ended.
        folder: Where that folder is made.
    """
    if bases.alone is not None:
        return bases.alone.location
    reports = list({report.location: report for report in (bases.newest, *bases.of.values())}.values())
    local = stack.enter_context(reports_here(*(report.location for report in reports)))
    made = []
    for report, path in zip(reports, local, strict=True):
        shown = shown_url(report.location)
        made.append(Base(Path(path), shown, read_manifest(path, "--diff", shown), bases.clusters_of(report)))
    composed = folder / "report"
    composed.mkdir()
    with whole_report("--diff"):
        compose(composed, made[0], [base for base in made if base.clusters])
    return str(composed)
