"""The commands that look at kinds, events, fields and references of a dump; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from pipelines.cli.options.made import options
from pipelines.cli.query import KubectlCommand, query_options, run, source_options


@click.command(cls=KubectlCommand, short_help="Show what a dump has of each kind, and what is being deleted.")
@click.argument("target", metavar="DUMP|REPORT")
@options(
    "clusters_of_report namespace by_namespace deleting biggest sort_by output now dumps",
    namespace="Only objects of this namespace.",
    sort_by={
        "words": "--sort-by",
        "help": "Order; numbers the largest first.",
        "default": "name",
        "form": ("name", "kind", "objects", "bytes", "deleting"),
    },
)
@source_options
def kinds(target: str, **flags: Any) -> None:
    """Print a row for each kind that has objects or a definition: how many, how large, how old, at which versions.

    STORED counts the objects at each version in etcd; a version in brackets is only in status.storedVersions. An export
    does not say at which version an object was stored. BYTES are those of the values. DELETING counts the objects with
    a deletionTimestamp. The table cuts long names; -o wide prints them whole, and adds the kind, the BIGGEST object,
    the age of the OLDEST creation and of the NEWEST write that objects name, what `kubectl api-resources` prints, and
    the versions of a definition: * is its storage version, ! is not served.

    --deleting prints each object that is being deleted, for how long, and the finalizers that it waits for; --biggest
    the objects of all kinds with the largest values.

    \b
    Exit codes: 0; 2 usage; 3 part of the dump could not be read.

    \b
    Examples:
      auditor kinds snapshot.db --sort-by bytes
      auditor kinds snapshot.db --by namespace
      auditor kinds snapshot.db --biggest 10
      auditor kinds snapshot.db --deleting -o wide
    """
    from pipelines.run.objects.dump_kinds import run_kinds  # noqa: PLC0415 - help stays light

    own = {name: flags.pop(name) for name in ("by_namespace", "deleting", "biggest", "sort_by", "output", "now")}
    if own["biggest"] and (own["deleting"] or own["by_namespace"]):
        raise click.UsageError(f"--biggest and {'--deleting' if own['deleting'] else '--by'} exclude each other")
    asked = query_options(target, flags)
    run(lambda: run_kinds(asked, **own))


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
    "clusters_of_report namespace all_namespaces labels about types events_since sort_by output no_headers now dumps",
    namespace="Only events of this namespace.",
    labels="Only events with these labels.",
    now=(
        "Times relative to this one; `now` for the clock.  "
        "[default: the newest time in a snapshot or backup, the clock for other exports]"
    ),
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


@click.command(short_help="Show who refers to an object, what no reference names, and references to nothing.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("args", metavar="[KIND/NAME|KIND NAME|KIND]", nargs=-1)
@options(
    "clusters_of_report dangling namespace output dumps kubernetes",
    namespace="Namespace of KIND/NAME or KIND; with --dangling: of the objects that refer. Without it all namespaces.",
)
@source_options
def refs(target: str, args: tuple[str, ...], *, dangling: bool, output: str, **flags: Any) -> None:
    """Print the objects that name an object, and the field in which each does.

    References are owner references, names of Secrets, ConfigMaps, ServiceAccounts, claims, classes and Services, roles
    and subjects, and fields of any kind that end in Ref or Refs. With --dangling those that name an object that does
    not exist, in an export only where it has objects of that kind, and owner references whose owner has another uid. A
    Ref is not judged, but counted, if it does not tell its kind, or the dump has no such kind, or several.

    With KIND alone, the objects of the kind that no such reference names, as candidates for a clean-up: a name in
    another field, in a text, a command or a selector is not known as a reference, so that they may be in use.

    \b
    Exit codes: 0; 1 no such kind, or neither the object nor a reference to it exists; 2 usage; 3 part of the dump could
      not be read.

    \b
    Examples:
      auditor refs snapshot.db secrets/tls -n shop
      auditor refs snapshot.db pv/data-1
      auditor refs snapshot.db secrets,configmaps
      auditor refs snapshot.db --dangling
    """
    from pipelines.run.objects.refs import run_refs, run_unnamed  # noqa: PLC0415 - help stays light

    if bool(args) is dangling or (len(args) == 1 and args[0].endswith("/")):
        raise click.UsageError("give KIND/NAME, KIND, or --dangling")
    asked = query_options(target, flags)
    asked.args = args
    if len(args) == 1 and "/" not in args[0]:
        run(lambda: run_unnamed(asked, output=output))
    run(lambda: run_refs(asked, dangling=dangling, output=output))
