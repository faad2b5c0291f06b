"""`auditor changes`: prints all that an upgrade scan found, from its report."""

from __future__ import annotations

import click

from pipelines.cli.options.made import options
from pipelines.console import ignore_closed_stdout


@click.command(short_help="Print all that an upgrade scan found.")
@click.argument("report", metavar="REPORT")
@click.argument("kind", default="", metavar="[KIND]")
@options("output")
def changes(report: str, kind: str, *, output: str) -> None:
    """Print what `auditor upgrade` found, whole: its answer and its plans, then each cause with its examples.

    KIND is a kind, a plural or the name of a definition.

    \b
    Examples:
      auditor changes out/
      auditor changes out/ widgets.example.com -o markdown
    """
    from pipelines.run.report.findings import run_changes  # noqa: PLC0415

    with ignore_closed_stdout():
        run_changes(report, kind, output)
