"""`auditor audit`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from auditor.base.machine import processors
from auditor.base.visible import visible
from auditor.base.wording import by_count
from auditor.plan.limits import bound_process
from auditor.plan.options import AuditOptions, RunScope
from pipelines.cli.options.made import of_run, options, recorded
from pipelines.cli.report.report import formats_help
from pipelines.console import ignore_closed_stdout
from pipelines.limits import deadline_of, share_of_memory
from pipelines.log import LOG
from pipelines.progress import BAR

if TYPE_CHECKING:
    from pipelines.run.report.notify import Message, Receiver


_IN_ORDER: Final = """
crds render report tables report_root report_name keep_reports no_lock dry_run force report_mode at jobs engine
ray_address memory time_per_object time_in_all fail_on fail_on_sealed etcd_prefix encryption_config kms_decryptor
convert_with kubernetes source salvage skip cluster feature_gates old apply since verify verify_digest diff
clusters fleet max_age require_change only_new severity max_new fail_on_standing accept owners history keep_history
notify outputs redact field_gates sidecar include exclude all_namespaces fields labels namespace
log_format quiet verbose
"""
"""Options in the order of the help; an option of a run that is not here is the last."""


def jobs_of(engine: str, jobs: int | None) -> int:
    """Return the number of workers, the engine's default if none was given; 0 with Ray means no limit."""
    return jobs or (0 if engine == "ray" else processors())


