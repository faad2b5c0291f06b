"""The command line: arguments, progress, exit codes; no logic.

Only click is imported here, so that help is instant; each command imports what it needs when it runs. Every option can
come from the environment (AUDITOR_AUDIT_JOBS=2) or from auditor.yaml (flag > environment > file).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.crds_cli import crds
from pipelines.diff_cli import diff
from pipelines.engine_options import engine_options, jobs_of
from pipelines.fields_cli import fields
from pipelines.gates_cli import gates
from pipelines.heard import forget_output, heard_or_not
from pipelines.query_cli import query
from pipelines.show_cli import show
from pipelines.since_cli import check_since, since_options
from pipelines.sources_cli import encryption_hint, sources
from pipelines.upgrade_cli import upgrade
from pipelines.watch_cli import watch
from pipelines.workers import expect_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main"]

FAIL_ON = ("never", "unreadable", "blocked", "data-loss", "invalid")
CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "AUDITOR", "max_content_width": 120}


def _load_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Take defaults from a YAML file: a mapping of command to options; dashes in names may be underscores."""
    chosen = path or ("auditor.yaml" if Path("auditor.yaml").exists() else None)
    if chosen is None:
        return
    from auditor.errors import AuditorError  # noqa: PLC0415
    from auditor.sources.yaml import yaml_chunks, yaml_to_json  # noqa: PLC0415

    try:
        documents = [yaml_to_json(chunk.text) for chunk in yaml_chunks(Path(chosen).read_bytes())]
    except (OSError, ValueError, AuditorError) as error:
        raise click.UsageError(f"{chosen}: {error}") from error
    given = [document for document in documents if document is not None]
    content = given[0] if len(given) == 1 else None
    if not isinstance(content, dict):
        raise click.UsageError(f"{chosen}: expected a mapping of command to options, in one document")
    group = context.command
    assert isinstance(group, click.Group)
    context.default_map = _defaults(context, group, content, chosen)


