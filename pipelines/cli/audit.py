"""`auditor audit`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.plan.limits import bound_process
from auditor.plan.options import FAIL_ON, SEVERITIES
from pipelines.cli.options.cache import cache_folder, cache_options
from pipelines.cli.options.engine import engine_options, jobs_of
from pipelines.cli.options.etcd_prefix import prefixes_option
from pipelines.cli.options.job import job_options, log_options
from pipelines.cli.options.kubernetes import kubernetes_option
from pipelines.cli.options.outcome import outcome_options
from pipelines.cli.options.render import render_option
from pipelines.cli.options.report_mode import report_mode_option
from pipelines.cli.options.since import check_since, since_options
from pipelines.cli.report.report import format_option
from pipelines.console import ignore_closed_stdout
from pipelines.limits import deadline_of, limit_options, share_of_memory
from pipelines.log import LOG
from pipelines.workers import expect_workers

if TYPE_CHECKING:
    from auditor.plan.options import AuditOptions
    from pipelines.run.report.notify import Message, Receiver

__all__ = ["audit"]


def _scope_options(command: Any) -> Any:
    for option in (
        click.option("-n", "--namespace", default="", help="Only objects of this namespace."),
        click.option("-l", "--selector", "labels", default="", help="Only objects with these labels."),
        click.option("--field-selector", "fields", default="", help="Only objects with these field values."),
    ):
        command = option(command)
    return command


@click.command(short_help="Check every object of a dump and write a report.")
@click.argument("dumps", nargs=-1, metavar="DUMP...")
@click.option(
    "--crds",
    multiple=True,
    metavar="PATH",
    help="Definitions (files, a folder, a chart, a dump); they replace those of the dump by name.",
)
@render_option
@click.option("--report", default="", metavar="DIR", help="Folder to write the report to.")
@job_options
@click.option("--force", is_flag=True, help="Replace an existing report in DIR; nothing but a report is removed.")
@report_mode_option
@click.option(
    "--at",
    default="storage",
    show_default=True,
    help="Check objects at their stored version, the storage version, each served version, or this version; exports "
    "as they are.",
)
@engine_options
@limit_options
@cache_options
@click.option(
    "--fail-on",
    type=click.Choice([*FAIL_ON, *SEVERITIES]),
    default="invalid",
    show_default=True,
    help="Exit with 1 if an object reaches this level, or one listed before it; or a severity, or a worse one.",
)
@click.option("--fail-on-sealed", is_flag=True, help="Exit with 1 if a value is encrypted and no key is given.")
@prefixes_option
@click.option("--encryption-config", default="", metavar="FILE", help="EncryptionConfiguration of the API server.")
@click.option(
    "--kms-decryptor", default="", metavar="CMD", help="Unwraps KMS data keys: wrapped on stdin, plain on stdout."
)
@click.option(
    "--convert-with",
    default="",
    metavar="CMD",
    help="Command to run instead of conversion webhooks: ConversionReview on stdin and stdout.",
)
@kubernetes_option
@click.option("--source", default="", metavar="FORMAT", help="Format of the dumps; see `auditor sources`.")
@click.option("--salvage", is_flag=True, help="Also read pages of a damaged database that nothing refers to.")
@click.option(
    "--skip",
    type=click.Choice(["rules", "updates", "builtin"]),
    multiple=True,
    help="Save time: updates skips the checks of updates; rules skips these and the validation rules (counted as not "
    "evaluated); builtin skips the decoding of built-in kinds.",
)
@click.option(
    "--cluster-name",
    "cluster",
    default="",
    metavar="NAME",
    help="Value of the cluster column; for a pattern of dumps, use {1} (its first wildcard), {name} or {parent}.",
)
@click.option(
    "--feature-gates",
    default="",
    metavar="NAME=BOOL",
    help="Feature gates of the server: CRDValidationRatcheting=false before 1.30.",
)
@click.option("--old", multiple=True, metavar="OLD", help="Earlier state: check DUMP as updates of its objects.")
@click.option(
    "--apply",
    type=click.Choice(["merge", "replace"]),
    default="merge",
    show_default=True,
    help="With --old: how manifests are applied to the objects of OLD.",
)
@since_options
@outcome_options
@format_option("audit")
@click.option("--redact", is_flag=True, help="Leave values of objects out of the report (and with them its index).")
@click.option("--field-gates", default="", metavar="NAME=BOOL,...", help="Turn field-level gates on or off.")
@click.option("--sidecar", multiple=True, metavar="FILE", help="File of field-level gates, by name of the definition.")
@click.option("--include", multiple=True, metavar="KIND[.GROUP]", help="Only these kinds.")
@click.option("--exclude", multiple=True, metavar="KIND[.GROUP]", help="All but these kinds.")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces (the default; accepted as kubectl does).")
@click.option(
    "--explain-program", metavar="KIND", help="Print how many objects of KIND the generated program proved valid."
)
@_scope_options
@log_options
def audit(dumps: tuple[str, ...], **flags: Any) -> None:
    """Read dumps as the API server would and run the checks of a create on every object.

    DUMP is an etcd snapshot or member database, `etcdctl get -w json`, a kubectl export (JSON, YAML, List, NDJSON), a
    folder of these, or `-`; each may be compressed (.gz, .zst, .xz, .bz2). The format is detected from the content.

    \b
    Exit codes: 0; 1 --fail-on reached; 2 usage; 3 part of a dump not read, a cluster missing or stale;
    4 disk, permission, memory or store; 5 locked; 70 internal error; 130 Ctrl-C.

    \b
    Examples:
      auditor audit snapshot.db --report out/
      auditor audit backup.json.gz --crds crds/ --report out/ --fail-on unreadable
      auditor audit snapshot.db --report out/ --include Certificate.cert-manager.io -n prod
      auditor audit --old snapshot.db manifests/ --report out/ --apply merge
      auditor audit '/backups/*.db' --report /backups/report --engine ray --ray-address auto
      auditor audit today.db --report out/today --since out/yesterday --diff out/yesterday --only-new
      auditor audit today.db --report-root out/ --since auto --diff auto --only-new --keep-reports 30
    """
    take = flags.pop  # what is not taken is an option of the same name
    LOG.configure(as_json=take("log_format") == "json", quiet=take("quiet"), verbose=take("verbose"))
    fleet, since, engine = flags["fleet"], flags["since"], flags["engine"]
    if bool(dumps) == bool(fleet):
        raise click.UsageError("give either dumps or --fleet FILE: what is audited")
    root, name, keep = take("report_root"), take("report_name"), take("keep_reports")
    no_lock, dry_run = take("no_lock"), take("dry_run")
    _check_target(flags["report"], root, since, flags["diff"], asked=bool(keep or no_lock or dry_run))
    flags["memory"] = flags["memory"] or share_of_memory()
    if flags["memory"]:
        bound_process(flags["memory"])
    from auditor.sources.stores.patterns import has_wildcards  # noqa: PLC0415 - `auditor --help` stays light

    flags["jobs"] = jobs_of(engine, flags["jobs"])
    is_fleet = bool(fleet) or len(flags["etcd_prefix"]) > 1 or any(map(has_wildcards, dumps))
    expect_workers(dumps, engine=engine, jobs=flags["jobs"], since=since, fleet=is_fleet)
    outputs, urls, explained = take("outputs"), take("notify"), take("explain_program")
    options = _options(dumps, flags)
    check_since(options)
    from pipelines.run.report.notify import parse_receivers, sent_at_the_end  # noqa: PLC0415

    receivers = parse_receivers(urls)
    with ExitStack() as stack:
        messages = stack.enter_context(sent_at_the_end())  # when the lock of the root is free again
        if outputs and not dry_run:
            from pipelines.run.report.formats import failed_runs_noted  # noqa: PLC0415 - only when asked

            stack.enter_context(failed_runs_noted(outputs))
        if root:
            from pipelines.run.job import JobOptions, plan_job, planned_lines, run_job  # noqa: PLC0415

            job = JobOptions(root, name, keep, lock=not no_lock)
            if dry_run:
                click.echo("\n".join(visible(line) for line in planned_lines(plan_job(job, options))))
                return
            options = stack.enter_context(run_job(job, options))
        sys.exit(_run(options, explained, outputs, receivers, messages))


def _options(dumps: tuple[str, ...], flags: dict[str, Any]) -> AuditOptions:
    """Return the options of a run; a flag that is not read here is the option of its name."""
    from auditor.plan.feature_gates import parse_feature_gates  # noqa: PLC0415 - `auditor --help` stays light
    from auditor.plan.options import AuditOptions, Scope  # noqa: PLC0415
    from auditor.report.findings.exit_code import parse_most_new  # noqa: PLC0415
    from auditor.report.findings.severity import parse_rules  # noqa: PLC0415
    from auditor.selectors.grammar import parse_field_selector, parse_label_selector  # noqa: PLC0415

    take = flags.pop
    namespace, labels, fields = take("namespace"), take("labels"), take("fields")
    prefixes = take("etcd_prefix")
    parse_label_selector(labels)
    parse_field_selector(fields)
    parse_rules(flags["severity"])
    made: dict[str, Any] = {
        "dumps": dumps,
        "at_of_exports": "stored" if _is_default("at") else flags["at"],
        "seconds_per_object": take("time_per_object"),
        "until": deadline_of(take("time_in_all")),
        "etcd_prefix": prefixes[0],
        "prefixes": prefixes if len(prefixes) > 1 else (),
        "cache": cache_folder(take("cache"), no_cache=take("no_cache")),
        "gate_sidecars": take("sidecar"),
        "ratcheting": parse_feature_gates(take("feature_gates")),
        "most_new": parse_most_new(take("max_new")),
        "skip": tuple(sorted(set(take("skip")))),
        "scope": Scope("" if take("all_namespaces") else namespace, labels, fields, take("include"), take("exclude")),
        "progress": sys.stderr.isatty(),
    }
    return AuditOptions(**made, **flags)


def _check_target(report: str, root: str, since: str, diff: str, *, asked: bool) -> None:
    """Refuse a report without a place, with two, and options that need --report-root."""
    if bool(report) == bool(root):
        raise click.UsageError("give either --report DIR or --report-root DIR: where the report is written")
    if root:
        return
    if "auto" in (since, diff):
        raise click.UsageError("--since auto and --diff auto need --report-root: the newest report below it is used")
    if asked:
        raise click.UsageError("--keep-reports, --no-lock and --dry-run need --report-root")


def _run(
    options: AuditOptions,
    explain_program: str | None,
    texts: tuple[str, ...],
    receivers: tuple[Receiver, ...],
    messages: list[Message],
) -> int:
    """Run the audit, write its formats, add its messages to a list, print its summary, and return the exit code."""
    from auditor.base.disk_cache import using_cache  # noqa: PLC0415
    from auditor.sources.stores.locations import shown_url  # noqa: PLC0415
    from pipelines.run.fleet import run_anywhere  # noqa: PLC0415
    from pipelines.run.report.findings import print_end  # noqa: PLC0415
    from pipelines.run.report.formats import parse_outputs, prints  # noqa: PLC0415
    from pipelines.run.report_target import read_of_run  # noqa: PLC0415

    outputs = parse_outputs(texts, options.report)
    shown = shown_url(options.report)
    dumps = ", ".join(shown_url(dump) for dump in options.dumps[:3]) + (", ..." if len(options.dumps) > 3 else "")
    dumps = options.fleet or dumps
    LOG.info("start", f"audit of {dumps} into {shown}", dumps=len(options.dumps), report=shown, jobs=options.jobs)
    with using_cache(options.cache) as why:
        if why:
            LOG.warning("cache", f"the cache {options.cache} is not used: {why}; remove it, or give another --cache")
        code, manifest = run_anywhere(options)
    counts = manifest["counts"]
    LOG.info(
        "result",
        f"{counts['keys']:,} keys in {manifest['seconds']:.1f} s, exit code {code}, report {shown}",
        exit_code=code,
        report=shown,
        seconds=manifest["seconds"],
        keys=counts["keys"],
        statuses=counts["statuses"],
    )
    if outputs or receivers:
        from pipelines.run.report.delivery import deliver  # noqa: PLC0415 - only when asked

        with read_of_run(options.report, manifest, is_needed=bool(outputs)):
            messages += deliver(options.report, outputs, receivers, options.history)
    if prints(outputs):
        return code
    with ignore_closed_stdout():
        with read_of_run(options.report, manifest):
            print_end(options.report)
        if explain_program:
            click.echo(_explain(manifest, explain_program))
    return code


def _is_default(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.DEFAULT


def _explain(manifest: dict[str, Any], kind: str) -> str:
    wanted = kind.lower()
    lines = []
    for entry in manifest["programs"]:
        name = f"{entry['kind']}.{entry['group']}".lower()
        if wanted in (name, entry["kind"].lower(), entry["crd"].lower()):
            total = entry["proven"] + entry["not_proven"]
            share = 100 * entry["proven"] / entry["valid"] if entry["valid"] else 0.0
            lines.append(
                f"{entry['crd']} {entry['version']}: {entry['valid']} of {total} objects are valid; the generated "
                f"program alone proved {entry['proven']} ({share:.1f} % of the valid); {entry['interpreted']} were "
                "checked before the program was ready"
            )
            lines += _fallback_lines(manifest, entry)
    return "\n".join(lines) or f"no object of kind {kind} was audited"


def _fallback_lines(manifest: dict[str, Any], program: dict[str, Any]) -> list[str]:
    """Return a line for each reason why the exact path judged objects of a version."""
    out = []
    for row in manifest["fallbacks"]:
        if row["part"] == "object" and all(row[key] == program[key] for key in ("crd", "version")):
            why = row["reason"] + (f" ({row['detail']})" if row["detail"] else "")
            out.append(f"  exact path: {counted(row['count'], 'object')}, {row['valid']} of them valid; reason: {why}")
    return out
