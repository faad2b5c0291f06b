"""The option that names the prefix of an API server's keys; several servers may share an etcd."""

from __future__ import annotations

from typing import Any

import click

from auditor.base.visible import visible

__all__ = ["one_prefix_option", "prefixes_option"]

_DEFAULT = "/registry"
_HELP = "Prefix of the API server's keys"


def _different(_context: click.Context, _option: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the prefixes, each once: slashes around them do not count."""
    different: dict[str, str] = {}
    for prefix in value or (_DEFAULT,):
        different.setdefault(prefix.strip("/"), prefix)
    return tuple(different.values())


def _one(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> str:
    """Return the prefix; refuse several."""
    prefixes = _different(context, option, value)
    if len(prefixes) > 1:
        given = visible(", ".join(prefixes))
        raise click.UsageError(
            f"{context.command_path} takes one --etcd-prefix; given: {given} (`auditor audit` takes several)"
        )
    return prefixes[0]


def one_prefix_option(command: Any) -> Any:
    """Add --etcd-prefix to a command that reads the keys of one API server."""
    option = click.option(
        "--etcd-prefix", multiple=True, default=(_DEFAULT,), show_default=True, callback=_one, help=f"{_HELP}."
    )
    return option(command)


def prefixes_option(command: Any) -> Any:
    """Add --etcd-prefix, which can be given several times, to a command; the prefixes are a tuple."""
    option = click.option(
        "--etcd-prefix",
        multiple=True,
        default=(_DEFAULT,),
        show_default=True,
        callback=_different,
        help=f"{_HELP}; several: each server is judged as a cluster of its own.",
    )
    return option(command)
