"""The commands that look at kinds, events, fields, keys and changes of a dump; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.made import options
from pipelines.cli.query import KubectlCommand, query_options, run, source_options


@click.command(cls=KubectlCommand, short_help="Show what a dump has of each kind, and what is being deleted.")
@click.argument("target", metavar="DUMP|REPORT")
@options(
    "clusters_of_report namespace by_namespace deleting sort_by output now dumps",
    namespace="Only objects of this namespace.",
    sort_by={
        "words": "--sort-by",
        "help": "Order; numbers the largest first.",
        "default": "name",
        "form": ("name", "kind", "objects", "bytes", "deleting"),
    },
)
@source_options
def kinds(
    target: str, *, by_namespace: str | None, deleting: bool, sort_by: str, output: str, now: float | None, **flags: Any
) -> None:
    """Print a row for each kind that has objects or a definition: how many, how large, how old, at which versions.

    STORED counts the objects at each version in etcd; a version in brackets is only in status.storedVersions. An export
    does not say at which version an object was stored. BYTES are those of the values, BIGGEST the largest
    one. DELETING counts the objects with a deletionTimestamp. OLDEST is the age of the oldest creation, NEWEST that of
    the newest write that objects name. -o wide adds what `kubectl api-resources` prints, and the versions of a
    definition: * is its storage version, ! is not served.

    --deleting prints each object that is being deleted, for how long, and the finalizers that it waits for.

    \b
    Exit codes: 0; 2 usage; 3 part of the dump could not be read.

    \b
    Examples:
      auditor kinds snapshot.db --sort-by bytes
      auditor kinds snapshot.db --by namespace
      auditor kinds snapshot.db --deleting -o wide
    """
    from pipelines.run.objects.dump_kinds import run_kinds  # noqa: PLC0415 - help stays light

    asked = query_options(target, flags)
    by = bool(by_namespace)
    run(lambda: run_kinds(asked, by_namespace=by, deleting=deleting, sort_by=sort_by, output=output, now=now))


@click.command(cls=KubectlCommand, short_help="Print the fields of a kind as kubectl explain does, and their values.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("path", metavar="KIND[.FIELD]...")
@options(
    "clusters_of_report recursive max_depth api_version values namespace limit output dumps kubernetes",
    namespace="With --values: only objects of this namespace.",
    limit={"help": "With --values: at most this many values a field.", "default": 20, "form": 1},
    output={"help": "With --values: the form of its rows."},
)
@source_options
def explain(target: str, path: str, **flags: Any) -> None:
    """Print the description, the type and the fields of a kind or of one of its fields.

    A kind without FIELD also lists the fields that field selectors can use, for each version that is served. Built-in
    kinds have the fields of their Go types, without descriptions.

    --values counts how many objects have each value of a FIELD, the most frequent first; the items of lists count each.
    Without a FIELD it counts the texts that selectors compare: there a missing field is "".

    \b
    Examples:
      auditor explain snapshot.db widgets.spec
      auditor explain snapshot.db widgets --recursive --api-version example.com/v2
      auditor explain snapshot.db pods.spec.containers.image --values
      auditor explain out/ widgets --values
    """
    from pipelines.run.objects.explain import run_explain, run_values  # noqa: PLC0415 - help stays light

    if flags["max_depth"] and not flags["recursive"]:
        raise click.UsageError("--max-depth requires --recursive")
    version, recursive, depth = flags["api_version"], flags["recursive"], flags["max_depth"]
    output, limit = flags["output"], flags.pop("limit")
    asked = query_options(target, flags | {"output": ""})
    if flags["values"]:
        run(lambda: run_values(asked, path, api_version=version, limit=limit, output=output))
    run(lambda: run_explain(asked, path, api_version=version, recursive=recursive, most_levels=depth))


@click.command(cls=KubectlCommand, short_help="Print the events of a dump as kubectl events does.")
@click.argument("target", metavar="DUMP|REPORT")
@options(
    "namespace all_namespaces labels about types events_since sort_by output no_headers now dumps",
    namespace="Only events of this namespace.",
    labels="Only events with these labels.",
    now="Times relative to this one; `now` for the clock.  [default: for snapshots the newest time in them]",
)
@source_options
def events(target: str, **flags: Any) -> None:
    """Print what happened, the oldest first. Without -n in all namespaces.

    --for names an object; events about what it owns are printed too: those of a Deployment's ReplicaSets and Pods.
    With -o json, yaml and ndjson whole Event objects.

    \b
    Examples:
      auditor events snapshot.db -n shop --types Warning
      auditor events snapshot.db -n shop --for deployment/web --since 1h
    """
    from pipelines.run.objects.events import run_events  # noqa: PLC0415 - help stays light

    own = {name: flags.pop(name) for name in ("about", "types", "since", "sort_by", "output", "now")}
    asked = query_options(target, flags)
    run(lambda: run_events(asked, headers=not flags["no_headers"], **own))


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
    "clusters_of_report output dumps namespace with_history as_diff show_secrets kubernetes",
    output={"default": "yaml"},
    namespace="Namespace of KIND/NAME.",
)
@source_options
def show(target: str, key: str, *, output: str, with_history: bool, as_diff: bool, **flags: Any) -> None:
    """Print one key: its value as stored and as a server reads it, its findings, its impact, its revisions.

    KEY is the etcd key, or [NAMESPACE/]NAME if the dump was an export; KIND/NAME with -n NAMESPACE names it as kubectl
    does. For a report its rows and findings come first, and KEY may be the id of a cause: its first object is shown.

    --history prints each revision that the snapshot still has, oldest first: with -o json or yaml as a list of objects,
    with --diff as the lines that changed.

    \b
    Examples:
      auditor show snapshot.db /registry/example.com/widgets/prod/front
      auditor show out/ /registry/example.com/widgets/prod/front
      auditor show out/ 3fa91c02
      auditor show snapshot.db widgets/front -n prod --history --diff
    """
    from pipelines.run.objects.show import run_show  # noqa: PLC0415 - help stays light
    from pipelines.run.objects.show_history import run_history  # noqa: PLC0415

    if as_diff and not with_history:
        raise click.UsageError("--diff is about revisions: give --history too")
    if with_history:
        asked = query_options(target, flags)
        run(lambda: run_history(asked, key, output=output, as_diff=as_diff))
    run(lambda: run_show(query_options(target, flags), key, output=output))


@click.command(short_help="Show who refers to an object, and references to nothing.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("wanted", metavar="[KIND/NAME]", default="")
@options(
    "dangling namespace output dumps kubernetes",
    namespace="Namespace of KIND/NAME [default: default]; with --dangling: of the objects that refer.",
)
@source_options
def refs(target: str, wanted: str, *, dangling: bool, output: str, **flags: Any) -> None:
    """Print the objects that name an object, and the field in which each does.

    References are owner references, names of Secrets, ConfigMaps, ServiceAccounts, claims, classes and Services, roles
    and subjects, and fields of any kind that end in Ref or Refs. With --dangling those that name an object that does
    not exist, in an export only where it has objects of that kind.

    \b
    Exit codes: 0; 2 usage, or no such kind; 3 part of the dump could not be read.

    \b
    Examples:
      auditor refs snapshot.db secrets/tls -n shop
      auditor refs snapshot.db --dangling
    """
    from pipelines.run.objects.refs import run_refs  # noqa: PLC0415 - help stays light

    if bool(wanted) is dangling or (wanted and not wanted.partition("/")[2]):
        raise click.UsageError("give KIND/NAME, or --dangling")
    run(lambda: run_refs(query_options(target, flags), wanted, dangling=dangling, output=output))


@click.command(short_help="Show what a watch would have sent, from the revisions of a dump.")
@click.argument("target", metavar="DUMP")
@click.argument("kind", metavar="KIND")
@options("clusters_of_report namespace labels fields any_field after output show_secrets kubernetes")
@source_options
def watch(target: str, kind: str, *, after: int | None, output: str, **flags: Any) -> None:
    """Print the changes of a kind's objects, as a watch with these selectors would have sent them.

    An object that starts to match the selectors is ADDED; one that stops matching, or is deleted, is DELETED. An etcd
    database holds every revision since its last compaction.

    \b
    Examples:
      auditor watch snapshot.db widgets --field-selector spec.color=blue
      auditor watch snapshot.db widgets -n prod --from 123456 -o json
    """
    from pipelines.run.objects.watch import run_watch  # noqa: PLC0415 - help stays light

    run(lambda: run_watch(query_options(target, flags), kind, after=after, output=output))
