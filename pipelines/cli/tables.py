"""`auditor tables`: typed Parquet of every kind; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from auditor.printing.print_rows import FORMS
from pipelines.cli.options.made import options
from pipelines.cli.query import query_options, run, source_options
from pipelines.progress import BAR


@click.command(short_help="Write objects of every kind as typed Parquet.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("out", metavar="OUT")
@click.argument("args", nargs=-1, metavar="[KIND...]")
@options(
    "clusters_of_report shown_as show_secrets output dumps kubernetes",
    shown_as={
        "words": "--as shown_as",
        "form": ("read", "stored"),
        "help": "stored: write the values as etcd has them.",
    },
    show_secrets="Write the values of Secrets; otherwise they are redacted.",
    output=FORMS,
)
@source_options
def tables(target: str, out: str, args: tuple[str, ...], *, output: str, **flags: Any) -> None:
    """Write the objects of each KIND, or of all kinds, as a data set of Parquet: OUT/group=G/kind=K/part-*.parquet.

    A row is an object as a server reads it. Its columns are metadata, spec, status and the other fields that the
    definition declares, with their types: times, integers, lists, maps and structs. A value that its column cannot hold
    is in _rest, JSON text from path to value; an object that cannot be read is a row with its key and audit_status.
    Columns depend on the definition alone, so that the tables of several nights can be read together; OUT/schema.json
    says which definition, and the type of each column.

    Rows of a REPORT have its audit_status, impact and causes. From a DUMP nothing is judged: impact and causes are
    empty, and audit_status says only why an object could not be read (unreadable, sealed, needs-conversion).

    OUT must be new or empty; it appears whole or not at all.

    \b
    Exit codes: 0; 1 no such kind, or no objects of known kinds; a kind that is named and has no objects is an empty
    table, and 0; 2 usage, or no dump could be read; 3 part of the dump could not be read (also where no kind is known).

    \b
    Examples:
      auditor tables snapshot.db tables/
      auditor tables out/ tables/ certificates pods
      duckdb -c "SELECT metadata.name, spec.duration FROM 'tables/group=*/kind=Certificate/*.parquet'"
    """
    BAR.start()
    from pipelines.run.tables import NotWritten, run_tables  # noqa: PLC0415 - help stays light

    asked = query_options(target, flags)
    asked.args = args

    def command() -> int:
        try:
            return run_tables(asked, out, output)
        except NotWritten as error:
            return int(error.args[0])

    run(command)
