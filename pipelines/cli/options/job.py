"""Options of a run that repeats: a folder of dated reports, which of them remain, and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pipelines.run.job.keep import Keep

__all__ = ["job_options", "log_options"]


def _keep(_: click.Context, __: click.Parameter, value: str) -> Keep | None:
    if not value.strip():
        return None
    from pipelines.run.job.keep import Keep  # noqa: PLC0415 - only where it is given

    found = Keep.parse(value)
    if found is None:
        raise click.BadParameter(f"{value!r}; expected a number of reports such as 30, or an age such as 90d, 12w, 36h")
    return found


def job_options(command: Any) -> Any:
    """Add the options for dated reports below one folder or prefix."""
    for option in reversed(
        (
            click.option(
                "--report-root",
                default="",
                metavar="DIR",
                help="Instead of --report: folder or URL for dated reports, locked while a run writes there.",
            ),
            click.option(
                "--report-name",
                default="{date}T{time}Z",
                show_default=True,
                metavar="TEMPLATE",
                help="With --report-root: name of the report, from the start of the run in UTC.",
            ),
            click.option(
                "--keep-reports",
                callback=_keep,
                default="",
                metavar="N|AGE",
                help="With --report-root: remove all but the newest 30, or those older than 90d  [default: keep all]",
            ),
            click.option("--no-lock", is_flag=True, help="With --report-root: do not keep other runs out."),
            click.option(
                "--dry-run", is_flag=True, help="With --report-root: print what would be written, reused and removed."
            ),
        )
    ):
        command = option(command)
    return command


def log_options(command: Any) -> Any:
    """Add --log-format, --quiet and --verbose."""
    for option in reversed(
        (
            click.option(
                "--log-format",
                type=click.Choice(["text", "json"]),
                default="text",
                show_default=True,
                help="Form of the log on standard error.",
            ),
            click.option("-q", "--quiet", is_flag=True, help="Log warnings and errors alone."),
            click.option("-v", "--verbose", is_flag=True, help="Log each source and phase too."),
        )
    ):
        command = option(command)
    return command
