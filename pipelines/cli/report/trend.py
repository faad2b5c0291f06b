"""`auditor trend`."""

from __future__ import annotations

import sys

import click

from pipelines.cli.options.made import options
from pipelines.console import ignore_closed_stdout

__all__ = ["trend"]


@click.command(short_help="Show the history of causes: first seen, age, counts, and kinds that became noisy.")
@click.argument("history", metavar="HISTORY")
@options("clusters_of_fleet output lines color", clusters_of_fleet="Only these clusters.", color="")
def trend(history: str, cluster: tuple[str, ...], output: str, lines: int, color: str) -> None:
    """Show the history of causes that `auditor audit --history` wrote, in a folder or an object store.

    A kind is noisy if the number of its objects with findings jumped: its robust z-score against at least 7 runs before
    is 5 or more. The arithmetic is printed.

    \b
    Example:
      auditor audit tonight.db --report out/tonight --history out/history
      auditor trend out/history
    """
    from pipelines.run.report.history import run_trend  # noqa: PLC0415

    with ignore_closed_stdout():
        sys.exit(run_trend(history, clusters=cluster, output=output, color=color, lines=lines))
