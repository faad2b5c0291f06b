"""Options of the commands that show a report: which findings, and how they are printed."""

from __future__ import annotations

from typing import Any, Final

import click

__all__ = ["filter_options", "view_options"]

_SEVERITIES: Final = ("critical", "high", "medium", "low")
_CHANGES: Final = ("new", "more", "same", "fixed", "not-rechecked")
_OUTPUTS: Final = ("table", "wide", "json", "yaml", "ndjson", "csv", "markdown")


def _added(command: Any, options: tuple[Any, ...]) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def view_options(command: Any) -> Any:
    """Add -o, --lines and --color to a command."""
    return _added(
        command,
        (
            click.option("-o", "--output", type=click.Choice(_OUTPUTS), default="table", show_default=True),
            click.option(
                "--lines", type=click.IntRange(0), default=25, show_default=True, help="Lines at most; 0 prints all."
            ),
            click.option(
                "--color",
                type=click.Choice(["auto", "always", "never"]),
                default="auto",
                show_default=True,
                help="auto: on a terminal, unless NO_COLOR is set.",
            ),
        ),
    )


def filter_options(command: Any) -> Any:
    """Add the filters to a command; each can be given several times."""
    several: dict[str, Any] = {"multiple": True}
    return _added(
        command,
        (
            click.option("-n", "--namespace", **several, metavar="GLOB", help="Only these namespaces."),
            click.option("--kind", **several, metavar="GLOB", help="Only these kinds: KIND or KIND.group."),
            click.option("--severity", **several, type=click.Choice(_SEVERITIES), help="Only these severities."),
            click.option("--change", **several, type=click.Choice(_CHANGES), help="Only these changes (--diff)."),
            click.option("--owner", **several, metavar="GLOB", help="Only objects of these owners."),
        ),
    )
