"""`auditor diff`: what changed between two reports, neither of which is touched."""

from __future__ import annotations

import sys

import click

from pipelines.heard import heard_or_not

__all__ = ["diff"]

_FAIL_ON = ("never", "unreadable", "blocked", "data-loss", "invalid")


@click.command(short_help="Say which findings of a report are new, and which of an older one are fixed.")
@click.argument("old", metavar="OLD_REPORT")
@click.argument("new", metavar="NEW_REPORT")
@click.option("-o", "--output", type=click.Choice(["text", "ndjson"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(_FAIL_ON),
    default="never",
    show_default=True,
    help="When to exit with 1; only what is new counts.",
)
def diff(old: str, new: str, *, output: str, fail_on: str) -> None:
    """Compare two reports of audits as `auditor audit --diff` does.

    With -o ndjson each new and each fixed finding is a line, as its row in the report with `change`.

    \b
    Examples:
      auditor diff out/monday out/tuesday
      auditor diff out/monday out/tuesday -o ndjson --fail-on invalid
    """
    from pipelines.difference import run_diff  # noqa: PLC0415 - help stays light

    text, has_failed = run_diff(old, new, output=output, fail_on=fail_on)
    if text:
        with heard_or_not():
            click.echo(text)
    sys.exit(int(has_failed))
