"""`auditor diff`: compares two reports and changes neither."""

from __future__ import annotations

import sys

import click

from auditor.plan.options import FAIL_ON
from pipelines.console import OutputClosed, forget_output, ignore_closed_stdout

__all__ = ["diff"]


@click.command(short_help="Show which findings are new since an older report, and which are fixed.")
@click.argument("old", metavar="OLD_REPORT")
@click.argument("new", metavar="NEW_REPORT")
@click.option("-o", "--output", type=click.Choice(["text", "ndjson"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="never",
    show_default=True,
    help="Exit with 1 if something new reaches this level, or one listed before it.",
)
def diff(old: str, new: str, *, output: str, fail_on: str) -> None:
    """Compare two reports of audits as `auditor audit --diff` does.

    With -o ndjson each new and each fixed finding is a line: its row in the report, and `change`. Then follows each
    object that became unreadable, blocked or loses data (`change` is new or worse), or no longer does (better).

    Exit code 3: NEW_REPORT has no dump of a cluster that OLD_REPORT has.

    \b
    Examples:
      auditor diff out/monday out/tuesday
      auditor diff out/monday out/tuesday -o ndjson --fail-on invalid
    """
    from pipelines.run.diff import run_diff  # noqa: PLC0415 - help stays light

    code = run_diff(old, new, _write, output=output, fail_on=fail_on)
    with ignore_closed_stdout():
        sys.stdout.flush()
    sys.exit(code)


def _write(text: str) -> None:
    """Print text; if standard output was closed the text is dropped, and the exit code is still computed."""
    try:
        sys.stdout.write(text)
    except OutputClosed:
        forget_output()
