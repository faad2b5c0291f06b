"""`auditor accept`."""

from __future__ import annotations

import datetime

import click

__all__ = ["accept"]


def _day(_: click.Context, __: click.Parameter, value: str) -> str:
    try:
        return datetime.date.fromisoformat(value).isoformat()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a date; expected one such as 2026-12-31") from None


@click.command(short_help="Accept the findings of a cause until a day, with a reason.")
@click.argument("cause", metavar="CAUSE")
@click.option("--reason", required=True, help="Why the findings are accepted.")
@click.option(
    "--until", required=True, callback=_day, metavar="DATE", help="Last day on which they are accepted (UTC)."
)
@click.option("--owner", default="", help="Person or team that decided it.")
@click.option("-n", "--namespace", default="", metavar="GLOB", help="Only in these namespaces.")
@click.option("--cluster", default="", metavar="GLOB", help="Only in these clusters.")
@click.option("--name", default="", metavar="GLOB", help="Only objects of these names.")
@click.option("--allow-critical", is_flag=True, help="Accept critical findings too.")
@click.option("--report", default="", metavar="REPORT", help="Look the cause up there; its id may be shortened then.")
@click.option("--file", default="accept.yaml", show_default=True, help="File to add the entry to.")
def accept(
    cause: str,
    reason: str,
    until: str,
    owner: str,
    namespace: str,
    cluster: str,
    name: str,
    *,
    allow_critical: bool,
    report: str,
    file: str,
) -> None:
    """Add an entry to a file of accepted findings, for `auditor audit --accept FILE`.

    Accepted findings are counted, but set no exit code. After its last day an entry accepts nothing any more.

    \b
    Examples:
      auditor accept 9b20e7d4 --reason 'migration in progress, TICKET-12' --until 2026-12-31
      auditor accept 9b20 --report out/tonight -n 'dev-*' --reason 'test data' --until 2027-01-31
    """
    from pipelines.run.report.accept import run_accept  # noqa: PLC0415

    values = {
        "cluster": cluster,
        "namespace": namespace,
        "name": name,
        "reason": reason,
        "expires": until,
        "owner": owner,
        "allowCritical": allow_critical,
    }
    today = datetime.datetime.now(datetime.UTC).date()
    click.echo(run_accept(cause, values, file=file, report=report, today=today))
