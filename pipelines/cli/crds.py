"""`auditor crds`: checks definitions as a server would, compares and exports them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from auditor.base.visible import label, visible
from auditor.base.wording import counted
from auditor.printing.print_rows import FORMS, NDJSON, json_text, yaml_text
from pipelines.cli.options.made import ONE_PREFIX, options
from pipelines.cli.report.report import formats_help
from pipelines.console import echo_rows, ignore_closed_stdout

if TYPE_CHECKING:
    from auditor.plan.definition_paths import GivenDefinitions
    from auditor.printing.print_rows import Columns


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]}, short_help="Check, compare and export definitions."
)
def crds() -> None:
    """Check definitions as the API server would, compare two releases of them, and export those of a dump.

    \b
    Examples:
      auditor crds check crds/
      auditor crds diff released/ crds/
      auditor crds export snapshot.db
    """


def _read(paths: tuple[str, ...], *, render: bool = False, may_be_none: bool = False) -> GivenDefinitions:
    from auditor.plan.charts import Render  # noqa: PLC0415
    from auditor.plan.definition_paths import definitions_at, no_definition  # noqa: PLC0415
    from auditor.releases import active  # noqa: PLC0415

    given = definitions_at(paths, render=Render(active().name) if render else None)
    if not given.documents and not given.unread and not may_be_none:
        raise no_definition(paths)
    for line in given.lines():
        click.echo(line, err=True)
    return given


# -- check -------------------------------------------------------------------------------------------------------------


@crds.command(short_help="Check definitions as the API server would.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@options("old_definitions render kubernetes costs output", output=("text", *FORMS))
def check(
    paths: tuple[str, ...],
    old: tuple[str, ...],
    *,
    render: bool,
    kubernetes: str,  # noqa: ARG001 - the option itself has it reproduced
    costs: bool,
    output: str,
) -> None:
    """Run the API server's checks of a create on every definition in files and folders (`-`: standard input).

    The estimated costs of validation rules are checked too. With --old, definitions of the same name are checked as
    updates, in which some errors of the old definition are tolerated; an update that the server accepts may still
    break clients (removed versions and fields, narrower schemas): crds diff says which. Definitions in v1beta1, which
    servers no longer accept, are checked too. Exit code 1: the server would refuse a definition; 3: a file that may
    hold one was not read; 0 also if files have no definition, which is said.

    \b
    Examples:
      auditor crds check crds/
      helm template . | auditor crds check -
      auditor crds check --old released/ crds/ -o ndjson
    """
    from auditor.crds.definition import document_name  # noqa: PLC0415

    stored = _read(old, render=render) if old else None
    before = {document_name(document): document for document in (stored.documents if stored else ())}
    given = _read(paths, render=render, may_be_none=not any(os.path.isdir(path) for path in paths))  # noqa: PTH112
    if not given.documents and not given.unread:
        click.echo(f"no definition found in {', '.join(paths)}: nothing to check", err=True)
    results = [_checked(document, before.get(document_name(document))) for document in given.documents]
    with ignore_closed_stdout():
        if output == "text":
            _print_checks(results, costs=costs)
        else:
            echo_rows(results, _CHECKS, output, wide=("served", "unreadable", "costs"))
    is_incomplete = bool(given.unread or (stored and stored.unread))
    sys.exit(3 if is_incomplete else 0 if all(result["accepted"] for result in results) else 1)


def _checked(document: Any, old: Any) -> dict[str, Any]:
    import auditor  # noqa: PLC0415
    from auditor.crds.definition import document_name  # noqa: PLC0415
    from auditor.validation.bounded_texts import BoundedTexts  # noqa: PLC0415

    texts = BoundedTexts()
    if old is None:
        got = auditor.check_crd(document)
    else:
        from auditor.upgrade import as_sent, in_cluster  # noqa: PLC0415

        old = in_cluster(old)
        got = auditor.check_crd_update(old, as_sent(document, old))
    return {
        "name": document_name(document),
        "request": "create" if old is None else "update",
        "accepted": not got.findings and got.unreadable is None and got.is_served,
        "apiVersion": got.api_version,
        "served": got.is_served,
        "unreadable": None if got.unreadable is None else got.unreadable.reason,
        "findings": [
            {
                "field": texts.bounded(finding.field),
                "type": finding.type,
                "badValue": texts.value(finding.bad_value),
                "detail": texts.bounded(finding.detail),
                "message": texts.bounded(finding.words),
            }
            for finding in got.findings
        ],
        "warnings": [*(f'unknown field "{path}"' for path in got.unknown_fields), *got.warnings],
        "storedVersions": list(got.stored_versions),
        "costs": [{"path": path, "cost": cost} for path, cost in got.costs],
    }


_CHECKS: Columns = {
    **{name: name for name in ("name", "request", "accepted", "apiVersion", "served", "unreadable")},
    "findings": lambda result: [one["message"] for one in result["findings"]],
    "warnings": "warnings",
    "costs": lambda result: [f"{one['path']}: {one['cost']}" for one in result["costs"]],
}
_LONGEST = 600
_RULE_LIMIT = 10_000_000


def _print_checks(results: list[dict[str, Any]], *, costs: bool) -> None:
    for result in results:
        wrong = result["findings"]
        name = label(result["name"])
        if not result["served"]:
            click.echo(f"{name}: refused: apiextensions.k8s.io/v1beta1 is not served since Kubernetes 1.22")
            continue
        if result["unreadable"] is not None:
            panics = result["unreadable"].startswith("panic: ")
            what = "unreadable, the server closes the connection" if panics else "cannot be decoded"
            click.echo(f"{name}: {what}: {visible(result['unreadable'])}")
        elif wrong:
            click.echo(f"{name}: refused ({counted(len(wrong), 'error')})")
        else:
            click.echo(f"{name}: the server accepts the {result['request']}")
        for row in wrong:
            text = row["message"]
            shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} [...] {text[-_LONGEST // 2 :]}"
            click.echo("  " + visible(shown))
        for warning in result["warnings"]:
            click.echo(f"  warning: {visible(warning)}")
        for row in sorted(result["costs"], key=lambda one: -one["cost"]) if costs else ():
            click.echo(
                f"  {row['cost']:>12,} ({100 * row['cost'] / _RULE_LIMIT:.2f} % of the limit)  {visible(row['path'])}"
            )
    refused = sum(1 for result in results if not result["accepted"])
    click.echo(f"{counted(len(results), 'definition')}, {refused} refused", err=True)
    if any(result["accepted"] and result["request"] == "update" for result in results):
        text = "An update that the server accepts may still break clients: auditor crds diff OLD NEW says which"
        click.echo(text, err=True)


# -- diff --------------------------------------------------------------------------------------------------------------


@crds.command(short_help="Show what a new release of definitions does to clients.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options("render accept kubernetes output_with_formats", output_with_formats=formats_help("crds diff"))
def diff(old: str, new: str, *, render: bool, accept: str, kubernetes: str, output: tuple[str, ...]) -> None:  # noqa: ARG001
    """Compare two releases of definitions: the effect of each change on requests and objects, worst first.

    OLD and NEW are files, folders, Helm charts, dumps, `-` (standard input) or git:REF:PATH (a revision of the local
    repository). No cluster and no object is needed: a change that breaks something comes with a witness, a small
    object that the server accepts under OLD and refuses, or cuts, under NEW. Without a witness a change "may break",
    unless it can be shown that no object is concerned. Conversion webhooks are not called.

    Exit code 0: harmless, or clients only see other defaults and columns; 1: a change breaks something or may, and
    --accept does not have it; 3: a file that may hold a definition was not read.

    \b
    Examples:
      auditor crds diff released/ crds/
      auditor crds diff git:main:config/crd/bases config/crd/bases -o github
      helm template chart/ --include-crds | auditor crds diff released.yaml -
      auditor crds diff v1.tgz v2.tgz --render --accept accept.yaml -o ndjson
    """
    from pipelines.run.crds_diff import DiffOptions, run_crds_diff  # noqa: PLC0415
    from pipelines.run.report.file_formats import split_outputs  # noqa: PLC0415

    if old == new == "-":
        raise click.UsageError("OLD and NEW are both standard input, which can be read once")
    own, formats = split_outputs(output, "crds diff")
    sys.exit(run_crds_diff(DiffOptions(old, new, render, accept, tuple(own), tuple(formats))))


# -- export ------------------------------------------------------------------------------------------------------------


@crds.command("export", short_help="Print the definitions of a dump as manifests.")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@options(
    "names output_of_manifests openapi sidecar field_gates etcd_prefix",
    field_gates="Turn gates on or off in this run.",
    etcd_prefix=ONE_PREFIX,
)
def export(
    dumps: tuple[str, ...],
    names: tuple[str, ...],
    *,
    shown_as: str,
    openapi: bool,
    sidecar: tuple[str, ...],
    field_gates: str,
    etcd_prefix: str,
) -> None:
    """Print definitions in v1 without what only a server writes (status, uid, managedFields): a server accepts them.

    etcd holds definitions in v1beta1, which no server takes any more. --openapi prints as JSON the OpenAPI v3 documents
    that a server publishes of all its custom kinds.

    \b
    Examples:
      auditor crds export snapshot.db > crds.yaml
      auditor crds export snapshot.db --name widgets.example.com -o json
      auditor crds export crds/ --openapi
    """
    if openapi:
        _print_openapi(dumps, sidecar, field_gates, etcd_prefix)
    from auditor.base.errors import PlanError  # noqa: PLC0415
    from auditor.crds.as_v1 import as_manifest  # noqa: PLC0415
    from auditor.crds.definition import document_name  # noqa: PLC0415
    from auditor.golang.jsontext import encode  # noqa: PLC0415

    given = _read(dumps)
    documents = {document_name(document): as_manifest(document) for document in given.documents}
    missing = [name for name in names if name not in documents]
    if missing:
        raise PlanError("--name", f"no definition {missing[0]}", "one of `auditor query DUMP crds`")
    chosen = [documents[name] for name in names or sorted(documents)]
    with ignore_closed_stdout():
        if shown_as == "yaml":
            click.echo("---\n".join(map(yaml_text, chosen)), nl=False)
        else:
            whole = [{"apiVersion": "v1", "kind": "List", "items": chosen}] if shown_as == "json" else chosen
            echo_rows(whole, (), NDJSON, encode=encode)
    sys.exit(3 if given.unread else 0)


def _print_openapi(dumps: tuple[str, ...], sidecar: tuple[str, ...], field_gates: str, etcd_prefix: str) -> NoReturn:
    from auditor.gates.resolve import read_sidecars, resolved_gates  # noqa: PLC0415
    from auditor.plan.definition_paths import no_definition  # noqa: PLC0415
    from auditor.shards.dump_objects import open_objects  # noqa: PLC0415

    with open_objects(dumps, etcd_prefix=etcd_prefix) as objects:
        if not objects.definitions and not objects.broken:
            raise no_definition(dumps)
        gates = resolved_gates(objects.definitions, read_sidecars(sidecar), field_gates)
        click.echo(json_text(_openapi(objects, {name: each.published() for name, each in gates.items()})))
        for name, reason in objects.broken.items():
            click.echo(f"{label(name)}: a server cannot use it: {visible(reason)}", err=True)
        sys.exit(3 if objects.incomplete() else 0)


def _openapi(objects: Any, gates: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    from auditor.crdcheck.published import published_schemas  # noqa: PLC0415

    out: dict[str, Any] = {}
    for name, definition in objects.definitions.items():
        for version in definition.served_versions:
            path = f"apis/{definition.group}/{version.name}"
            document = out.setdefault(path, {"openapi": "3.0.0", "components": {"schemas": {}}})
            document["components"]["schemas"].update(published_schemas(definition, version.name, gates.get(name)))
    return out
