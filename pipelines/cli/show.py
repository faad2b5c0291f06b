"""`auditor show`: only the arguments."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.made import options
from pipelines.cli.query import query_options, run, source_options

__all__ = ["show"]


@click.command(short_help="Show everything known about one key.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("key", metavar="KEY|KIND/NAME")
@options(
    "clusters_of_report output dumps namespace with_history as_diff show_secrets kubernetes",
    output=("yaml", "json"),
    namespace="Namespace of KIND/NAME.",
)
@source_options
def show(target: str, key: str, *, output: str, with_history: bool, as_diff: bool, **flags: Any) -> None:
    """Print one key: its value as stored and as a server reads it, its findings, its impact, its revisions.

    KEY is the etcd key, or [NAMESPACE/]NAME if the dump was an export; KIND/NAME with -n NAMESPACE names it as kubectl
    does. For a report its rows and findings come first, and KEY may be the id of a cause: its first object is shown.

    --history prints each revision that the snapshot still has, oldest first: with -o json or yaml as a list of objects,
    with --diff as the lines that changed.

    \b
    Examples:
      auditor show snapshot.db /registry/example.com/widgets/prod/front
      auditor show out/ /registry/example.com/widgets/prod/front
      auditor show out/ 3fa91c02
      auditor show snapshot.db widgets/front -n prod --history --diff
    """
    from pipelines.run.objects.show import run_show  # noqa: PLC0415 - help stays light
    from pipelines.run.objects.show_history import run_history  # noqa: PLC0415

    if as_diff and not with_history:
        raise click.UsageError("--diff is about revisions: give --history too")
    if with_history:
        asked = query_options(target, flags)
        run(lambda: run_history(asked, key, output=output, as_diff=as_diff))
    run(lambda: run_show(query_options(target, flags), key, output=output))
