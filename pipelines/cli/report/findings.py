"""`auditor findings`."""

from __future__ import annotations

import sys

import click

from pipelines.cli.options.view import filter_options, view_options
from pipelines.console import ignore_closed_stdout

__all__ = ["findings"]


@click.command(short_help="List the causes of a report, or the objects of one cause.")
@click.argument("report", metavar="REPORT")
@click.argument("cause", metavar="[CAUSE]", default="")
@click.option("--cluster", multiple=True, metavar="NAME", help="Only these clusters of a fleet.")
@filter_options
@view_options
def findings(
    report: str,
    cause: str,
    cluster: tuple[str, ...],
    namespace: tuple[str, ...],
    kind: tuple[str, ...],
    severity: tuple[str, ...],
    change: tuple[str, ...],
    owner: tuple[str, ...],
    output: str,
    lines: int,
    color: str,
) -> None:
    """List the causes of a report, worst and new ones first; with CAUSE show its objects and their findings.

    REPORT is a folder that `auditor audit` or `auditor upgrade` wrote, or its URL in an object store. CAUSE is an id
    from the list, or its first digits; the id of a topic, as the summary has it, lists the causes of the topic.

    \b
    Examples:
      auditor findings out/tonight --change new
      auditor findings out/tonight 9b20e7d4
      auditor findings out/tonight -n 'team-*' --severity critical --severity high -o csv
    """
    from auditor.report.findings.filters import Filters  # noqa: PLC0415
    from pipelines.run.report.findings import ViewOptions, run_findings  # noqa: PLC0415

    filters = Filters(cluster, namespace, kind, severity, change, owner)
    with ignore_closed_stdout():
        sys.exit(run_findings(ViewOptions(report, output, color, lines, filters), cause))
