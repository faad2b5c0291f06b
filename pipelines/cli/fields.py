"""`auditor fields`: only the arguments."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.made import options
from pipelines.cli.query import query_options, run, source_options

__all__ = ["fields"]


@click.command(short_help="List what field selectors can select by.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("kind", metavar="KIND")
@options(
    "clusters_of_report values namespace limit output dumps kubernetes",
    namespace="With --values: only objects of this namespace.",
    limit={"help": "At most this many values a field.", "default": 20, "form": 1},
)
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
