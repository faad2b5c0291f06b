"""The command line: arguments, progress, exit codes; no logic.

Only click is imported here, so that help is instant; each command imports what it needs when it runs. Every option can
be set in the environment (AUDITOR_AUDIT_JOBS=2) or in a configuration file (flag > environment > file).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from auditor.base.visible import visible
from auditor.plan.limits import bound_process
from pipelines.cli.config_file import load_configuration
from pipelines.cli.crds import crds
from pipelines.cli.diff import diff
from pipelines.cli.engine_options import engine_options, jobs_of
from pipelines.cli.environment import check_environment
from pipelines.cli.fields import fields
from pipelines.cli.gates import gates
from pipelines.cli.insecure_http import add_insecure_http
from pipelines.cli.query import query
from pipelines.cli.report_options import report_mode_option
from pipelines.cli.show import show
from pipelines.cli.since_options import check_since, since_options
from pipelines.cli.sources import encryption_hint, sources
from pipelines.cli.upgrade import upgrade
from pipelines.cli.watch import watch
from pipelines.console import OutputClosed, forget_output, ignore_closed_stdout, watch_streams
from pipelines.deep import allow_depth
from pipelines.import_path import leave_out_current_folder
from pipelines.limits import deadline_of, limit_options, share_of_memory
from pipelines.streams import escape_streams
from pipelines.workers import expect_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.errors import AuditorError

__all__ = ["main"]

FAIL_ON = ("never", "unreadable", "blocked", "data-loss", "invalid")
_LONGEST_ERROR = 4000
CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "AUDITOR", "max_content_width": 120}


class _ClosedPipe(Exception):
    """The reader of standard output closed it."""


class _Unexpected(Exception):
    """A pipe that the run needs was closed; wrapped because click would treat it as a closed stdout or as Ctrl-C."""


@contextlib.contextmanager
def _closed_pipe() -> Iterator[None]:
    try:
        yield
    except OutputClosed as error:  # click would make it a failure
        raise _ClosedPipe from error
    except (BrokenPipeError, EOFError) as error:
        raise _Unexpected from error


class _Group(click.Group):
    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # prints the help and the version
        with _closed_pipe():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe():
            check_environment(self)
            return super().invoke(ctx)


def _open_streams() -> None:
    """Open /dev/null in place of standard streams that the caller closed (`>&-`, supervisors), and write UTF-8."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # as kubectl does
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
    watch_streams()
    escape_streams()


class _Ended(BaseException):
    """A signal asked the process to end; raised so that temporary files are removed. `args` holds the signal."""


_NAMED = (
    "warning: PYTHONPATH names the current directory (an empty entry does), so Python may have run modules from it "
    "before auditor started; auditor itself imports nothing from there: remove the entry"
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _go_on(_: int, __: Any) -> None:
    """Ignore a signal; setting SIG_IGN instead makes Python complain about a signal that is already pending."""


def _end(number: int, _: Any) -> None:
    for each in _ENDING:  # `timeout` and people send it twice: the clean-up must not be interrupted
        signal.signal(each, _go_on)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise _Ended(number)


@click.group(cls=_Group, context_settings=CONTEXT)
@click.version_option(allow_from_autoenv=False, message="%(version)s", package_name="kubernetes-dump-auditor")
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=load_configuration,
    help="Defaults for the options, per command; '' for none  [default: your ~/.config/auditor/auditor.yaml, and from "
    "./auditor.yaml only options that run no command, write no file and contact no other machine]",
)
def cli() -> None:
    """Check every key of an etcd snapshot or Kubernetes export as the API server would today.

    \b
    Examples:
      auditor audit snapshot.db --report out/
      auditor query out/ widgets -A --field-selector spec.color=blue
      auditor validate --crds crds/ manifest.yaml
    """


def _scope_options(command: Any) -> Any:
    for option in (
        click.option("-n", "--namespace", default="", help="Only objects of this namespace."),
        click.option("-l", "--selector", "labels", default="", help="Only objects with these labels."),
        click.option("--field-selector", "fields", default="", help="Only objects with these field values."),
    ):
        command = option(command)
    return command


