"""The commands that look into dumps and reports; only click is imported here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from auditor.printing.print_rows import FORMS
from pipelines.cli.options.made import ONE_PREFIX, asked_release, options, recorded
from pipelines.console import OutputClosed, forget_output
from pipelines.progress import BAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.run.objects.query_options import QueryOptions


_TRUE: Final = frozenset(["1", "t", "T", "true", "TRUE", "True"])
_FALSE: Final = frozenset(["0", "f", "F", "false", "FALSE", "False"])

source_options = options(
    "crds etcd_prefix encryption_config kms_decryptor convert_with",
    crds="File or folder of definitions.",
    etcd_prefix=ONE_PREFIX,
    kms_decryptor="Unwraps KMS data keys.",
    convert_with="Command to run instead of conversion webhooks.",
)
"""Adds the options for opening a dump."""


class KubectlCommand(click.Command):
    """A command whose boolean options may have a value after ``=``, as those of Go programs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring options to the form that click reads."""
        switches: dict[str, click.Option] = {}
        shorts: set[str] = set()
        for param in self.params:
            if isinstance(param, click.Option) and param.is_flag:
                switches |= dict.fromkeys((*param.opts, *param.secondary_opts), param)
            elif isinstance(param, click.Option):
                shorts |= {name for name in param.opts if len(name) == 2}
        end = args.index("--") if "--" in args else len(args)
        plain = [word for arg in args[:end] for word in _plain(arg, switches, shorts)]
        return super().parse_args(ctx, plain + args[end:])


def _plain(arg: str, switches: dict[str, click.Option], shorts: set[str]) -> list[str]:
    name, equals, value = arg.partition("=")
    if equals and name in shorts:
        return [name, value]
    if not equals or name not in switches:
        return [arg]
    if value in _TRUE:
        return [name]
    if value not in _FALSE:
        raise click.BadParameter(f'"{value}" is neither true nor false', param_hint=name)
    return [*switches[name].secondary_opts[:1]]


def _unsupported(flags: dict[str, Any]) -> str:
    """Return the command to use instead of an unsupported flag of kubectl; empty if there is none."""
    if flags.get("watch") or flags.get("watch_only"):
        return "a dump does not change: `auditor history DUMP KIND` prints the writes that it holds"
    if flags.get("output_watch_events"):
        return "--output-watch-events option can only be used with --watch or --watch-only"
    if flags.get("raw"):
        return "--raw asks a server for a path: `auditor query DUMP KIND -o json` prints a LIST, `auditor show` one key"
    return ""


def _excluding(flags: dict[str, Any]) -> str:
    """Return why options that each answer another question exclude each other; empty if they do not."""
    given = [
        f"--{name.replace('_', '-')}" for name in ("certificates", "unhealthy", "count", "count_by") if flags[name]
    ]
    if not flags["certificates"] and not flags["unhealthy"]:
        return ""
    given += [f"--{name.replace('_', '-')}" for name in ("sort_by", "template", "subresource") if flags[name]]
    if len(given) > 1:
        return f"{given[0]} and {given[1]} exclude each other"
    if flags["output"] and flags["output"] not in FORMS:
        return f"{given[0]} prints rows: -o {', '.join(FORMS)}"
    return ""


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
    from auditor.server.object_reader import ReadMode  # noqa: PLC0415 - help stays light
    from pipelines.run.objects.query_options import QueryOptions  # noqa: PLC0415

    made = recorded(QueryOptions, flags)
    if flags.get("all_namespaces"):
        made["namespace"] = ""
    mode = ReadMode(
        as_server=flags.get("as_server", False),
        limit=0 if flags.get("sort_by") else flags.get("chunk_size", 500),  # kubectl sorts whole lists
        watch_cache=not flags.get("no_watch_cache", False),
        streamed=flags.get("limit") is not None and not flags.get("sort_by"),
        any_field=flags.get("any_field", False),
        show_secrets=flags.get("show_secrets", False),
    )
    return QueryOptions(target, **made | {"kubernetes": asked_release(), "mode": mode})


@click.command(cls=KubectlCommand, short_help="Answer as kubectl get would have, from a dump or a report.")
@click.argument("target", metavar="DUMP|REPORT")
@click.argument("args", nargs=-1, metavar="[KIND [NAME]...]")
@options(
    "clusters_of_report namespace all_namespaces labels fields where explain max_scan jobs save_index dumps any_field "
    "as_of shown_as output_of_query template sort_by label_columns show_labels show_kind no_headers limit count "
    "ignore_not_found show_managed_fields show_secrets server_print strict_templates allow_missing_template_keys "
    "count_by certificates unhealthy subresource now chunk_size watch watch_only output_watch_events raw as_server "
    "no_watch_cache kubernetes",
    jobs="Worker processes  [default: one per processor for a kind of more than 30,000 objects]",
)
@source_options
def query(target: str, args: tuple[str, ...], **flags: Any) -> None:
    """Answer as `kubectl get` would have, without a cluster.

    DUMP is a dump as for `auditor audit`, REPORT a folder that it wrote. KIND is a kind, plural, singular, short name
    or category, alone or followed by .GROUP or .VERSION.GROUP; several are joined by commas, '*' is all. Objects are
    printed as a server would read them, defaults applied; those of built-in kinds as they are stored. Without -n all
    namespaces are searched.

    --where is CEL over the object: metadata, spec, status, self. Conditions on names, labels and selectable fields use
    the index of a REPORT; the others are evaluated on each remaining object. An object for which the evaluation fails
    is not selected, and a note counts these. Fields compare with timestamp("...") and duration("..."). With --as stored
    it is over the object as stored; -l and --field-selector, as in a server, always over the object as read.

    Objects that a live server could not read are left out and reported on standard error.

    --certificates and --unhealthy ask all kinds if none is named. Certificates are found in Secrets, ConfigMaps,
    caBundle and any other text with PEM or its base64; packed values (Helm releases, PKCS #12, JKS) are not opened.
    Healthy is what conditions, phases, containers and replicas say: objects that do not tell are counted.

    \b
    Exit codes: 0; 1 request refused, object not found, or --where failed for all; 2 usage; 3 part of the dump could not
    be read or printed, or --where failed for some objects.

    \b
    Examples:
      auditor query snapshot.db pods -n kube-system -o wide
      auditor query snapshot.db pods --count-by .spec.containers[*].image
      auditor query snapshot.db '*' --where 'has(metadata.deletionTimestamp)'
      auditor query snapshot.db widgets.v2.example.com --field-selector spec.color=blue -o name
      auditor query snapshot.db --certificates
      auditor query snapshot.db -n shop --unhealthy
      auditor query out/ certificates -l app=web --sort-by .spec.dnsNames[0]
      auditor query out/ widgets --where 'spec.size > 3 && metadata.labels["app"] == "web"' --explain
    """
    BAR.start()
    from auditor.printing.get.options import GetOptions  # noqa: PLC0415 - help stays light
    from pipelines.run.query import run_query  # noqa: PLC0415

    if elsewhere := _unsupported(flags) or _excluding(flags):
        raise click.UsageError(elsewhere)
    asked = query_options(target, flags)
    asked.args = args
    asked.get = GetOptions(
        **recorded(GetOptions, {**flags, "clusters": None}),  # known when the report is open
        headers=not flags["no_headers"],
        allow_missing=flags["allow_missing_template_keys"] and not flags["strict_templates"],
        across=flags["all_namespaces"],
    )
    if flags["certificates"] or flags["unhealthy"]:
        from pipelines.run.objects.answers import print_certificates, print_unhealthy  # noqa: PLC0415

        asked.get.answer = print_certificates if flags["certificates"] else print_unhealthy
        asked.args = args or ("*",)
        asked.mode.show_secrets |= flags["certificates"]  # only their certificates are printed
    run(lambda: run_query(asked))
