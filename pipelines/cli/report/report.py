"""`auditor report`, and the option -o of the commands that write one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from auditor.report.formats.registry import formats_of, own_forms
from pipelines.cli.options.made import options
from pipelines.console import ignore_closed_stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["formats_help", "report"]


def formats_help(command: str) -> str:
    """Return the help of -o of a command.

    Args:
        command: Name of the command, as the table of formats has it.
    """
    own = own_forms(command)
    others = _listed([one for one in formats_of(command) if one not in own], "or")
    if not own:
        text = f"Also write the report as {others}; without FILE it is printed instead of the summary."
    else:
        text = f"{_listed(own, 'or')} of the answer itself ({own[0]} is the default), or its findings as {others}. "
        text += "Without FILE it is printed."
    return f"{text} Several are possible."


def _listed(names: Sequence[str], last: str) -> str:
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


@click.command(short_help="Write a report as HTML, SARIF, JUnit, metrics and other formats.")
@click.argument("report", metavar="REPORT")
@options(
    "clusters_of_fleet history outputs",
    history="Show the runs of this history of `auditor audit` in a page.",
    outputs=formats_help("report"),
)
def report(report: str, cluster: tuple[str, ...], history: str, outputs: tuple[str, ...]) -> None:
    """Write a stored report in other formats: `-o FORMAT` prints one, `-o FORMAT=FILE` writes it.

    REPORT is a folder that `auditor audit` or `auditor upgrade` wrote, or its URL in an object store.

    \b
    json            run, verdict and causes, as `auditor summary -o json`
    html            page with everything in it; html=DIR/ writes a folder for servers that forbid inline scripts
    sarif           SARIF 2.1.0 for code scanning
    junit           JUnit XML
    codequality     GitLab Code Quality
    github          annotations of a GitHub job; github-summary writes the summary of the job
    markdown        for a chat
    csv, ndjson     a row for each problem
    prometheus      metrics for the textfile collector of node_exporter
    openreports     Report and ClusterReport objects; wgpolicy writes PolicyReport objects

    \b
    Examples:
      auditor report out/tonight -o html=tonight.html -o sarif=tonight.sarif
      auditor report out/tonight -o prometheus=/var/lib/node_exporter/auditor.prom
      auditor report s3://reports/tonight -o markdown
    """
    from pipelines.run.report.formats import parse_outputs, write_report  # noqa: PLC0415
    from pipelines.run.report.history import history_at  # noqa: PLC0415

    if not outputs:
        raise click.UsageError("give at least one -o FORMAT[=FILE]; `auditor report --help` lists the formats")
    with ignore_closed_stdout():
        wanted = parse_outputs(outputs, report)
        write_report(report, wanted, cluster, history_at(history, cluster) if history else None)
