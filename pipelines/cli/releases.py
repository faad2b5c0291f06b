"""`auditor releases`: the releases of Kubernetes, and what differs between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from auditor.printing.print_rows import FORMS
from pipelines.cli.options.made import options
from pipelines.console import echo_rows, ignore_closed_stdout

if TYPE_CHECKING:
    from auditor.printing.print_rows import Columns, Row
    from auditor.releases import Release


@click.command(short_help="List the releases of Kubernetes, and what changes between two of them.")
@click.argument("first", default="", metavar="[FROM")
@click.argument("last", default="", metavar="TO]")
@options("output", output=("text", *FORMS))
def releases(first: str, last: str, *, output: str) -> None:
    """List the releases that --kubernetes takes, or what changes between two for objects, definitions and messages.

    Each record names the files of Kubernetes in which the behaviour can be read. A release is reproduced if all
    recorded answers of its libraries are; the others cannot be compared.

    \b
    Examples:
      auditor releases
      auditor releases 1.37 1.38
      auditor releases 1.37 1.38 -o json
    """
    from auditor.releases import find_release  # noqa: PLC0415

    if first and not last:
        raise click.UsageError("give two releases, or none")
    with ignore_closed_stdout():
        if not first:
            _print_releases(output)
        else:
            _print_changes(find_release(first), find_release(last), output)


def _print_releases(output: str) -> None:
    from auditor.releases import DEFAULT, RELEASES, find_release  # noqa: PLC0415

    def state(row: Row) -> str:
        notes = ["reproduced" if row["reproduced"] else "not reproduced yet: refused"]
        notes += ["the default"] if row["default"] else []
        return "; ".join(notes if find_release(row["name"]).is_final else [*notes, "pre-release: only by its name"])

    rows = [
        {
            "name": release.name,
            "version": release.version,
            "reproduced": release.is_reproduced,
            "default": release == DEFAULT,
        }
        for release in RELEASES
    ]
    columns: Columns = {"release": "name", "version": "version", "state": state}
    echo_rows(rows, columns, "table" if output == "text" else output)


def _print_changes(old: Release, new: Release, output: str) -> None:
    from auditor.releases.changes import Affects, between  # noqa: PLC0415

    records = between(old, new)
    if output != "text":
        columns = ("name", "since", "affects", "now", "before", "source")
        echo_rows(map(_row, records), columns, output, wide=("before", "source"))
        return
    older, newer = sorted((old, new))
    lines = [f"Kubernetes {older.version} to {newer.version}: {len(records)} changes"]
    for affects in Affects:
        chosen = [record for record in records if record.affects is affects]
        if chosen:
            lines += ["", str(affects).upper()]
        for record in chosen:
            lines += [
                f"{record.name} (1.{record.since})",
                *_wrapped("now", record.what),
                *_wrapped("before", record.before),
            ]
    lines += ["", "The source of each record: -o json."] if records else []
    click.echo("\n".join(lines))


_WIDTH = 80


def _wrapped(name: str, text: str) -> list[str]:
    import textwrap  # noqa: PLC0415

    return textwrap.wrap(text, _WIDTH, initial_indent=f"  {name + ':':<8}", subsequent_indent=" " * 10)


def _row(change: Any) -> dict[str, Any]:
    return {
        "name": change.name,
        "since": f"1.{change.since}",
        "affects": str(change.affects),
        "now": change.what,
        "before": change.before,
        "source": change.source,
    }
