"""`auditor summary`."""

from __future__ import annotations

import sys

import click

from pipelines.cli.options.made import FORMS_OF_ROWS, options
from pipelines.console import ignore_closed_stdout

__all__ = ["summary"]


@click.command(short_help="Show the summary of a report: verdict, worst and new causes.")
@click.argument("report", metavar="REPORT")
@options("clusters_of_fleet output lines color", output=FORMS_OF_ROWS)
def summary(report: str, cluster: tuple[str, ...], output: str, lines: int, color: str) -> None:
    """Show the summary of a report: the verdict against the last run, then causes, worst and new ones first.

    REPORT is a folder that `auditor audit` or `auditor upgrade` wrote, or its URL in an object store.

    \b
    Examples:
      auditor summary out/tonight
      auditor summary s3://reports/tonight -o json
    """
    from auditor.report.findings.filters import Filters  # noqa: PLC0415
    from pipelines.run.report.findings import ViewOptions, run_summary  # noqa: PLC0415

    with ignore_closed_stdout():
        sys.exit(run_summary(ViewOptions(report, output, color, lines, Filters(clusters=cluster))))
