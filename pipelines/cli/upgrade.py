"""`auditor upgrade`: checks an update of definitions, and its effects on the stored objects."""

from __future__ import annotations

import sys

import click

from auditor.plan.options import FAIL_ON
from pipelines.cli.options.engine import engine_options, jobs_of
from pipelines.cli.options.etcd_prefix import one_prefix_option
from pipelines.cli.options.kubernetes import kubernetes_option
from pipelines.cli.options.render import render_option
from pipelines.cli.options.report_mode import report_mode_option
from pipelines.cli.report.report import format_option
from pipelines.console import ignore_closed_stdout

__all__ = ["upgrade"]


@click.command(short_help="Show what new definitions would do to every stored object.")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option(
    "--new-crds",
    multiple=True,
    metavar="PATH",
    help="New definitions: file, folder, Helm chart, dump, or - (e.g. helm template).",
)
@render_option
@click.option(
    "--to-kubernetes",
    default="",
    metavar="RELEASE",
    help="Release of the API server after the upgrade, such as 1.38; alone or with --new-crds. Also lists removed and "
    "deprecated versions of kinds.",
)
@click.option(
    "--helm-releases",
    is_flag=True,
    help="With --to-kubernetes: look for removed versions in manifests of deployed Helm releases, too.",
)
@click.option(
    "--helm-release",
    default="",
    metavar="NAME",
    help="Release that `helm upgrade` is run on, if it is not the one of the chart: NAME or NAMESPACE/NAME.",
)
@click.option("--via", multiple=True, metavar="PATH", help="Definitions of a release between: scan the two hops.")
@click.option("--plan", "plan_file", default="", metavar="FILE", help="Write the plan as FILE.json and FILE.sh.")
@click.option("--old-crds", multiple=True, metavar="PATH", help="Today's definitions; they replace the dump's by name.")
@click.option(
    "--missing",
    type=click.Choice(["keep", "delete"]),
    default="keep",
    show_default=True,
    help="What happens to definitions that are not among the new ones.",
)
@click.option("--report", required=True, metavar="DIR", help="Folder to write the report to.")
@click.option("--force", is_flag=True, help="Replace an existing report in DIR; nothing but a report is removed.")
@report_mode_option
@click.option(
    "--at",
    default="storage",
    show_default=True,
    help="Check objects at their stored version, the storage version, each served version, or this version.",
)
@engine_options
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="invalid",
    show_default=True,
    help="Exit with 1 if the upgrade reaches this level, or one listed before it; earlier errors do not count.",
)
@format_option("upgrade", "output")
@click.option("--fail-on-sealed", is_flag=True, help="Exit with 1 if a value is encrypted and no key is given.")
@click.option(
    "--assume-format",
    "assume_formats",
    multiple=True,
    metavar="FORMAT=KNOWN",
    help="Count the values that would fail if a format unknown to this release were, e.g., dns1123subdomain.",
)
@click.option("--field-gates", default="", metavar="NAME=BOOL,...", help="Turn gates of the new definitions on or off.")
@click.option("--sidecar", multiple=True, metavar="FILE", help="File of gates of the new definitions, by name.")
@click.option("--old-sidecar", multiple=True, metavar="FILE", help="The same for today's definitions.")
@one_prefix_option
@click.option("--encryption-config", default="", metavar="FILE", help="EncryptionConfiguration of the API server.")
@click.option("--kms-decryptor", default="", metavar="CMD", help="Unwraps KMS data keys: wrapped on stdin, plain out.")
@click.option(
    "--convert-with",
    default="",
    metavar="CMD",
    help="Command to run instead of conversion webhooks: ConversionReview on stdin and stdout.",
)
@kubernetes_option
@click.option("--cluster-name", "cluster", default="", help="Value of the cluster column.")
@click.option("--redact", is_flag=True, help="Leave values of objects out of the report (and with them its index).")
@click.option("--include", multiple=True, metavar="KIND[.GROUP]", help="Only these kinds.")
@click.option("--exclude", multiple=True, metavar="KIND[.GROUP]", help="All but these kinds.")
@click.option("-n", "--namespace", default="", help="Only objects of this namespace.")
@click.option("-l", "--selector", "labels", default="", help="Only objects with these labels.")
@click.option("--field-selector", "fields", default="", help="Only objects with these field values.")
def upgrade(
    dumps: tuple[str, ...],
    new_crds: tuple[str, ...],
    to_kubernetes: str,
    via: tuple[str, ...],
    plan_file: str,
    output: tuple[str, ...],
    old_crds: tuple[str, ...],
    missing: str,
    report: str,
    *,
    helm_releases: bool,
    helm_release: str,
    render: bool,
    force: bool,
    report_mode: str,
    at: str,
    jobs: int | None,
    engine: str,
    ray_address: str,
    fail_on: str,
    fail_on_sealed: bool,
    assume_formats: tuple[str, ...],
    field_gates: str,
    sidecar: tuple[str, ...],
    old_sidecar: tuple[str, ...],
    etcd_prefix: str,
    encryption_config: str,
    kms_decryptor: str,
    convert_with: str,
    kubernetes: str,
    cluster: str,
    redact: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    namespace: str,
    labels: str,
    fields: str,
) -> None:
    """Check every object of a dump under today's definitions and under new ones, and report what changes.

    The first line is the answer: safe, safe after the steps that it names, attention, or blocks, and why. A plan that
    can be carried out goes to the files of --plan; where there is none, the answer says what it needs. For each
    definition follow the server's answer to its update, the versions that are added or removed with the objects stored
    at them, and its objects: those that can no longer be read, those that become invalid (updates refused, or tolerated
    while the fields are unchanged), the stored data that the new schema drops, the defaults that reads will show, and
    where the schema is narrower. The report holds objects/ and findings/ as checked under the new definitions, and
    changes/ with the old and the new value of every path; `auditor changes` prints all of it.

    \b
    Exit codes: 0; 1 --fail-on reached by what changes; 2 usage; 3 part of a dump could not be read; 70 internal error;
    130 Ctrl-C. blocked includes a definition that the server refuses, data-loss objects deleted with their definition.

    \b
    Examples:
      auditor upgrade snapshot.db --new-crds crds/ --report out/
      helm template chart/ --include-crds | auditor upgrade snapshot.db --new-crds - --report out/
      auditor upgrade export.json --old-crds v1/ --new-crds v2/ --report out/ --fail-on data-loss
      auditor upgrade snapshot.db --new-crds crds/ --missing delete --report out/
      auditor upgrade snapshot.db --new-crds crds/ --report out/ -o html=upgrade.html -o sarif=upgrade.sarif
      auditor upgrade snapshot.db --to-kubernetes 1.38 --helm-releases --report out/
      auditor upgrade snapshot.db --new-crds v3/ --via v2/ --report out/ --plan plan
      auditor upgrade snapshot.db --new-crds crds/ --report out/ --assume-format k8s-name=dns1123subdomain

    \f
    Over 80 lines: it has an argument for each option.
    """
    from auditor.plan.options import AuditOptions, Scope  # noqa: PLC0415
    from auditor.releases import find_release  # noqa: PLC0415
    from auditor.selectors.grammar import parse_field_selector, parse_label_selector  # noqa: PLC0415
    from auditor.shards.upgrade import UpgradeOptions  # noqa: PLC0415
    from auditor.upgrade import parse_assumptions  # noqa: PLC0415
    from pipelines.run.report.formats import check_place, split_outputs  # noqa: PLC0415
    from pipelines.run.upgrade import run_upgrade, write_upgrade  # noqa: PLC0415

    if helm_releases and not to_kubernetes:
        raise click.UsageError("--helm-releases needs --to-kubernetes RELEASE: what is removed depends on it")
    if helm_release and not new_crds:
        raise click.UsageError("--helm-release needs --new-crds PATH: the new chart, or what it renders to")
    if not new_crds and not to_kubernetes:
        raise click.UsageError("give --new-crds PATH, --to-kubernetes RELEASE, or both: what the upgrade changes")
    parse_label_selector(labels)
    parse_field_selector(fields)
    source = click.get_current_context().get_parameter_source
    is_default = source("at") is click.core.ParameterSource.DEFAULT
    today = "" if source("kubernetes") is click.core.ParameterSource.DEFAULT else kubernetes
    options = AuditOptions(
        dumps=dumps,
        crds=old_crds,
        render=render,
        report=report,
        at=at,
        at_of_exports="stored" if is_default else at,
        jobs=jobs_of(engine, jobs),
        engine=engine,
        ray_address=ray_address,
        force=force,
        report_mode=report_mode,
        fail_on=fail_on,
        fail_on_sealed=fail_on_sealed,
        etcd_prefix=etcd_prefix,
        cluster=cluster,
        redact=redact,
        encryption_config=encryption_config,
        kms_decryptor=kms_decryptor,
        convert_with=convert_with,
        kubernetes=kubernetes,
        field_gates=field_gates,
        gate_sidecars=sidecar,
        scope=Scope(namespace, labels, fields, include, exclude),
        progress=sys.stderr.isatty(),
    )
    assumed = parse_assumptions(assume_formats)
    later = find_release(to_kubernetes, reproduced=False).name if to_kubernetes else ""
    wanted = UpgradeOptions(
        new_crds, missing, assumed, old_sidecar, via, plan_file, later, helm_releases, today, helm_release
    )
    own, formats = split_outputs(output, "upgrade", report)
    if plan_file:
        check_place("--plan", plan_file, report)
    code, manifest = run_upgrade(options, wanted)
    with ignore_closed_stdout():
        write_upgrade(manifest, report, own, formats)
    sys.exit(code)
