"""The option that lets a command read ``http://``; every command that reads files has it."""

from __future__ import annotations

from typing import Any, Final

import click

from auditor.plan.declared import Declared
from pipelines.cli.options.made import Option

__all__ = ["add_insecure_http", "insecure_http"]

_DECLARED: Final = Declared(
    "--insecure-http",
    "Also read http:// URLs: not encrypted and not authenticated, so others can read and change them in transit.",
    "it reads data that others can change in transit",
    default=False,
)


def _allow(_: click.Context, __: click.Parameter, given: bool) -> None:
    if given:
        from auditor.sources.stores.locations import allow_http  # noqa: PLC0415 - only when asked

        allow_http()


def insecure_http() -> Any:
    """Return the option; for a command and for the group (``AUDITOR_INSECURE_HTTP=1``)."""
    return Option(declared=_DECLARED, expose_value=False, callback=_allow)


def add_insecure_http(group: click.Group) -> None:
    """Add the option to a group's commands that take files or options of files."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            add_insecure_http(command)
        elif command.params:
            command.params.append(insecure_http())
