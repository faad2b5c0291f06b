"""The option that selects the release of Kubernetes that a command reproduces."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["asked_release", "kubernetes_option"]


def _run_as(context: click.Context, _: click.Parameter, value: str) -> str:
    """Reproduce a release until the command ends; return its name."""
    from auditor.releases import find_release, running_as  # noqa: PLC0415 - help stays light

    release = find_release(value)
    context.with_resource(running_as(release))
    return release.name


def kubernetes_option(command: Any) -> Any:
    """Add --kubernetes to a command."""
    option = click.option(
        "--kubernetes",
        default="",
        metavar="RELEASE",
        callback=_run_as,
        is_eager=True,
        help="Release of the API server to reproduce, such as 1.38; see `auditor releases`.",
    )
    return option(command)


def asked_release() -> str:
    """Return the release that the current command was asked for; empty without --kubernetes, and outside commands."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("kubernetes")
    if context is None or source in (None, click.core.ParameterSource.DEFAULT):
        return ""
    return str(context.params["kubernetes"])