@cli.command(short_help="Check every object of a dump and write a report.")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option(
    "--crds", multiple=True, metavar="PATH", help="File or folder of definitions; they replace the dump's by name."
)
@click.option("--report", required=True, metavar="DIR", help="Folder to write the report to.")
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
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="invalid",
    show_default=True,
    help="Exit with 1 if an object reaches this level, or one listed before it.",
)
@click.option("--fail-on-sealed", is_flag=True, help="Exit with 1 if a value is encrypted and no key is given.")
@click.option("--etcd-prefix", default="/registry", show_default=True, help="Prefix of the API server's keys.")
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
def audit(
    dumps: tuple[str, ...],
    crds: tuple[str, ...],
    report: str,
    *,
    force: bool,
    report_mode: str,
    at: str,
    jobs: int | None,
    engine: str,
    ray_address: str,
    memory: int | None,
    time_per_object: float,
    time_in_all: float | None,
    fail_on: str,
    fail_on_sealed: bool,
    etcd_prefix: str,
    encryption_config: str,
    kms_decryptor: str,
    convert_with: str,
    source: str,
    salvage: bool,
    skip: tuple[str, ...],
    cluster: str,
    feature_gates: str,
    old: tuple[str, ...],
    apply: str,
    since: str,
    verify_sample: float,
    diff: str,
    only_new: bool,
    redact: bool,
    clusters: str,
    max_age: float | None,
    require_change: bool,
    field_gates: str,
    sidecar: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    all_namespaces: bool,
    explain_program: str | None,
    namespace: str,
    labels: str,
    fields: str,
) -> None:
    """Read dumps as the API server would and run the checks of a create on every object.

    DUMP is an etcd snapshot or member database, `etcdctl get -w json`, a kubectl export (JSON, YAML, List, NDJSON), a
    folder of these, or `-`; each may be compressed (.gz, .zst, .xz, .bz2). The format is detected from the content.

    \b
    Exit codes: 0; 1 --fail-on reached; 2 usage; 3 part of a dump could not be read; 70 internal error; 130 Ctrl-C.

    \b
    Examples:
      auditor audit snapshot.db --report out/
      auditor audit backup.json.gz --crds crds/ --report out/ --fail-on unreadable
      auditor audit snapshot.db --report out/ --include Certificate.cert-manager.io -n prod
      auditor audit --old snapshot.db manifests/ --report out/ --apply merge
      auditor audit '/backups/*.db' --report /backups/report --engine ray --ray-address auto
      auditor audit today.db --report out/today --since out/yesterday --diff out/yesterday --only-new
    """
    memory = memory or share_of_memory()
    if memory:
        bound_process(memory)
    expect_workers(dumps, engine=engine, jobs=jobs_of(engine, jobs), since=since)
    from auditor.plan.options import AuditOptions, Scope  # noqa: PLC0415
    from auditor.report.terminal import summary  # noqa: PLC0415
    from auditor.selectors.grammar import parse_field_selector, parse_label_selector  # noqa: PLC0415
    from pipelines.cli.feature_gates import parse_feature_gates  # noqa: PLC0415
    from pipelines.run.fleet import run_anywhere  # noqa: PLC0415

    parse_label_selector(labels)
    parse_field_selector(fields)
    options = AuditOptions(
        dumps=dumps,
        crds=crds,
        report=report,
        at=at,
        at_of_exports="stored" if _is_default("at") else at,
        jobs=jobs_of(engine, jobs),
        engine=engine,
        ray_address=ray_address,
        memory=memory,
        seconds_per_object=time_per_object,
        until=deadline_of(time_in_all),
        force=force,
        report_mode=report_mode,
        fail_on=fail_on,
        fail_on_sealed=fail_on_sealed,
        etcd_prefix=etcd_prefix,
        cluster=cluster,
        encryption_config=encryption_config,
        kms_decryptor=kms_decryptor,
        convert_with=convert_with,
        field_gates=field_gates,
        gate_sidecars=sidecar,
        source=source,
        salvage=salvage,
        ratcheting=parse_feature_gates(feature_gates),
        old=old,
        apply=apply,
        since=since,
        verify_sample=verify_sample,
        diff=diff,
        only_new=only_new,
        redact=redact,
        clusters=clusters,
        max_age=max_age,
        require_change=require_change,
        skip=tuple(sorted(set(skip))),
        scope=Scope("" if all_namespaces else namespace, labels, fields, include, exclude),
        progress=sys.stderr.isatty(),
    )
    check_since(options)
    code, manifest = run_anywhere(options)
    blocks = [summary(manifest, report)]
    if hint := encryption_hint(manifest):
        blocks.append(hint)
    if explain_program:
        blocks.append(_explain(manifest, explain_program))
    with ignore_closed_stdout():
        click.echo("\n\n".join(blocks))
    sys.exit(code)


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
    return "\n".join(lines) or f"no object of kind {kind} was audited"


