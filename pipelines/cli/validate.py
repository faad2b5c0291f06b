"""`auditor validate`."""

from __future__ import annotations

import sys

import click

__all__ = ["validate"]


@click.command(short_help="Check manifests, for example in a CI job.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--crds", multiple=True, metavar="PATH", help="File or folder of definitions.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "ndjson"]), default="table", show_default=True)
def validate(files: tuple[str, ...], crds: tuple[str, ...], output: str) -> None:
    """Run the checks of a create on the custom resources in manifests.

    Definitions are read from --crds and from the files themselves. Objects of kinds without a definition are reported
    as skipped. Exit code 1: an object is invalid or unreadable; 3: something was not read, or the rules of an object
    need more time or memory than they get.

    \b
    Examples:
      auditor validate --crds crds/ deploy/*.yaml
      kustomize build . | auditor validate --crds crds/ -o ndjson -
    """
    from pipelines.run.validate import run_validate  # noqa: PLC0415

    sys.exit(run_validate(files, crds, output))
