"""`auditor validate`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from pipelines.cli.options.made import options, recorded
from pipelines.cli.report.report import formats_help
from pipelines.progress import BAR


@click.command(short_help="Check manifests as `kubectl create --dry-run=server` does.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options(
    "crds render namespace_of_manifests field_validation kubernetes ignore_missing skip_others output_with_formats",
    crds="Definitions: files, a folder, a Helm chart, a dump.",
    output_with_formats=formats_help("validate"),
)
def validate(files: tuple[str, ...], **flags: Any) -> None:
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
    BAR.start()
    from pipelines.run.validate import ValidateOptions, run_validate  # noqa: PLC0415

    asked = ValidateOptions(files, **recorded(ValidateOptions, flags))
    if flags["output"]:
        from pipelines.run.report.file_formats import split_outputs  # noqa: PLC0415 - it loads what reads reports

        own, formats = split_outputs(flags["output"], "validate")
        asked = replace(asked, own=tuple(own), formats=tuple(formats))
    sys.exit(run_validate(asked))
