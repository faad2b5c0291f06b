"""What `--diff auto` compares each cluster with: the last report below the root that has it whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.base.visible import visible
from auditor.history.last_whole import Base, compose, same_way
from auditor.sources.stores.locations import shown_url
from auditor.store.manifest import scope_options, whole_report
from auditor.store.reader import read_manifest
from pipelines.run.remote import reports_here

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from auditor.plan.options import AuditOptions
    from pipelines.run.job.roots import StoredReport

__all__ = ["Bases", "choose_bases", "earlier_report", "named"]


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
    alike = [one for one in reports if one.coverage.judged_as == own]
    alike = alike or [one for one in reports if one.coverage.judged_as == reports[0].coverage.judged_as]
    found = {name: _base_of(name, alike) for name in alike[0].coverage.known}
    return Bases(alike[0], {name: report for name, report in sorted(found.items()) if report is not None})


def _base_of(cluster: str, reports: Sequence[StoredReport]) -> StoredReport | None:
    """Return the newest report that has a cluster whole; else the newest that has some of it."""
    dated = [one for one in reports if cluster in one.coverage.whole or cluster in one.coverage.older]
    is_older = len(dated) > 1 and cluster in dated[0].coverage.older
    if is_older and dated[0].coverage.continues(dated[1].coverage, cluster):
        return dated[0]
    ranked = [
        *(one for one in reports if cluster in one.coverage.whole),
        *(one for one in reports if cluster in one.coverage.partly),
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
