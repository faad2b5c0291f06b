"""`auditor watch`: only the arguments."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.made import options
from pipelines.cli.query import query_options, run, source_options

__all__ = ["watch"]


@click.command(short_help="Show what a watch would have sent, from the revisions of a dump.")
@click.argument("target", metavar="DUMP")
@click.argument("kind", metavar="KIND")
@options("clusters_of_report namespace labels fields any_field after output show_secrets kubernetes")
@source_options
def watch(target: str, kind: str, *, after: int | None, output: str, **flags: Any) -> None:
    """Print the changes of a kind's objects, as a watch with these selectors would have sent them.

    An object that starts to match the selectors is ADDED; one that stops matching, or is deleted, is DELETED. An etcd
    database holds every revision since its last compaction.

    \b
    Examples:
      auditor watch snapshot.db widgets --field-selector spec.color=blue
      auditor watch snapshot.db widgets -n prod --from 123456 -o json
    """
    from pipelines.run.objects.watch import run_watch  # noqa: PLC0415 - help stays light

    run(lambda: run_watch(query_options(target, flags), kind, after=after, output=output))
