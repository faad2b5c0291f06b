"""The option that lets a command read ``http://``; every command that takes a URL has it."""

from __future__ import annotations

from typing import Final

import click

from auditor.plan.declared import Declared
from pipelines.cli.options.made import Option

__all__ = ["add_insecure_http"]

_WITHOUT_URLS: Final = ("completion", "releases", "sources", "version")
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


def add_insecure_http(group: click.Group) -> None:
    """Add the option to a group's commands that take URLs."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            add_insecure_http(command)
        elif name not in _WITHOUT_URLS:
            command.params.append(Option(declared=_DECLARED, expose_value=False, callback=_allow))
