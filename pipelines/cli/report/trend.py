"""`auditor trend`."""

from __future__ import annotations

import sys

import click

from pipelines.console import ignore_closed_stdout

__all__ = ["trend"]


@click.command(short_help="Show the history of causes: first seen, age, counts, and kinds that became noisy.")
@click.argument("history", metavar="HISTORY")
@click.option("--cluster", multiple=True, metavar="NAME", help="Only these clusters.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--lines", type=click.IntRange(0), default=25, show_default=True, help="Lines at most; 0 prints all.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
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