def _defaults(context: click.Context, group: click.Group, content: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the defaults of a group's commands; what no command or option is called is refused, not passed over."""
    made: dict[str, Any] = {}
    for name, options in content.items():
        command = group.get_command(context, name)
        if command is None:
            known = ", ".join(sorted(group.commands))
            raise click.UsageError(f"{where}: {name}: there is no such command; expected one of {known}")
        if not isinstance(options, dict):
            raise click.UsageError(f"{where}: {name}: expected a mapping of options")
        if isinstance(command, click.Group):
            made[name] = _defaults(context, command, options, f"{where}: {name}")
            continue
        named = {
            spelling.lstrip("-").replace("-", "_"): one
            for one in command.params
            if isinstance(one, click.Option)
            for spelling in (*one.opts, f"--{one.name}")
        }
        unknown = [option for option in options if option.replace("-", "_") not in named]
        if unknown:
            raise click.UsageError(f"{where}: {name}: {unknown[0]}: there is no such option; see `auditor {name} -h`")
        made[name] = {}
        for option, value in options.items():
            parameter = named[option.replace("-", "_")]
            made[name][parameter.name] = _default(parameter, value, f"{where}: {name}: {option}")
    return made


def _default(option: click.Option, value: Any, where: str) -> Any:
    """Return the value of an option; what can be given several times may be a list, and nothing else may."""
    several = isinstance(value, list) and option.multiple
    if any(isinstance(each, (dict, list)) for each in (value if several else [value])):
        raise click.UsageError(f"{where}: expected {'one value or a list of them' if option.multiple else 'one value'}")
    return [value] if option.multiple and not several and value is not None else value


class _ClosedPipe(Exception):
    """Whoever read our output has gone."""


@contextlib.contextmanager
def _closed_pipe() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:  # click would make it a failure
        raise _ClosedPipe from error


class _Group(click.Group):
    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # it prints our own help, and the version
        with _closed_pipe():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe():
            return super().invoke(ctx)


def _open_streams() -> None:
    """Have every standard stream, where whoever started us closed some (`>&-`, supervisors), and write UTF-8."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # as kubectl does
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


class _Ended(BaseException):
    """Somebody wants the process to end, and what it made for itself to be gone; `args` are the signal."""


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _go_on(_: int, __: Any) -> None:
    """Do as SIG_IGN does, of which Python complains where the signal has come already."""


def _end(number: int, _: Any) -> None:
    for each in _ENDING:  # `timeout` sends it twice, and so do people: what is being cleaned up is cleaned up
        signal.signal(each, _go_on)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise _Ended(number)


@click.group(cls=_Group, context_settings=CONTEXT)
@click.version_option(message="%(version)s", package_name="kubernetes-dump-auditor")
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_load_config,
    help="Defaults for the options, per command  [default: auditor.yaml where there is one]",
)
def cli() -> None:
    """Tell, for every key of an etcd snapshot or Kubernetes export, what the API server would make of it today.

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


@cli.command(short_help="Judge every object of a dump and write a report.")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option(
    "--crds", multiple=True, metavar="PATH", help="File or folder of definitions; replace the dump's by name."
)
@click.option("--report", required=True, metavar="DIR", help="Folder to write the report to.")
@click.option("--force", is_flag=True, help="Replace the report that is there.")
@click.option(
    "--at", default="storage", show_default=True, help="stored, storage, served, or a version; exports: as they are."
)
@engine_options
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), default="invalid", show_default=True, help="When to exit with 1."
)
@click.option("--etcd-prefix", default="/registry", show_default=True, help="What the API server's keys start with.")
@click.option("--encryption-config", default="", metavar="FILE", help="EncryptionConfiguration of the API server.")
@click.option(
    "--kms-decryptor", default="", metavar="CMD", help="Unwraps KMS data keys: wrapped on stdin, plain on stdout."
)
@click.option("--source", default="", metavar="FORMAT", help="Read the dumps as this; see `auditor sources`.")
@click.option("--salvage", is_flag=True, help="Of a damaged database, also take pages that nothing refers to.")
@click.option(
    "--skip",
    type=click.Choice(["rules", "updates"]),
    multiple=True,
    help="Save time: no verdicts on updates; or neither these nor validation rules (counted as not evaluated).",
)
@click.option(
    "--cluster-name",
    "cluster",
    default="",
    metavar="NAME",
    help="Name for the cluster column; for a pattern of dumps with {1} (its first wildcard), {name} or {parent}.",
)
@click.option(
    "--feature-gates", default="", metavar="NAME=BOOL", help="Of the server: CRDValidationRatcheting=false before 1.30."
)
@click.option("--old", multiple=True, metavar="OLD", help="The state before: judge DUMP as updates of it.")
@click.option(
    "--apply",
    type=click.Choice(["merge", "replace"]),
    default="merge",
    show_default=True,
    help="Of manifests, with --old.",
)
@since_options
@click.option("--field-gates", default="", metavar="NAME=BOOL,...", help="Gates of definitions to be on or off.")
@click.option("--sidecar", multiple=True, metavar="FILE", help="Field-level gates, by name of the definition.")
@click.option("--include", multiple=True, metavar="KIND[.GROUP]", help="Only these kinds.")
@click.option("--exclude", multiple=True, metavar="KIND[.GROUP]", help="All but these kinds.")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces (the default; for kubectl's habit).")
@click.option("--explain-program", metavar="KIND", help="Say how many objects of a kind the generated program proved.")
@_scope_options
def audit(
    dumps: tuple[str, ...],
    crds: tuple[str, ...],
    report: str,
    *,
    force: bool,
    at: str,
    jobs: int | None,
    engine: str,
    ray_address: str,
    fail_on: str,
    etcd_prefix: str,
    encryption_config: str,
    kms_decryptor: str,
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
    """Read dumps as the API server would and judge every object as a create would.

    DUMP is an etcd snapshot or member database, `etcdctl get -w json`, a kubectl export (JSON, YAML, List, NDJSON), a
    folder of these, or `-`; each may be compressed (.gz, .zst, .xz, .bz2). What it is, is told from its content.

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
    expect_workers(dumps, engine=engine, jobs=jobs_of(engine, jobs), since=since)
    from auditor.report.terminal import summary  # noqa: PLC0415
    from auditor.selectors.grammar import parse_field_selector, parse_label_selector  # noqa: PLC0415
    from pipelines.config import AuditOptions, Scope  # noqa: PLC0415
    from pipelines.feature_gates import parse_feature_gates  # noqa: PLC0415
    from pipelines.fleet import run_anywhere  # noqa: PLC0415

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
        force=force,
        fail_on=fail_on,
        etcd_prefix=etcd_prefix,
        cluster=cluster,
        encryption_config=encryption_config,
        kms_decryptor=kms_decryptor,
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
        skip=tuple(sorted(set(skip))),
        scope=Scope("" if all_namespaces else namespace, labels, fields, include, exclude),
        progress=sys.stderr.isatty(),
    )
    check_since(options)
    code, manifest = run_anywhere(options)
    blocks = [summary(manifest, report)]
    if hint := encryption_hint(manifest, configured=bool(encryption_config or kms_decryptor)):
        blocks.append(hint)
    if explain_program:
        blocks.append(_explain(manifest, explain_program))
    with heard_or_not():
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
                f"{entry['crd']} {entry['version']}: of {total} objects {entry['valid']} are valid; the generated "
                f"program alone proved {entry['proven']} ({share:.1f} % of the valid); {entry['interpreted']} came "
                "before there was a program"
            )
    return "\n".join(lines) or f"no object of a kind {kind} was audited"


for _command in (query, fields, show, watch):
    cli.add_command(_command)
cli.add_command(crds)
cli.add_command(upgrade)
cli.add_command(gates)
cli.add_command(sources)
cli.add_command(diff)


@cli.command(short_help="Judge manifests, for a CI job.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--crds", multiple=True, metavar="PATH", help="File or folder of definitions.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "ndjson"]), default="table", show_default=True)
def validate(files: tuple[str, ...], crds: tuple[str, ...], output: str) -> None:
    """Run the checks of a create on the custom resources in manifests.

    Definitions are taken from --crds and from the files themselves. Objects of kinds without a definition are said to
    be skipped, never passed over silently. Exit code 1: something is invalid or unreadable.

    \b
    Examples:
      auditor validate --crds crds/ deploy/*.yaml
      kustomize build . | auditor validate --crds crds/ -o ndjson -
    """
    from pipelines.validate import run_validate  # noqa: PLC0415

    sys.exit(run_validate(files, crds, output))


@cli.command(short_help="Print versions.")
def version() -> None:
    """Print the version, and the Kubernetes release whose behaviour is reproduced.

    \b
    Example:
      auditor version
    """
    import auditor  # noqa: PLC0415

    click.echo(f"auditor {auditor.__version__} (Kubernetes {auditor.KUBERNETES_RELEASE})")


def main() -> None:
    """Run the command line; the process ends with the exit codes of the contract."""
    from auditor.errors import AuditorError  # noqa: PLC0415

    _open_streams()
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own keeps 40 MB more, and is no faster
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads wait busily, and there is no algebra here
    gc.set_threshold(50_000, 20, 20)  # modules and definitions are no garbage, and they come first
    atexit.register(gc.freeze)  # nor is there any use in looking at all of them once more at the end
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` does
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
        click.echo(f"ended by {signal.Signals(ended.args[0]).name}; nothing was written", err=True)
        sys.exit(128 + ended.args[0])
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except AuditorError as error:
        from auditor.errors import EngineError  # noqa: PLC0415

        click.echo(f"error: {error}", err=True)
        sys.exit(70 if isinstance(error, EngineError) else 2)
    except (_ClosedPipe, BrokenPipeError):
        forget_output()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - the last word is an exit code, not a trace without advice
        from auditor.errors import refusal  # noqa: PLC0415

        if refused := refusal(error):
            with contextlib.suppress(OSError):  # it may be what has no room
                sys.stdout.flush()
            forget_output()
            click.echo(f"error: {refused}", err=True)
            sys.exit(2)
        import traceback  # noqa: PLC0415

        traceback.print_exc()
        click.echo(f"internal error ({type(error).__name__}); please report it with the lines above", err=True)
        sys.exit(70)


if __name__ == "__main__":
    main()
