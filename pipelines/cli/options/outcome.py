"""Options that decide which findings count for the exit code of an audit, and how much."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["outcome_options"]


def outcome_options(command: Any) -> Any:
    """Add the options to a command."""
    for option in reversed(
        (
            click.option(
                "--severity",
                multiple=True,
                metavar="RULE",
                help="Override a severity: `low kind=Widget.example.com namespace=dev-* cluster=staging` (globs; the "
                "last rule that matches decides).",
            ),
            click.option(
                "--max-new",
                multiple=True,
                metavar="SEVERITY=N",
                help="With --diff: exit with 1 if more than N objects have new findings of this severity or worse.",
            ),
            click.option(
                "--fail-on-standing/--no-fail-on-standing",
                default=True,
                show_default=True,
                help="With --only-new: exit with 1 also if a known object crashes the server, breaks LIST or cannot be "
                "deleted.",
            ),
            click.option(
                "--accept",
                default="",
                metavar="FILE",
                help="Accepted findings, as `auditor accept` writes them: they do not count for the exit code.",
            ),
            click.option(
                "--owners", default="", metavar="FILE", help="Teams of objects, by globs of namespace, kind and labels."
            ),
            click.option(
                "--history", default="", metavar="DIR", help="Add the run to the history for `auditor trend`."
            ),
            click.option(
                "--keep-history",
                type=click.IntRange(1),
                default=365,
                show_default=True,
                metavar="RUNS",
                help="Runs that the history keeps; older ones are removed.",
            ),
            click.option(
                "--notify",
                multiple=True,
                metavar="URL",
                help="Send a short message about the run: https:// gets JSON, slack+https:// a Slack payload, "
                "smtp://HOST?from=A&to=B a mail. A failure changes no result.",
            ),
        )
    ):
        command = option(command)
    return command
