"""The commands about kinds and events of a dump, as kubectl has them; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.kubectl_flags import KubectlCommand
from pipelines.cli.options.made import options
from pipelines.cli.query import query_options, run, source_options

__all__ = ["api_resources", "describe", "events", "explain"]


@click.command(
    "api-resources", cls=KubectlCommand, short_help="Print the kinds of a dump as kubectl api-resources does."
)
@click.argument("target", metavar="DUMP|REPORT")
@options(
    "output api_group namespaced verbs categories sort_by no_headers dumps",
    output={"words": "-o --output wide|name", "help": "Format.", "default": "", "form": ("", "wide", "name")},
    sort_by={"words": "--sort-by name|kind", "help": "Order.", "form": ("", "name", "kind")},
)
@source_options
def api_resources(target: str, **flags: Any) -> None:
    """Print the kinds that a server with the definitions of a dump has, each at its preferred version.

    \b
    Examples:
      auditor api-resources snapshot.db
      auditor api-resources snapshot.db --api-group example.com -o wide
    """
    from auditor.printing.api_resources import ResourceFilter  # noqa: PLC0415 - help stays light
    from pipelines.run.objects.kinds import run_api_resources  # noqa: PLC0415

    wanted = ResourceFilter(
        api_group=flags["api_group"],
        namespaced=flags["namespaced"],
        verbs=tuple(one for one in flags["verbs"].split(",") if one),
        categories=tuple(one for one in flags["categories"].split(",") if one),
        sort_by=flags["sort_by"],
        output=flags["output"],
        headers=not flags["no_headers"],
    )
    run(lambda: run_api_resources(query_options(target, {**flags, "output": ""}), wanted))


@click.command(cls=KubectlCommand, short_help="Print what a definition says of a kind, as kubectl explain does.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("path", metavar="KIND[.FIELD]...")
@options("recursive max_depth api_version dumps")
@source_options
def explain(target: str, path: str, **flags: Any) -> None:
    """Print the description, the type and the fields of a custom kind or of one of its fields.

    Built-in kinds cannot be explained: a dump has no descriptions of them.

    \b
    Examples:
      auditor explain snapshot.db widgets.spec
      auditor explain snapshot.db widgets --recursive --api-version example.com/v2
    """
    from pipelines.run.objects.kinds import run_explain  # noqa: PLC0415 - help stays light

    if flags["max_depth"] and not flags["recursive"]:
        raise click.UsageError("--max-depth requires --recursive")
    asked = query_options(target, flags)
    version, recursive, depth = flags["api_version"], flags["recursive"], flags["max_depth"]
    run(lambda: run_explain(asked, path, api_version=version, recursive=recursive, most_levels=depth))


@click.command(cls=KubectlCommand, short_help="Print the events of a dump as kubectl events does.")
@click.argument("target", metavar="DUMP|REPORT")
@options(
    "namespace all_namespaces labels about types no_headers now dumps",
    namespace="Only events of this namespace.",
    labels="Only events with these labels.",
    now="Times relative to this one; `now` for the clock.  [default: for snapshots the newest time in them]",
)
@source_options
def events(
    target: str, *, about: str, types: tuple[str, ...], no_headers: bool, now: float | None, **flags: Any
) -> None:
    """Print what happened, the oldest first. Without -n in all namespaces.

    \b
    Examples:
      auditor events snapshot.db -n shop --types Warning
      auditor events snapshot.db -n shop --for pod/web-1
    """
    from pipelines.run.objects.kinds import run_events  # noqa: PLC0415 - help stays light

    asked = query_options(target, flags)
    run(lambda: run_events(asked, about=about, types=types, headers=not no_headers, now=now))


@click.command(cls=KubectlCommand, short_help="Print custom resources in words as kubectl describe does.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("args", nargs=-1, required=True, metavar="KIND [NAME]...")
@options(
    "namespace all_namespaces labels now kubernetes dumps",
    now="Times of events relative to this one; `now` for the clock.  [default: for snapshots the newest time in them]",
)
@source_options
def describe(target: str, args: tuple[str, ...], *, now: float | None, **flags: Any) -> None:
    """Print all fields of custom resources, and the events about them.

    Events are printed if it is one object. Built-in kinds have descriptions of their own in kubectl, which are not
    reproduced: `auditor query -o yaml` prints all of such an object.

    \b
    Examples:
      auditor describe snapshot.db widgets front -n prod
      auditor describe snapshot.db widget/front -n prod
    """
    from pipelines.run.objects.describe import run_describe  # noqa: PLC0415 - help stays light

    asked = query_options(target, flags)
    asked.args = args
    run(lambda: run_describe(asked, now=now))
