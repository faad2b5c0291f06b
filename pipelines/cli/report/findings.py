"""`auditor findings`."""

from __future__ import annotations

import sys
from typing import Any

import click

from pipelines.cli.options.made import FORMS_OF_ROWS, options
from pipelines.console import ignore_closed_stdout

__all__ = ["findings"]


@click.command(short_help="List the causes of a report, or the objects of one cause.")
@click.argument("report", metavar="REPORT")
@click.argument("cause", metavar="[CAUSE]", default="")
@options(
    "clusters_of_fleet namespaces kind severities change owner output lines color",
    output=FORMS_OF_ROWS,
)
def findings(report: str, cause: str, *, output: str, lines: int, color: str, **flags: Any) -> None:
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

    names = ("cluster", "namespace", "kind", "severity", "change", "owner")
    filters = Filters(*(flags[name] for name in names))
    with ignore_closed_stdout():
        sys.exit(run_findings(ViewOptions(report, output, color, lines, filters), cause))
