"""The commands that look into dumps and reports; only click is imported here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pipelines.cli.options.etcd_prefix import one_prefix_option
from pipelines.cli.options.kubectl_flags import KubectlCommand, moment, unsupported
from pipelines.cli.options.kubernetes import asked_release, kubernetes_option
from pipelines.console import OutputClosed, forget_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.run.objects.query_options import QueryOptions

__all__ = ["cluster_option", "query", "query_options", "run", "source_options"]


def source_options(command: Any) -> Any:
    """Add the options for opening a dump."""
    for option in (
        click.option(
            "--convert-with", default="", metavar="CMD", help="Command to run instead of conversion webhooks."
        ),
        click.option("--kms-decryptor", default="", metavar="CMD", help="Unwraps KMS data keys."),
        click.option(
            "--encryption-config", default="", metavar="FILE", help="EncryptionConfiguration of the API server."
        ),
        one_prefix_option,
        click.option("--crds", multiple=True, metavar="PATH", help="File or folder of definitions."),
    ):
        command = option(command)
    return command


cluster_option = click.option(
    "--cluster", "clusters", multiple=True, metavar="NAME", help="Only these clusters of the report of several."
)


def run(command: Callable[[], int]) -> NoReturn:
    """Run a command and end with its exit code; standard output that is closed early (`| head`) is not an error."""
    try:
        code = command()
        sys.stdout.flush()
    except OutputClosed:
        forget_output()
        code = 0
    sys.exit(code)


def query_options(target: str, flags: dict[str, Any]) -> QueryOptions:
    """Return the options that several commands share, from their flags; the default where a command has no flag."""
    from auditor.server.reader import ReadMode  # noqa: PLC0415 - help stays light
    from pipelines.run.objects.query_options import QueryOptions  # noqa: PLC0415

    return QueryOptions(
        target=target,
        dumps=flags.get("dumps", ()),
        namespace="" if flags.get("all_namespaces") else flags.get("namespace", ""),
        labels=flags.get("labels", ""),
        fields=flags.get("fields", ""),
        output=flags.get("output", ""),
        crds=flags["crds"],
        etcd_prefix=flags["etcd_prefix"],
        encryption_config=flags["encryption_config"],
        kms_decryptor=flags["kms_decryptor"],
        convert_with=flags.get("convert_with", ""),
        shown_as=flags.get("shown_as", "read"),
        as_of=flags.get("as_of"),
        clusters=flags.get("clusters", ()),
        kubernetes=asked_release(),
        where=flags.get("where", ""),
        explain=flags.get("explain", False),
        max_scan=flags.get("max_scan"),
        save_index=flags.get("save_index", ""),
        mode=ReadMode(
            as_server=flags.get("as_server", False),
            watch_cache=not flags.get("no_watch_cache", False),
            streamed=flags.get("limit") is not None and not flags.get("sort_by"),
            any_field=flags.get("any_field", False),
            show_secrets=flags.get("show_secrets", False),
        ),
    )


@click.command(cls=KubectlCommand, short_help="Answer as kubectl get would have, from a dump or a report.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("args", nargs=-1, metavar="KIND [NAME]...")
@cluster_option
@click.option("-n", "--namespace", default="", help="Only objects of this namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces (the default; accepted as kubectl does).")
@click.option("-l", "--selector", "labels", default="", help="Only objects with these labels.")
@click.option("--field-selector", "fields", default="", help="Only objects with these field values.")
@click.option("--where", default="", metavar="CEL", help="Only objects for which this CEL expression is true.")
@click.option(
    "--explain", is_flag=True, help="Print where each part of the query ran, and how many rows each step left."
)
@click.option(
    "--max-scan",
    type=click.IntRange(0),
    default=None,
    metavar="ROWS",
    help="Fail rather than read more rows of a kind.",
)
@click.option("--save-index", default="", metavar="DIR", help="Audit DUMP into DIR first, and answer from its index.")
@click.option("--dump", "dumps", multiple=True, metavar="DUMP", help="Where the dump of REPORT is now.")
@click.option("--any-field", is_flag=True, help="Let --field-selector use any path, not only the server's fields.")
@click.option("--as-of", type=click.IntRange(1), default=None, metavar="REV", help="The state after this revision.")
@click.option(
    "--as",
    "shown_as",
    default="read",
    show_default=True,
    metavar="read|stored|VERSION",
    help="Print objects as a server reads them, as they are stored, or at a version.",
)
@click.option(
    "-o",
    "--output",
    default="",
    metavar="FORMAT",
    help="table (default), wide, json, yaml, kyaml, name, ndjson, csv, parquet[=FILE], jsonpath=..., "
    "jsonpath-as-json=..., jsonpath-file=FILE, custom-columns=..., custom-columns-file=FILE, go-template=..., "
    "go-template-file=FILE",
)
@click.option("--template", default="", metavar="TEXT", help="Template or its file, if not after -o FORMAT=.")
@click.option("--sort-by", default="", metavar="PATH", help="Sort by a path, e.g. .spec.size, as kubectl compares.")
@click.option("-L", "--label-columns", multiple=True, metavar="KEYS", help="Labels to show as columns.")
@click.option("--show-labels", is_flag=True, help="Show all labels as the last column.")
@click.option("--show-kind", is_flag=True, help="Print the kind before names.")
@click.option("--no-headers", is_flag=True, help="No header line.")
@click.option("--limit", type=click.IntRange(0), default=None, help="At most this many objects of each kind.")
@click.option("--count", is_flag=True, help="Print only the number of objects.")
@click.option("--ignore-not-found", is_flag=True, help="Print nothing about objects that do not exist.")
@click.option("--show-managed-fields", is_flag=True, help="Print managedFields in json and yaml.")
@click.option("--show-secrets", is_flag=True, help="Print the values of Secrets; otherwise they are redacted.")
@click.option(
    "--server-print/--no-server-print",
    default=True,
    help="Columns of the kind, or only NAME and AGE.",
    show_default=True,
)
@click.option("--strict-templates", is_flag=True, help="Missing fields are errors in jsonpath and go-template.")
@click.option(
    "--allow-missing-template-keys/--no-allow-missing-template-keys",
    default=True,
    hidden=True,
    help="kubectl's name of --strict-templates.",
)
@click.option("--subresource", default="", metavar="NAME", help="The object through a subresource: status or scale.")
@click.option(
    "--now",
    default="",
    metavar="TIME",
    callback=moment,
    help="Ages relative to this time; `now` for the clock.  [default: for snapshots the newest time in them]",
)
@click.option("--chunk-size", type=int, default=500, hidden=True, help="Changes nothing: there is no server.")
@click.option("-w", "--watch", is_flag=True, hidden=True)
@click.option("--watch-only", is_flag=True, hidden=True)
@click.option("--output-watch-events", is_flag=True, hidden=True)
@click.option("--raw", default="", hidden=True)
@click.option("--as-server", is_flag=True, help="Fail as a live server does if one object of a kind is broken.")
@click.option("--no-watch-cache", is_flag=True, help="List by key, as a server without watch cache does.")
@kubernetes_option
@source_options
def query(target: str, args: tuple[str, ...], **flags: Any) -> None:
    """Answer as `kubectl get` would have, without a cluster.

    DUMP is a dump as for `auditor audit`, REPORT a folder that it wrote. KIND is a kind, plural, singular, short name
    or category, alone or followed by .GROUP or .VERSION.GROUP; several are joined by commas. Objects are printed as a
    server would read them, defaults applied; those of built-in kinds as they are stored. Without -n all namespaces
    are searched.

    --where is CEL over the object: metadata, spec, status, self. Conditions on names, labels and selectable fields use
    the index of a REPORT; the others are evaluated on each remaining object. An object for which the evaluation fails
    is not selected.

    Objects that a live server could not read are left out and reported on standard error.

    \b
    Exit codes: 0; 1 request refused or object not found; 2 usage; 3 part of the dump could not be read or printed.

    \b
    Examples:
      auditor query snapshot.db pods -n kube-system -o wide
      auditor query snapshot.db widgets.v2.example.com --field-selector spec.color=blue -o name
      auditor query out/ certificates -l app=web --sort-by .spec.dnsNames[0]
      auditor query out/ widgets --where 'spec.size > 3 && metadata.labels["app"] == "web"' --explain
    """
    from auditor.printing.get.options import GetOptions  # noqa: PLC0415 - help stays light
    from pipelines.run.query import run_query  # noqa: PLC0415

    if elsewhere := unsupported(flags):
        raise click.UsageError(elsewhere)
    options = query_options(target, flags)
    options.args = args
    options.get = GetOptions(
        label_columns=flags["label_columns"],
        show_labels=flags["show_labels"],
        show_kind=flags["show_kind"],
        headers=not flags["no_headers"],
        sort_by=flags["sort_by"],
        ignore_not_found=flags["ignore_not_found"],
        show_managed_fields=flags["show_managed_fields"],
        limit=flags["limit"],
        count=flags["count"],
        server_print=flags["server_print"],
        allow_missing=flags["allow_missing_template_keys"] and not flags["strict_templates"],
        across=flags["all_namespaces"],
        template=flags["template"],
        subresource=flags["subresource"],
        now=flags["now"],
    )
    run(lambda: run_query(options))