@click.command(short_help="Check every object of a dump and write a report.")
@click.argument("dumps", nargs=-1, metavar="DUMP...")
@options(
    " ".join(dict.fromkeys((*_IN_ORDER.split(), *of_run()))),
    outputs=formats_help("audit"),
)
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
      auditor audit today.db --report out/today --diff out/yesterday --only-new
      auditor audit today.db --report-root out/ --diff auto --only-new --keep-reports 30
    """
    as_json, is_quiet = flags["log_format"] == "json", flags["quiet"]
    LOG.configure(as_json=as_json, quiet=is_quiet, verbose=flags["verbose"])
    if not (as_json or is_quiet):
        BAR.start()
    fleet, engine = flags["fleet"], flags["engine"]
    if bool(dumps) == bool(fleet):
        raise click.UsageError("give either dumps or --fleet FILE: what is audited")
    root, keep, no_lock, dry_run = (flags[name] for name in ("report_root", "keep_reports", "no_lock", "dry_run"))
    _check_target(flags["report"], root, flags["diff"], asked=bool(keep or no_lock or dry_run))
    flags["memory"] = flags["memory"] or share_of_memory()
    if flags["memory"]:
        bound_process(flags["memory"])
    from auditor.sources.stores.patterns import has_wildcards  # noqa: PLC0415 - `auditor --help` stays light

    flags["jobs"] = jobs_of(engine, flags["jobs"])
    is_fleet = bool(fleet) or len(flags["etcd_prefix"]) > 1 or any(map(has_wildcards, dumps))
    from pipelines.engines import expect_workers  # noqa: PLC0415

    expect_workers(dumps, engine=engine, jobs=flags["jobs"], fleet=is_fleet)
    outputs = flags["outputs"]
    run_options = _options(dumps, flags)
    _check_combinations(run_options)
    from pipelines.run.report.notify import parse_receivers, sent_at_the_end  # noqa: PLC0415

    receivers = parse_receivers(flags["notify"])
    with ExitStack() as stack:
        messages = stack.enter_context(sent_at_the_end())  # when the lock of the root is free again
        if outputs and not dry_run:
            from pipelines.run.report.file_formats import failed_runs_noted  # noqa: PLC0415 - only when asked

            stack.enter_context(failed_runs_noted(outputs))
        if root:
            from pipelines.run.job import JobOptions, plan_job, planned_lines, run_job  # noqa: PLC0415

            job = JobOptions(root, flags["report_name"], keep, lock=not no_lock)
            if dry_run:
                click.echo("\n".join(visible(line) for line in planned_lines(plan_job(job, run_options))))
                return
            run_options = stack.enter_context(run_job(job, run_options))
        sys.exit(_run(run_options, outputs, receivers, messages, is_quiet=is_quiet))


def _options(dumps: tuple[str, ...], flags: dict[str, Any]) -> AuditOptions:
    """Return the options of a run."""
    from auditor.causes.exit_code import parse_most_new  # noqa: PLC0415
    from auditor.causes.severity import parse_rules  # noqa: PLC0415
    from auditor.plan.feature_gates import parse_feature_gates  # noqa: PLC0415 - `auditor --help` stays light
    from auditor.selectors.grammar import parse_field_selector, parse_label_selector  # noqa: PLC0415

    parse_label_selector(flags["labels"])
    parse_field_selector(flags["fields"])
    parse_rules(flags["severity"])
    prefixes = flags["etcd_prefix"]
    scope = RunScope(**recorded(RunScope, flags))
    made = {
        **recorded(AuditOptions, flags),
        "at_of_exports": "stored" if _is_at_default() else flags["at"],
        "until": deadline_of(flags["time_in_all"]),
        "etcd_prefix": prefixes[0],
        "prefixes": prefixes if len(prefixes) > 1 else (),
        "ratcheting": parse_feature_gates(flags["feature_gates"]),
        "most_new": parse_most_new(flags["max_new"]),
        "skip": tuple(sorted(set(flags["skip"]))),
        "scope": replace(scope, namespace="") if flags["all_namespaces"] else scope,
    }
    return AuditOptions(dumps, **made)


def _check_target(report: str, root: str, diff: str, *, asked: bool) -> None:
    """Refuse a report without a place, with two, and options that need --report-root."""
    if bool(report) == bool(root):
        raise click.UsageError("give either --report DIR or --report-root DIR: where the report is written")
    if root:
        return
    if diff == "auto":
        raise click.UsageError("--diff auto needs --report-root: the last reports below it are used")
    if asked:
        raise click.UsageError("--keep-reports, --no-lock and --dry-run need --report-root")


def _check_combinations(options: AuditOptions) -> None:
    """Refuse combinations of options that have no meaning.

    Raises:
        UsageError: There is one.
    """
    if options.only_new and not options.diff:
        raise click.UsageError("--only-new needs --diff: it names the report that findings are compared with")
    if options.most_new and not options.diff:
        raise click.UsageError("--max-new needs --diff: it names the report that findings are compared with")
    if options.require_change and not options.diff:
        raise click.UsageError("--require-change needs --diff: it names the report of the last dump")


def _run(
    options: AuditOptions,
    texts: tuple[str, ...],
    receivers: tuple[Receiver, ...],
    messages: list[Message],
    *,
    is_quiet: bool,
) -> int:
    """Run the audit, write its formats, add its messages to a list, print its summary, and return the exit code."""
    from auditor.sources.stores.locations import shown_url  # noqa: PLC0415
    from pipelines.run.fleet import run_anywhere  # noqa: PLC0415
    from pipelines.run.report.file_formats import parse_outputs, prints  # noqa: PLC0415
    from pipelines.run.report.findings import print_end  # noqa: PLC0415
    from pipelines.run.report_target import read_of_run  # noqa: PLC0415

    outputs = parse_outputs(texts, options.report)
    shown = shown_url(options.report)
    dumps = ", ".join(shown_url(dump) for dump in options.dumps[:3]) + (", ..." if len(options.dumps) > 3 else "")
    dumps = options.fleet or dumps
    LOG.info("start", f"audit of {dumps} into {shown}", dumps=len(options.dumps), report=shown, jobs=options.jobs)
    code, manifest = run_anywhere(options)
    counts = manifest["counts"]
    LOG.info(
        "result",
        f"{counts['keys']:,} {by_count(counts['keys'], 'key', 'keys')} in {manifest['seconds']:.1f} s, "
        f"exit code {code}, report {shown}",
        exit_code=code,
        report=shown,
        seconds=manifest["seconds"],
        keys=counts["keys"],
        statuses=counts["statuses"],
    )
    if outputs or receivers:
        from pipelines.run.report.notify import deliver  # noqa: PLC0415 - only when asked

        with read_of_run(options.report, manifest, is_needed=bool(outputs)):
            messages += deliver(options.report, outputs, receivers, options.history)
    if prints(outputs) or (is_quiet and not code):
        return code
    with ignore_closed_stdout(), read_of_run(options.report, manifest):
        print_end(options.report)
    return code


def _is_at_default() -> bool:
    source = click.get_current_context().get_parameter_source("at")
    return source is click.core.ParameterSource.DEFAULT
