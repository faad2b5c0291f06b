"""`auditor diff`: compares two reports, or two dumps, and changes neither."""

from __future__ import annotations

import sys
from typing import Any

import click

from auditor.plan.options import FAIL_ON
from auditor.printing.print_rows import FORMS
from pipelines.cli.options.made import asked_release, options
from pipelines.cli.query import query_options, source_options
from pipelines.console import OutputClosed, forget_output, ignore_closed_stdout
from pipelines.progress import BAR


@click.command(short_help="Compare two reports, or the objects of two dumps.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.argument("wanted", metavar="[KIND[/NAME]]", default="")
@options(
    "output fail_on namespace show_secrets kubernetes",
    output=("text", *FORMS),
    fail_on={
        "form": FAIL_ON,
        "default": "never",
        "help": "Exit with 1 if something new reaches this level, or one listed before it.",
    },
    namespace="Only objects of this namespace (dumps).",
    show_secrets="Print the values of Secrets, otherwise redacted (dumps).",
)
@source_options
def diff(old: str, new: str, wanted: str, *, output: str, fail_on: str, **flags: Any) -> None:
    """Compare two reports of audits as `auditor audit --diff` does, or the objects of two dumps.

    Reports: with any -o but text each new and each fixed finding is a row, as in the report, with `change`. Then
    follows each object that became unreadable, blocked or loses data (`change` is new or worse), or no longer does
    (better).

    Dumps: the objects that were added, removed or changed, apart from resourceVersion and managedFields; `stored` are
    those that differ only in fields that a read does not show. With KIND/NAME the lines of one object's YAML that
    differ; with -o json, yaml or ndjson each with the object before and after.

    Exit code 3: NEW has no dump of a cluster that the report OLD has; or part of a dump could not be read.

    \b
    Examples:
      auditor diff out/monday out/tuesday
      auditor diff out/monday out/tuesday -o ndjson --fail-on invalid
      auditor diff monday.db tuesday.db
      auditor diff monday.db tuesday.db deployments/web -n shop
    """
    BAR.start()
    from pipelines.run.diff import run_diff  # noqa: PLC0415 - help stays light
    from pipelines.run.objects.diff_dumps import are_dumps, run_diff_dumps  # noqa: PLC0415

    if are_dumps(old, new):
        if fail_on != "never":
            raise click.UsageError("--fail-on is about findings, which reports have and dumps do not")
        code = run_diff_dumps(query_options(old, flags), new, wanted, _write, output=output)
    else:
        if wanted:
            raise click.UsageError(f"{wanted}: reports are compared as a whole; dumps can be compared by KIND/NAME")
        if asked_release():
            raise click.UsageError("--kubernetes is about dumps: each report names the release that it was made as")
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