for _command in (query, fields, show, watch):
    cli.add_command(_command)
cli.add_command(crds)
cli.add_command(upgrade)
cli.add_command(gates)
cli.add_command(sources)
cli.add_command(diff)


@cli.command(short_help="Check manifests, for example in a CI job.")
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


@cli.command(short_help="Print versions.")
def version() -> None:
    """Print the version, and the Kubernetes release whose behaviour it reproduces.

    \b
    Example:
      auditor version
    """
    import auditor  # noqa: PLC0415

    click.echo(f"auditor {auditor.__version__} (Kubernetes {auditor.KUBERNETES_RELEASE})")


add_insecure_http(cli)


def _error_text(error: AuditorError) -> str:
    """Return an error as one line; two kinds of errors have several lines, which are indented."""
    from auditor.base.errors import EngineError, SelectorError  # noqa: PLC0415

    text = str(error)
    if len(text) > _LONGEST_ERROR:
        text = f"{text[: _LONGEST_ERROR // 2]} [...] {text[-_LONGEST_ERROR // 2 :]}"
    return _indented(text).lstrip() if isinstance(error, (EngineError, SelectorError)) else visible(text)


def _indented(text: str) -> str:
    return "\n".join(f"    {visible(line)}" for line in text.rstrip("\n").split("\n"))


def main() -> None:
    """Run the command line; the process ends with the documented exit codes."""
    named = leave_out_current_folder()
    from auditor.base.errors import AuditorError  # noqa: PLC0415

    _open_streams()
    if named:
        click.echo(_NAMED, err=True)
    allow_depth()
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own holds 40 MB more and is no faster
    os.environ.setdefault("MIMALLOC_ARENA_EAGER_COMMIT", "0")  # else 1 GB that is never used counts for --memory
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads wait busily, and no linear algebra is done
    gc.set_threshold(50_000, 20, 20)  # modules and definitions are allocated first and live until the end
    atexit.register(gc.freeze)  # the last collection would only walk them once more
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` ignores it
            signal.signal(number, _end)
    try:
        cli.main(standalone_mode=False, prog_name=os.environ.get("AUDITOR_PROG_NAME"))
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("interrupted; nothing was written", err=True)
        sys.exit(130)
    except KeyboardInterrupt:
        click.echo("interrupted; nothing was written", err=True)
        sys.exit(130)
    except _Ended as ended:
        click.echo(f"stopped by {signal.Signals(ended.args[0]).name}; nothing was written", err=True)
        sys.exit(128 + ended.args[0])
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        usage = shown.getvalue().partition("Error: ")[0]
        click.echo(f"{usage}Error: {visible(error.format_message())}", err=True)
        sys.exit(2)
    except AuditorError as error:
        from auditor.base.errors import EngineError  # noqa: PLC0415

        click.echo(f"error: {_error_text(error)}", err=True)
        sys.exit(70 if isinstance(error, EngineError) else 2)
    except (_ClosedPipe, OutputClosed):
        forget_output()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - end with an exit code and advice, not only a trace
        from auditor.base.errors import refusal  # noqa: PLC0415

        if refused := refusal(error):
            with contextlib.suppress(OSError):  # stdout may be on the full disk
                sys.stdout.flush()
            forget_output()
            click.echo(f"error: {visible(str(refused))}", err=True)
            sys.exit(2)
        import traceback  # noqa: PLC0415

        click.echo(_indented(traceback.format_exc()), err=True)
        cause = error.__cause__ if isinstance(error, _Unexpected) else error
        click.echo(f"internal error ({type(cause).__name__}); please report it with the lines above", err=True)
        sys.exit(70)


if __name__ == "__main__":
    main()
