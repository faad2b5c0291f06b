"""The commands that print objects of a dump and their past; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.made import options
from pipelines.cli.query import KubectlCommand, query_options, run, source_options


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


@click.command(short_help="Show everything known about one key.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("key", metavar="KEY|KIND/NAME")
@options(
    "clusters_of_report output dumps namespace gone_history gone_diff show_secrets kubernetes",
    output={"default": "yaml"},
    namespace="Namespace of KIND/NAME.",
)
@source_options
def show(target: str, key: str, *, output: str, **flags: Any) -> None:
    """Print one key: its value as stored and as a server reads it, its findings, its impact, its revisions.

    KEY is the etcd key, or [NAMESPACE/]NAME if the dump was an export; KIND/NAME with -n NAMESPACE names it as kubectl
    does. For a report its rows and findings come first, and KEY may be the id of a cause: its first object is shown.

    \b
    Examples:
      auditor show snapshot.db /registry/example.com/widgets/prod/front
      auditor show out/ /registry/example.com/widgets/prod/front
      auditor show out/ 3fa91c02
    """
    from pipelines.run.objects.show import run_show  # noqa: PLC0415 - help stays light

    run(lambda: run_show(query_options(target, flags), key, output=output))


@click.command(cls=KubectlCommand, short_help="Print the writes that a snapshot has, oldest first.")
@click.argument("target", metavar="DUMP")
@click.argument("args", nargs=-1, metavar="[KIND[/NAME]]")
@options(
    "clusters_of_report namespace labels fields any_field first last output as_diff show_secrets dumps kubernetes",
    namespace="Only objects of this namespace.",
)
@source_options
def history(
    target: str, args: tuple[str, ...], *, first: Any, last: Any, output: str, as_diff: bool, **flags: Any
) -> None:
    """Print who wrote which objects, and what each write changed, from the revisions that an etcd database has.

    EVENT is as in a watch: an object that starts to match the selectors is ADDED; one that stops matching, or is
    deleted, is DELETED. TIME and BY are of the newest entry of managedFields that the write made or changed, empty if
    there is none. CHANGED has the fields that differ from the revision before. A compaction leaves at most the last
    write of each object.

    -o json and ndjson print the lines of a watch, -o yaml the objects at their revisions.

    \b
    Exit codes: 0; 1 kind or object not found, or a selector refused; 2 usage; 3 part of the dump could not be read.

    \b
    Examples:
      auditor history snapshot.db -n shop --from 2h
      auditor history snapshot.db deployments/web -n shop --diff
      auditor history snapshot.db widgets --field-selector spec.color=blue --from 120 --to 140 -o json
    """
    from pipelines.run.objects.history import run_history  # noqa: PLC0415 - help stays light

    asked = query_options(target, flags)
    asked.args = args
    run(lambda: run_history(asked, begin=first, end=last, output=output, as_diff=as_diff))
