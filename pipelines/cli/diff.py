"""`auditor diff`: compares the objects of two dumps, and changes neither."""

from __future__ import annotations

import sys
from typing import Any

import click

from auditor.printing.print_rows import FORMS
from pipelines.cli.options.made import options
from pipelines.cli.query import query_options, source_options
from pipelines.console import ignore_closed_stdout, write_or_drop
from pipelines.progress import BAR


@click.command(short_help="Compare the objects of two dumps, or of two revisions of one.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.argument("args", metavar="[KIND[/NAME]|KIND NAME]", nargs=-1)
@options(
    "clusters_of_report output fail_on namespace show_secrets kubernetes",
    output=("text", *FORMS),
    fail_on={"words": "--fail-on", "form": None, "default": "", "hidden": True},
    namespace="Only objects of this namespace.",
)
@source_options
def diff(old: str, new: str, args: tuple[str, ...], *, output: str, fail_on: str, **flags: Any) -> None:
    """Print the objects that were added, removed or changed from one dump to another, with all fields that differ.

    OLD and NEW are dumps, DUMP@REVISION for the state of an etcd snapshot at a revision, or reports, whose dumps are
    compared: `auditor findings NEW --against OLD` compares their findings. resourceVersion and managedFields do not
    count. `stored` are objects that differ only in fields that a read does not show. Leases and Events are one line
    each; with KIND or -o each is printed. With KIND/NAME the lines of one object's YAML that differ; with -o json, yaml
    or ndjson each with the object before and after.

    Exit codes: 0; 1 no such kind or object; 2 usage; 3 part of a dump could not be read.

    \b
    Examples:
      auditor diff monday.db tuesday.db
      auditor diff monday.db tuesday.db deployments/web -n shop
      auditor diff snapshot.db@1200 snapshot.db -o wide
      auditor diff out/monday out/tuesday
    """
    BAR.start()
    from pipelines.run.objects.diff_dumps import run_diff_dumps  # noqa: PLC0415 - help stays light

    if fail_on:
        raise click.UsageError("--fail-on is about findings: `auditor findings NEW --against OLD --fail-on LEVEL`")
    asked = query_options(old, flags)
    asked.args = args
    code = run_diff_dumps(asked, new, write_or_drop, output=output)
    with ignore_closed_stdout():
        sys.stdout.flush()
    sys.exit(code)
