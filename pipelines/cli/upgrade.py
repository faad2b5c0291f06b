"""`auditor upgrade`: checks an update of definitions, and its effects on the stored objects."""

from __future__ import annotations

import sys
from typing import Any

import click

from auditor.plan.options import FAIL_ON, AuditOptions, RunScope
from pipelines.cli.audit import jobs_of
from pipelines.cli.options.made import ONE_PREFIX, asked_release, options, recorded
from pipelines.cli.report.report import formats_help
from pipelines.console import ignore_closed_stdout
from pipelines.progress import BAR


@click.command(short_help="Show what new definitions would do to every stored object.")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@options(
    "new_crds render to_kubernetes helm_releases helm_release via plan_file old_crds missing report force report_mode "
    "at jobs engine ray_address fail_on output_with_formats fail_on_sealed assume_formats field_gates sidecar "
    "old_sidecar etcd_prefix encryption_config kms_decryptor convert_with kubernetes cluster redact include exclude "
    "namespace labels fields",
    report={"required": True},
    at="Check objects at their stored version, the storage version, each served version, or this version.",
    fail_on={
        "form": FAIL_ON,
        "help": "Exit with 1 if the upgrade reaches this level, or one listed before it; earlier errors do not count.",
    },
    output_with_formats=formats_help("upgrade"),
    field_gates="Turn gates of the new definitions on or off.",
    sidecar="File of gates of the new definitions, by name.",
    etcd_prefix=ONE_PREFIX,
    kms_decryptor="Unwraps KMS data keys: wrapped on stdin, plain out.",
    cluster={"words": "--cluster-name cluster", "help": "Value of the cluster column."},
)
def upgrade(dumps: tuple[str, ...], **flags: Any) -> None:
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
    """
    BAR.start()
    from auditor.releases import find_release  # noqa: PLC0415
    from auditor.selectors.grammar import parse_field_selector, parse_label_selector  # noqa: PLC0415
    from auditor.shards.upgrade import UpgradeOptions  # noqa: PLC0415
    from auditor.upgrade import parse_assumptions  # noqa: PLC0415
    from pipelines.run.report.file_formats import check_place, parse_outputs  # noqa: PLC0415
    from pipelines.run.upgrade import run_upgrade, write_upgrade  # noqa: PLC0415

    report, to_kubernetes, new_crds = flags["report"], flags["to_kubernetes"], flags["new_crds"]
    if flags["helm_releases"] and not to_kubernetes:
        raise click.UsageError("--helm-releases needs --to-kubernetes RELEASE: what is removed depends on it")
    if flags["helm_release"] and not new_crds:
        raise click.UsageError("--helm-release needs --new-crds PATH: the new chart, or what it renders to")
    if not new_crds and not to_kubernetes:
        raise click.UsageError("give --new-crds PATH, --to-kubernetes RELEASE, or both: what the upgrade changes")
    parse_label_selector(flags["labels"])
    parse_field_selector(flags["fields"])
    is_default = click.get_current_context().get_parameter_source("at") is click.core.ParameterSource.DEFAULT
    made = {
        **recorded(AuditOptions, flags),
        "crds": flags["old_crds"],
        "at_of_exports": "stored" if is_default else flags["at"],
        "jobs": jobs_of(flags["engine"], flags["jobs"]),
        "scope": RunScope(**recorded(RunScope, flags)),
    }
    later = find_release(to_kubernetes, reproduced=False).name if to_kubernetes else ""
    own_options = recorded(UpgradeOptions, flags) | {"to_kubernetes": later, "today": asked_release()}
    wanted = UpgradeOptions(
        **own_options, assumptions=parse_assumptions(flags["assume_formats"]), old_sidecars=flags["old_sidecar"]
    )
    outputs = parse_outputs(flags["output"], report)
    if flags["plan_file"]:
        check_place("--plan", flags["plan_file"], report)
    code, manifest = run_upgrade(AuditOptions(dumps, **made), wanted)
    with ignore_closed_stdout():
        write_upgrade(manifest, report, outputs)
    sys.exit(code)
