"""The commands about kinds and events of a dump, as kubectl has them; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.kubectl_flags import KubectlCommand, moment
from pipelines.cli.options.kubernetes import kubernetes_option
from pipelines.cli.query import query_options, run, source_options

__all__ = ["api_resources", "describe", "events", "explain"]

_dump_option = click.option("--dump", "dumps", multiple=True, metavar="DUMP", help="Where the dump of REPORT is now.")


@click.command(
    "api-resources", cls=KubectlCommand, short_help="Print the kinds of a dump as kubectl api-resources does."
)
@click.argument("target", metavar="DUMP|REPORT")
@click.option(
    "-o", "--output", type=click.Choice(["", "wide", "name"]), default="", metavar="wide|name", help="Format."
)
@click.option("--api-group", default=None, help="Only kinds of this group.")
@click.option("--namespaced/--not-namespaced", default=None, help="Only kinds with, or without, namespaces.")
@click.option("--verbs", default="", metavar="VERBS", help="Only kinds that can be asked for all of these.")
@click.option("--categories", default="", metavar="NAMES", help="Only kinds of all these categories.")
@click.option("--sort-by", type=click.Choice(["", "name", "kind"]), default="", metavar="name|kind", help="Order.")
@click.option("--no-headers", is_flag=True, help="No header line.")
@_dump_option
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
@click.option("--recursive", is_flag=True, help="All fields below, a line for each.")
@click.option(
    "--max-depth", type=click.IntRange(0), default=0, help="With --recursive: at most so many levels; 0: all."
)
@click.option("--api-version", default="", metavar="GROUP/VERSION", help="The version to explain.")
@_dump_option
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
    options = query_options(target, flags)
    version, recursive, depth = flags["api_version"], flags["recursive"], flags["max_depth"]
    run(lambda: run_explain(options, path, api_version=version, recursive=recursive, most_levels=depth))


@click.command(cls=KubectlCommand, short_help="Print the events of a dump as kubectl events does.")
@click.argument("target", metavar="DUMP|REPORT")
@click.option("-n", "--namespace", default="", help="Only events of this namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces (the default; accepted as kubectl does).")
@click.option("-l", "--selector", "labels", default="", help="Only events with these labels.")
@click.option("--for", "about", default="", metavar="KIND/NAME", help="Only events about this object.")
@click.option("--types", multiple=True, metavar="TYPES", help="Only events of these types: Normal, Warning.")
@click.option("--no-headers", is_flag=True, help="No header line.")
@click.option(
    "--now",
    default="",
    metavar="TIME",
    callback=moment,
    help="Times relative to this one; `now` for the clock.  [default: for snapshots the newest time in them]",
)
@_dump_option
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

    options = query_options(target, flags)
    run(lambda: run_events(options, about=about, types=types, headers=not no_headers, now=now))


@click.command(cls=KubectlCommand, short_help="Print custom resources in words as kubectl describe does.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("args", nargs=-1, required=True, metavar="KIND [NAME]...")
@click.option("-n", "--namespace", default="", help="Only objects of this namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces (the default; accepted as kubectl does).")
@click.option("-l", "--selector", "labels", default="", help="Only objects with these labels.")
@click.option(
    "--now",
    default="",
    metavar="TIME",
    callback=moment,
    help="Times of events relative to this one; `now` for the clock.  [default: for snapshots the newest time in them]",
)
@kubernetes_option
@_dump_option
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

    options = query_options(target, flags)
    options.args = args
    run(lambda: run_describe(options, now=now))
