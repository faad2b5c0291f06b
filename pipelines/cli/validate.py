"""`auditor validate`."""

from __future__ import annotations

import sys

import click

from pipelines.cli.options.kubernetes import kubernetes_option
from pipelines.cli.options.render import render_option
from pipelines.cli.report.report import format_option

__all__ = ["validate"]


@click.command(short_help="Check manifests as `kubectl create --dry-run=server` does.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--crds", multiple=True, metavar="PATH", help="Definitions: files, a folder, a Helm chart, a dump.")
@render_option
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of objects that name none; another one is an error.")
@click.option(
    "--field-validation",
    type=click.Choice(["Strict", "Warn", "Ignore"], case_sensitive=False),
    default="Strict",
    show_default=True,
    help="What unknown and duplicate fields are.",
)
@kubernetes_option
@click.option("--ignore-missing", is_flag=True, help="Pass over objects of kinds that have no definition.")
@click.option("--skip-others", is_flag=True, help="Pass over documents with neither apiVersion nor kind; count them.")
@format_option("validate", "output")
def validate(
    files: tuple[str, ...],
    crds: tuple[str, ...],
    namespace: str | None,
    *,
    render: bool,
    field_validation: str,
    ignore_missing: bool,
    skip_others: bool,
    kubernetes: str,  # noqa: ARG001 - the option itself has it reproduced
    output: tuple[str, ...],
) -> None:
    """Accept and refuse manifests as a create with `--dry-run=server` does, without a server.

    FILE is a file, a folder, a URL, or `-`. Definitions are read from --crds and from the files themselves. Objects
    without a namespace get that of -n, else `default`. Objects of built-in kinds are decoded strictly; of
    those that a server stores the metadata is validated, nothing else. Admission (missing namespaces, webhooks,
    policies, quotas) is not checked.

    Exit code 1: an object is refused, or there is none; 3: something was not read, or the rules of an object need more
    time or memory than they get.

    \b
    Examples:
      auditor validate --crds crds/ deploy/*.yaml
      kustomize build . | auditor validate --crds chart.tgz -o ndjson -
      auditor validate --crds crds/ -o sarif=manifests.sarif -o junit=manifests.xml deploy/
      auditor validate --crds snapshot.db -n shop --ignore-missing manifests/
    """
    from pipelines.run.report.formats import split_outputs  # noqa: PLC0415
    from pipelines.run.validate import ValidateOptions, run_validate  # noqa: PLC0415

    own, formats = split_outputs(output, "validate")
    asked = ValidateOptions(
        files, crds, tuple(own), namespace, field_validation, ignore_missing, tuple(formats), render, skip_others
    )
    sys.exit(run_validate(asked))
