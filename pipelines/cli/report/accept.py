"""`auditor accept`."""

from __future__ import annotations

import datetime
from typing import Any

import click

from pipelines.cli.options.made import options

__all__ = ["accept"]


@click.command(short_help="Accept the findings of a cause until a day, with a reason.")
@click.argument("cause", metavar="CAUSE")
@options("reason until decided_by in_namespaces in_clusters name allow_critical report_of_cause file")
def accept(cause: str, *, report: str, file: str, **flags: Any) -> None:
    """Add an entry to a file of accepted findings, for `auditor audit --accept FILE`.

    Accepted findings are counted, but set no exit code. After its last day an entry accepts nothing any more.

    \b
    Examples:
      auditor accept 9b20e7d4 --reason 'migration in progress, TICKET-12' --until 2026-12-31
      auditor accept 9b20 --report out/tonight -n 'dev-*' --reason 'test data' --until 2027-01-31
    """
    from pipelines.run.report.accept import run_accept  # noqa: PLC0415

    values = {
        "cluster": flags["cluster"],
        "namespace": flags["namespace"],
        "name": flags["name"],
        "reason": flags["reason"],
        "expires": flags["until"],
        "owner": flags["owner"],
        "allowCritical": flags["allow_critical"],
    }
    today = datetime.datetime.now(datetime.UTC).date()
    click.echo(run_accept(cause, values, file=file, report=report, today=today))
