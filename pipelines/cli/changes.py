"""`auditor changes`: prints all that an upgrade scan found, from its report."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.cli.options.made import options
from pipelines.console import ignore_closed_stdout

__all__ = ["changes"]


@click.command(short_help="Print all that an upgrade scan found.")
@click.argument("report", metavar="REPORT")
@click.argument("kind", default="", metavar="[KIND]")
@options("output", output={"form": ("table", "json", "ndjson", "markdown"), "help": "Format."})
def changes(report: str, kind: str, *, output: str) -> None:
    """Print what `auditor upgrade` found, whole: every definition, plan, narrower field and example.

    KIND is a kind, a plural or the name of a definition.

    \b
    Examples:
      auditor changes out/
      auditor changes out/ widgets.example.com -o markdown
    """
    from auditor.base.errors import PlanError  # noqa: PLC0415
    from auditor.report.manifest import MANIFEST, parse_manifest  # noqa: PLC0415
    from auditor.report.upgrade_formats import of_kind, upgrade_text  # noqa: PLC0415

    path = Path(report) / MANIFEST
    try:
        manifest = parse_manifest(path.read_bytes())
    except OSError:
        manifest = None
    if manifest is None or "upgrade" not in manifest:
        raise PlanError(report, "is not a report of `auditor upgrade`", "its --report folder")
    if kind:
        manifest = of_kind(manifest, kind)
        if not manifest["upgrade"]["definitions"]:
            raise PlanError(kind, "the upgrade concerns no such kind", "a kind, a plural or the name of a definition")
    with ignore_closed_stdout():
        click.echo(upgrade_text(manifest, report, output, most=None))
