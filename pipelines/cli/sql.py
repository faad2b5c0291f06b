"""The command that answers SQL; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.made import options
from pipelines.cli.query import KubectlCommand, query_options, run, source_options
from pipelines.progress import BAR


@click.command(cls=KubectlCommand, short_help="Answer SQL over the objects of a dump and the tables of a report.")
@click.argument("target", metavar="DUMP|REPORT|TABLES")
@click.argument("words", nargs=-1, metavar="[NAME=PATH]... [STATEMENT]")
@options(
    "clusters_of_report output_of_sql shown_as as_of show_secrets dumps kubernetes",
    shown_as={
        "words": "--as shown_as",
        "form": ("read", "stored"),
        "help": "read: values as a server reads them; stored: as etcd has them.",
    },
)
@source_options
def sql(target: str, words: tuple[str, ...], *, output: str, **flags: Any) -> None:
    """Answer a statement of SQL, in the dialect of DuckDB, which the extra `sql` installs.

    Each kind is a table by its plural (pods), or by "plural.group" in double quotes. Its columns are the fields of its
    objects (metadata, spec, status, data, ...), structs where the definition has a structure; key, mod_revision and
    audit_status tie a row to the report. `_rest` has, as JSON text, what does not fit the type of its column. objects
    and keys are what the dump has; findings and causes are those of a REPORT, whose objects have a status and causes.
    The column `cause` joins them with what every other command prints.

    Only the kinds and columns that a statement names are read. It may read and nothing else: no files, no network, no
    settings. An object that cannot be read is a row with nulls and its audit_status, and a note counts these.

    Several inputs, such as the reports of two nights, are schemas: a table is NAME.TABLE, where NAME is given as
    NAME=PATH, or is that of the file or folder up to its first dot.

    Without STATEMENT, one is read from standard input; on a terminal a prompt asks for statements, which end with a
    semicolon. \\d lists the tables, \\d pods or \\d pods.spec the columns, \\q ends.

    \b
    Exit codes: 0; 2 usage, or the statement is refused or fails; 3 part of the dump could not be read.

    \b
    Examples:
      auditor sql snapshot.db '\\d'
      auditor sql snapshot.db "SELECT key, spec.nodeName FROM pods WHERE status.phase = 'Failed'"
      auditor sql snapshot.db 'SELECT metadata.namespace, count(*) FROM pods GROUP BY ALL ORDER BY 2 DESC'
      auditor sql out/ 'SELECT severity, title, objects FROM causes' -o csv
      auditor sql a=monday/ b=tuesday/ "SELECT key FROM b.findings ANTI JOIN a.findings USING (key, cause)"
      auditor sql out/ 'SELECT w.key, f.message FROM widgets w JOIN findings f USING (key)' -o parquet=widgets.parquet
    """
    BAR.start()
    from pipelines.run.sql.answer import run_sql  # noqa: PLC0415 - help stays light

    asked = query_options(target, flags)
    asked.mode.stored = asked.shown_as == "stored"
    asked.output = output
    run(lambda: run_sql(asked, (target, *words)))
