"""`auditor upgrade`: what an update of definitions would do to itself and to the stored objects."""

from __future__ import annotations

import sys

import click

from pipelines.engine_options import engine_options, jobs_of
from pipelines.heard import heard_or_not

__all__ = ["upgrade"]

_FAIL_ON = ("never", "unreadable", "blocked", "data-loss", "invalid")


@click.command(short_help="Say what new definitions would do to every stored object.")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option(
    "--new-crds",
    multiple=True,
    required=True,
    metavar="PATH",
    help="Definitions to come: file, folder, or - (e.g. helm template).",
)
@click.option("--old-crds", multiple=True, metavar="PATH", help="Definitions of today; replace the dump's by name.")
@click.option(
    "--missing",
    type=click.Choice(["keep", "delete"]),
    default="keep",
    show_default=True,
    help="What becomes of definitions that are not among the new ones.",
)
@click.option("--report", required=True, metavar="DIR", help="Folder to write the report to.")
@click.option("--force", is_flag=True, help="Replace the report that is there.")
@click.option("--at", default="storage", show_default=True, help="stored, storage, served, or a version.")
@engine_options
@click.option(
    "--fail-on",
    type=click.Choice(_FAIL_ON),
    default="invalid",
    show_default=True,
    help="When to exit with 1; what was wrong before the upgrade does not count.",
)
@click.option(
    "--assume-format",
    "assume_formats",
    multiple=True,
    metavar="FORMAT=KNOWN",
    help="Count the values that would fail if a format that this release does not know were, e.g., dns1123subdomain.",
)
@click.option(
    "--field-gates", default="", metavar="NAME=BOOL,...", help="Gates of the new definitions to be on or off."
)
@click.option("--sidecar", multiple=True, metavar="FILE", help="Field-level gates to come, by name of the definition.")
@click.option("--old-sidecar", multiple=True, metavar="FILE", help="The same for the definitions of today.")
@click.option("--etcd-prefix", default="/registry", show_default=True, help="What the API server's keys start with.")
@click.option("--encryption-config", default="", metavar="FILE", help="EncryptionConfiguration of the API server.")
@click.option("--kms-decryptor", default="", metavar="CMD", help="Unwraps KMS data keys: wrapped on stdin, plain out.")
@click.option("--cluster-name", "cluster", default="", help="Name for the cluster column.")
@click.option("--include", multiple=True, metavar="KIND[.GROUP]", help="Only these kinds.")
@click.option("--exclude", multiple=True, metavar="KIND[.GROUP]", help="All but these kinds.")
@click.option("-n", "--namespace", default="", help="Only objects of this namespace.")
@click.option("-l", "--selector", "labels", default="", help="Only objects with these labels.")
@click.option("--field-selector", "fields", default="", help="Only objects with these field values.")
def upgrade(
    dumps: tuple[str, ...],
    new_crds: tuple[str, ...],
    old_crds: tuple[str, ...],
    missing: str,
    report: str,
    *,
    force: bool,
    at: str,
    jobs: int | None,
    engine: str,
    ray_address: str,
    fail_on: str,
    assume_formats: tuple[str, ...],
    field_gates: str,
    sidecar: tuple[str, ...],
    old_sidecar: tuple[str, ...],
    etcd_prefix: str,
    encryption_config: str,
    kms_decryptor: str,
    cluster: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    namespace: str,
    labels: str,
    fields: str,
) -> None:
    """Read every object of a dump under its definitions of today and under new ones, and tell what changes.

    The first line is the answer: safe, safe after something was done, or blocks, and why. Then for each definition what
    the server says to its update, versions that come and go with the objects stored at them, and its objects: which can
    no longer be read, which are newly invalid (updates refused, or tolerated while nobody touches the fields), what
    stored data the new schema drops, which defaults a read shows from then on. The report holds objects/ and findings/
    as judged under the new definitions, and changes/ with the old and the new value of every path.

    \b
    Exit codes: 0; 1 --fail-on reached by what changes; 2 usage; 3 part of a dump could not be read; 70 internal error;
    130 Ctrl-C. blocked includes a definition that the server refuses, data-loss objects deleted with their definition.

    \b
    Examples:
      auditor upgrade snapshot.db --new-crds crds/ --report out/
      helm template chart/ --include-crds | auditor upgrade snapshot.db --new-crds - --report out/
      auditor upgrade export.json --old-crds v1/ --new-crds v2/ --report out/ --fail-on data-loss
      auditor upgrade snapshot.db --new-crds crds/ --missing delete --report out/
      auditor upgrade snapshot.db --new-crds crds/ --report out/ --assume-format k8s-name=dns1123subdomain
    """
    from auditor.report.upgrade_terminal import upgrade_summary  # noqa: PLC0415
    from auditor.selectors.grammar import parse_field_selector, parse_label_selector  # noqa: PLC0415
    from auditor.upgrade import parse_assumptions  # noqa: PLC0415
    from pipelines.config import AuditOptions, Scope  # noqa: PLC0415
    from pipelines.upgrade import UpgradeOptions  # noqa: PLC0415
    from pipelines.upgrade_run import run_upgrade  # noqa: PLC0415

    parse_label_selector(labels)
    parse_field_selector(fields)
    is_default = click.get_current_context().get_parameter_source("at") is click.core.ParameterSource.DEFAULT
    options = AuditOptions(
        dumps=dumps,
        crds=old_crds,
        report=report,
        at=at,
        at_of_exports="stored" if is_default else at,
        jobs=jobs_of(engine, jobs),
        engine=engine,
        ray_address=ray_address,
        force=force,
        fail_on=fail_on,
        etcd_prefix=etcd_prefix,
        cluster=cluster,
        encryption_config=encryption_config,
        kms_decryptor=kms_decryptor,
        field_gates=field_gates,
        gate_sidecars=sidecar,
        scope=Scope(namespace, labels, fields, include, exclude),
        progress=sys.stderr.isatty(),
    )
    wanted = UpgradeOptions(new_crds, missing, parse_assumptions(assume_formats), old_sidecar)
    code, manifest = run_upgrade(options, wanted)
    with heard_or_not():
        click.echo(upgrade_summary(manifest, report))
    sys.exit(code)
