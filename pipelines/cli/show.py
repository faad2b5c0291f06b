"""`auditor show`: only the arguments."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.query import cluster_option, query_options, run, source_options

__all__ = ["show"]


@click.command(short_help="Show everything known about one key.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("key", metavar="KEY")
@cluster_option
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option("--dump", "dumps", multiple=True, metavar="DUMP", help="Where the dump of REPORT is now.")
@click.option("--show-secrets", is_flag=True, help="Print the values of Secrets; otherwise they are redacted.")
@source_options
def show(target: str, key: str, *, output: str, **flags: Any) -> None:
    """Print one key: its value as stored and as a server reads it, its findings, its impact, its revisions.

    KEY is the etcd key, or [NAMESPACE/]NAME if the dump was an export. For a report its rows and findings come first.

    \b
    Examples:
      auditor show snapshot.db /registry/example.com/widgets/prod/front
      auditor show out/ /registry/example.com/widgets/prod/front
    """
    from pipelines.run.show import run_show  # noqa: PLC0415 - help stays light

    run(lambda: run_show(query_options(target, flags), key, output=output))
