"""The commands that print objects of a dump and their past; only click is imported here."""

from __future__ import annotations

from typing import Any

import click

from auditor.printing.print_rows import FORMS
from pipelines.cli.options.made import options
from pipelines.cli.query import KubectlCommand, query_options, run, source_options


@click.command(cls=KubectlCommand, short_help="Print everything known about objects.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("args", nargs=-1, required=True, metavar="KIND [NAME]...|KIND/NAME|KEY")
@options(
    "clusters_of_report namespace all_namespaces labels shown_as writers output now dumps gone_history gone_diff "
    "show_secrets kubernetes",
    output=("text", *FORMS),
    shown_as={
        "words": "--as shown_as",
        "form": ("read", "stored"),
        "help": "stored: print the values as etcd has them.",
    },
    now=(
        "Times of events relative to this one; `now` for the clock.  "
        "[default: the newest time in a snapshot or backup, the clock for other exports]"
    ),
)
@source_options
def show(target: str, args: tuple[str, ...], *, output: str, now: float | None, writers: bool, **flags: Any) -> None:
    """Print objects of any kind in words: all fields, events, findings, impact, owners, writers and revisions.

    Custom resources print as `kubectl describe` prints them, those of built-in kinds in the same way; then follows what
    the dump knows of the key, and the report, if it is one. Events are printed if it is one object. An object that was
    deleted is found in the revisions of an etcd database.

    KEY is an etcd key, [NAMESPACE/]NAME if the dump was an export, or the id of a cause: its first object is shown.
    -o yaml and json print each object as stored and as a server reads it, with all that is known about it.

    \b
    Exit codes: 0; 1 object, key or kind not found; 2 usage; 3 part of the dump could not be read.

    \b
    Examples:
      auditor show snapshot.db deployment web -n shop
      auditor show out/ widgets/front -n prod
      auditor show out/ 3fa91c02
      auditor show snapshot.db /registry/example.com/widgets/prod/front -o yaml
      auditor show snapshot.db widgets/front -n prod --writers
    """
    from pipelines.run.objects.show import run_show  # noqa: PLC0415 - help stays light

    asked = query_options(target, flags)
    run(lambda: run_show(asked, *args, output=output, now=now, writers=writers))


@click.command(cls=KubectlCommand, short_help="Print the writes that a snapshot has, oldest first.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("args", nargs=-1, metavar="[KIND[/NAME]|KIND NAME]")
@options(
    "clusters_of_report namespace labels fields any_field first last output as_diff show_secrets dumps kubernetes",
    namespace="Only objects of this namespace.",
)
@source_options
def history(
    target: str, args: tuple[str, ...], *, first: Any, last: Any, output: str, as_diff: bool, **flags: Any
) -> None:
    """Print who wrote which objects, and what each write changed, from the revisions that an etcd database has.

    Exports have none, and those in a database of kine (k3s) are not read: both are refused.

    EVENT is as in a watch: an object that starts to match the selectors is ADDED; one that stops matching, or is
    deleted, is DELETED. OBJECT_TIME is the newest time that the write put into the object: of managedFields, of its
    creation, of a request to delete it; BY the manager of the newest entry of managedFields that it made or changed.
    etcd itself keeps neither, so both can be empty, and a write can be later; --from and --to go by the newest time
    that any object has up to a revision. FIELDS are those that differ from the revision before. From before a
    compaction at most the last write of each object is left.

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
