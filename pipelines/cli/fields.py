"""`auditor fields`: only the arguments."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.kubernetes import kubernetes_option
from pipelines.cli.query import cluster_option, query_options, run, source_options

__all__ = ["fields"]


@click.command(short_help="List what field selectors can select by.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("kind", metavar="KIND")
@cluster_option
@click.option("--values", is_flag=True, help="Also list the distinct values, and how many objects have each.")
@click.option("-n", "--namespace", default="", help="With --values: only objects of this namespace.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="At most this many values a field."
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--dump", "dumps", multiple=True, metavar="DUMP", help="Where the dump of REPORT is now.")
@kubernetes_option
@source_options
def fields(target: str, kind: str, *, values: bool, limit: int, output: str, **flags: Any) -> None:
    """List the fields that a kind can be selected by, for each version that is served.

    A selector compares texts: a missing field counts as "". With --values the distinct texts are counted, the most
    frequent first.

    \b
    Examples:
      auditor fields snapshot.db widgets
      auditor fields out/ pods --values
    """
    from pipelines.run.objects.fields import run_fields  # noqa: PLC0415 - help stays light

    run(lambda: run_fields(query_options(target, flags), kind, values=values, limit=limit, output=output))
