"""Options of an audit that compare it with an earlier report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pipelines.config import AuditOptions

__all__ = ["check_since", "since_options"]


def _share(_: click.Context, __: click.Parameter, value: str) -> float:
    """Return a share of objects that was given as 0.01 or 1%."""
    text = value.strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{value!r} is no share; expected a number from 0 to 1, or a percentage such as 1%")
    return share


def since_options(command: Any) -> Any:
    """Add the options to a command."""
    for option in reversed(
        (
            click.option(
                "--since", default="", metavar="REPORT", help="Keep the rows of this report where nothing changed."
            ),
            click.option(
                "--verify-sample",
                callback=_share,
                default="0",
                metavar="SHARE",
                help="With --since: audit this share (0.01, 1%) of what is kept all the same; it must agree.",
            ),
            click.option(
                "--diff",
                default="",
                metavar="REPORT",
                help="Tell which findings are new, the same or fixed since then.",
            ),
            click.option("--only-new", is_flag=True, help="With --diff: --fail-on goes by what is new alone."),
        )
    ):
        command = option(command)
    return command


def check_since(options: AuditOptions) -> None:
    """Refuse options that mean nothing together.

    Raises:
        UsageError: They do.
    """
    if options.verify_sample and not options.since:
        raise click.UsageError("--verify-sample goes with --since, which says whose rows are verified")
    if options.only_new and not options.diff:
        raise click.UsageError("--only-new goes with --diff, which says what was there before")
    if options.since and options.old:
        raise click.UsageError("--since keeps rows of objects as they are; with --old they are judged as changes")
