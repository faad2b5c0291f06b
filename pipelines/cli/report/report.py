"""The commands that show a report or accept its findings, and the option -o of the commands that write one."""

from __future__ import annotations

import datetime
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from auditor.output.formats.registry import formats_of, own_forms
from auditor.plan.options import FAIL_ON
from pipelines.cli.options.made import options
from pipelines.console import ignore_closed_stdout, write_or_drop
from pipelines.progress import BAR

if TYPE_CHECKING:
    from collections.abc import Sequence


def formats_help(command: str) -> str:
    """Return the help of -o of a command.

    Args:
        command: Name of the command, as the table of formats has it.
    """
    own = own_forms(command)
    others = _listed([name for name in formats_of(command) if name not in own], "or")
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
    html            page with everything in it
    sarif           SARIF 2.1.0 for code scanning
    junit           JUnit XML
    codequality     GitLab Code Quality
    github          annotations of a GitHub job; github-summary writes the summary of the job
    markdown        for a chat
    csv, ndjson     a row for each problem
    prometheus      metrics for the textfile collector of node_exporter
    openreports     Report and ClusterReport objects

    \b
    Examples:
      auditor report out/tonight -o html=tonight.html -o sarif=tonight.sarif
      auditor report out/tonight -o prometheus=/var/lib/node_exporter/auditor.prom
      auditor report s3://reports/tonight -o markdown
    """
    from pipelines.run.report.file_formats import parse_outputs, write_report  # noqa: PLC0415
    from pipelines.run.report.history import history_at  # noqa: PLC0415

    if not outputs:
        raise click.UsageError("give at least one -o FORMAT[=FILE]; `auditor report --help` lists the formats")
    with ignore_closed_stdout():
        wanted = parse_outputs(outputs, report)
        write_report(report, wanted, cluster, history_at(history, cluster) if history else None)


@click.command(short_help="Show the summary of a report: state, critical and new causes.")
@click.argument("report", metavar="REPORT")
@options("clusters_of_fleet output lines color")
def summary(report: str, cluster: tuple[str, ...], output: str, lines: int, color: str) -> None:
    """Show the summary of a report: its state, critical causes, what was not read, what is new.

    REPORT is a folder that `auditor audit` or `auditor upgrade` wrote, or its URL in an object store.

    \b
    Examples:
      auditor summary out/tonight
      auditor summary s3://reports/tonight -o json
    """
    from auditor.causes.filters import Filters  # noqa: PLC0415
    from pipelines.run.report.findings import ViewOptions, run_summary  # noqa: PLC0415

    with ignore_closed_stdout():
        sys.exit(run_summary(ViewOptions(report, output, color, lines, Filters(clusters=cluster))))


@click.command(short_help="List the causes of a report, or the objects of one cause.")
@click.argument("report", metavar="REPORT")
@click.argument("cause", metavar="[CAUSE]", default="")
@options(
    "clusters_of_fleet namespaces kind severities change owner against fail_on output lines color",
    fail_on={
        "form": FAIL_ON,
        "default": "never",
        "help": "With --against: exit with 1 if something new reaches this level, or one listed before it.",
    },
)
def findings(
    report: str, cause: str, *, output: str, lines: int, color: str, against: str, fail_on: str, **flags: Any
) -> None:
    """List the causes of a report, worst and new ones first; with CAUSE show its objects and their findings.

    REPORT is a folder that `auditor audit` or `auditor upgrade` wrote, or its URL in an object store. CAUSE is an id
    from the list, or its first digits; the id of a topic, as the summary has it, lists the causes of the topic.

    --against compares with an earlier report as `auditor audit --diff` does. With any -o but table each new and each
    fixed finding is a row, as in the report, with `change`. Then follows each object that became unreadable, blocked or
    loses data (`change` is new or worse), or no longer does (better). Exit code 3: REPORT has no dump of a cluster that
    OLD has, or part of a dump could not be read.

    \b
    Examples:
      auditor findings out/tonight --change new
      auditor findings out/tonight --against out/last-night
      auditor findings out/tonight --against out/last-night -o ndjson --fail-on invalid
      auditor findings out/tonight 9b20e7d4
      auditor findings out/tonight -n 'team-*' --severity critical --severity high -o csv
    """
    from auditor.causes.filters import Filters  # noqa: PLC0415
    from pipelines.run.report.findings import ViewOptions, run_findings  # noqa: PLC0415

    names = ("cluster", "namespace", "kind", "severity", "change", "owner")
    filters = Filters(*(flags[name] for name in names))
    if against:
        if cause or any(flags[name] for name in names):
            raise click.UsageError("--against compares all findings: give no CAUSE and no filter with it")
        _compare(against, report, output=output, fail_on=fail_on)
    if fail_on != "never":
        raise click.UsageError("--fail-on needs --against")
    with ignore_closed_stdout():
        sys.exit(run_findings(ViewOptions(report, output, color, lines, filters), cause))


def _compare(old: str, new: str, *, output: str, fail_on: str) -> NoReturn:
    """Print what changed from one report to another, and end with the exit code."""
    from pipelines.run.diff import run_diff  # noqa: PLC0415

    BAR.start()
    code = run_diff(old, new, write_or_drop, output=output, fail_on=fail_on)
    with ignore_closed_stdout():
        sys.stdout.flush()
    sys.exit(code)


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


@click.command(short_help="Show the history of causes: first seen, age, counts, and kinds that became noisy.")
@click.argument("history", metavar="HISTORY")
@options("clusters_of_fleet output lines color", clusters_of_fleet="Only these clusters.", color="")
def trend(history: str, cluster: tuple[str, ...], output: str, lines: int, color: str) -> None:
    """Show the history of causes that `auditor audit --history` wrote, in a folder or an object store.

    A kind is noisy if the number of its objects with findings jumped: its robust z-score against at least 7 runs before
    is 5 or more. The arithmetic is printed.

    \b
    Example:
      auditor audit tonight.db --report out/tonight --history out/history
      auditor trend out/history
    """
    from pipelines.run.report.history import run_trend  # noqa: PLC0415

    with ignore_closed_stdout():
        sys.exit(run_trend(history, clusters=cluster, output=output, color=color, lines=lines))
