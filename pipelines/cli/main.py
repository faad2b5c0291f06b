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
from typing import TYPE_CHECKING, Any, Final

import click

from auditor.base.visible import visible
from auditor.plan.declared import Declared
from pipelines.cli.audit import audit
from pipelines.cli.changes import changes
from pipelines.cli.completion import ALIASES, completion, install_completion, kubectl_answers
from pipelines.cli.config_file import check_environment, load_configuration
from pipelines.cli.crds import crds
from pipelines.cli.diff import diff
from pipelines.cli.gates import gates
from pipelines.cli.kinds import events, explain, kinds, refs
from pipelines.cli.objects import history, show
from pipelines.cli.options.made import Option
from pipelines.cli.options.overwriting import guard_inputs
from pipelines.cli.query import query
from pipelines.cli.releases import releases
from pipelines.cli.report.report import accept, findings, report, summary, trend
from pipelines.cli.sources import sources
from pipelines.cli.sql import sql
from pipelines.cli.tables import tables
from pipelines.cli.upgrade import upgrade
from pipelines.cli.validate import validate
from pipelines.console import OutputClosed, forget_output, watch_streams
from pipelines.deep import allow_depth
from pipelines.exit_codes import Ended, exit_code_of, forget_reports, has_report, reason_of
from pipelines.import_path import leave_out_current_folder
from pipelines.limits import check_address_space
from pipelines.log import LOG
from pipelines.progress import BAR
from pipelines.streams import escape_streams
from pipelines.without_pandas import leave_out_pandas

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.errors import AuditorError


_LONGEST_ERROR = 4000
CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "AUDITOR", "max_content_width": 120}
_WITHOUT_URLS: Final = ("completion", "releases", "sources", "version")
REMOVED: Final[dict[str, str]] = {
    "api-resources": "kinds DUMP -o wide",
    "crds list": "kinds DUMP -o wide",
    "describe": "show DUMP KIND NAME",
    "fields": "explain DUMP KIND --values",
    "watch": "history DUMP KIND",
}
"""The command line to use in place of each removed command, such as "history DUMP KIND" for `watch`."""
_DECLARED: Final = Declared(
    "--insecure-http",
    "Also read http:// URLs: not encrypted and not authenticated, so others can read and change them in transit.",
    "it reads data that others can change in transit",
    default=False,
)


def _allow(_: click.Context, __: click.Parameter, given: bool) -> None:
    if given:
        from auditor.sources.stores.locations import allow_http  # noqa: PLC0415 - only when asked

        allow_http()


def _add_insecure_http(group: click.Group) -> None:
    """Add the option to a group's commands that take URLs."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            _add_insecure_http(command)
        elif name not in _WITHOUT_URLS:
            command.params.append(Option(declared=_DECLARED, expose_value=False, callback=_allow))


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


class _MainGroup(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = [ALIASES.get(args[0], args[0]), *args[1:]]
        for name in (args[0], " ".join(args[:2])):
            if name in REMOVED:
                raise click.UsageError(f"there is no command {name} any more: use `auditor {REMOVED[name]}`", ctx)
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # prints the help and the version
        with _closed_pipe():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe():
            check_environment(self)
            check_address_space()
            try:
                return super().invoke(ctx)
            finally:
                BAR.stop()


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


_NAMED = (
    "warning: PYTHONPATH names the current directory (an empty entry does), so Python may have run modules from it "
    "before auditor started; auditor itself imports nothing from there: remove the entry"
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _go_on(_: int, __: Any) -> None:
    """Ignore a signal; setting SIG_IGN instead makes Python complain about a signal that is already pending."""


def _ignore() -> None:
    sys.unraisablehook = lambda _: None  # Python complains about a signal that comes just now
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)


def _end(number: int, _: Any) -> None:
    for each in _ENDING:  # `timeout` and people send it twice: the clean-up must not be interrupted
        signal.signal(each, _go_on)
    atexit.register(_ignore)  # Python drops other handlers as it ends: a signal to any thread would be its exit code
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise Ended(number)


@click.group(cls=_MainGroup, context_settings=CONTEXT)
@click.version_option(allow_from_autoenv=False, message="%(version)s", package_name="kubernetes-dump-auditor")
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=load_configuration,
    help="Defaults for the options, per command; '' for none  [default: your ~/.config/auditor/auditor.yaml, and from "
    "./auditor.yaml only options that change how something is shown]",
)
def cli() -> None:
    """Check every key of an etcd snapshot or Kubernetes export as the API server would today.

    \b
    Examples:
      auditor audit snapshot.db --report out/
      auditor query out/ widgets -A --field-selector spec.color=blue
      auditor validate --crds crds/ manifest.yaml
    """


for _command in (
    audit,
    summary,
    findings,
    trend,
    report,
    accept,
    query,
    sql,
    kinds,
    explain,
    events,
    refs,
    show,
    history,
    tables,
    crds,
    upgrade,
    changes,
    gates,
    sources,
    diff,
    releases,
    validate,
    completion,
):
    cli.add_command(_command)


@cli.command(short_help="Print versions.")
def version() -> None:
    """Print the version, and the Kubernetes release whose behaviour it reproduces.

    \b
    Example:
      auditor version
    """
    import auditor  # noqa: PLC0415

    click.echo(f"auditor {auditor.__version__} (Kubernetes {auditor.KUBERNETES_RELEASE})")


_add_insecure_http(cli)
guard_inputs(cli)
install_completion()


def complete_kubectl() -> None:
    """Answer `kubectl audit-dump` when it asks for completions: `kubectl_complete-audit_dump WORD... INCOMPLETE`."""
    for line in kubectl_answers(cli, sys.argv[1:]):
        click.echo(line)


def _error_text(error: AuditorError) -> str:
    """Return an error as one line; three kinds of errors have several lines, which are indented."""
    from auditor.base.errors import EngineError, SelectorError, SqlError  # noqa: PLC0415

    text = str(error)
    if len(text) > _LONGEST_ERROR:
        text = f"{text[: _LONGEST_ERROR // 2]} [...] {text[-_LONGEST_ERROR // 2 :]}"
    return _indented(text).lstrip() if isinstance(error, (EngineError, SelectorError, SqlError)) else visible(text)


def _report_error(text: str, code: int) -> None:
    """Print what ended the command: a line, or an event where the log is JSON."""
    if LOG.as_json:
        LOG.error("error", text, exit_code=code)
    else:
        click.echo(f"error: {text}", err=True)


def _indented(text: str) -> str:
    return "\n".join(f"    {visible(line)}" for line in text.rstrip("\n").split("\n"))


def _prepare_process() -> None:
    """Set what belongs to a process that runs one command and ends: environment, collection of garbage, signals."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own holds 40 MB more and is no faster
    os.environ.setdefault("ARROW_IO_THREADS", "1")  # else two that only read mapped files; a stack counts for --memory
    os.environ.setdefault("MIMALLOC_ARENA_EAGER_COMMIT", "0")  # else 1 GB that is never used counts for --memory
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads wait busily, and no linear algebra is done
    leave_out_pandas()
    atexit.register(gc.freeze)  # the last collection would only walk them once more
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` ignores it
            signal.signal(number, _end)


def _left_by(end: str) -> str:
    """Return how a signal ended a command, and whether it left a report."""
    return f"{end} after the report was written" if has_report() else f"{end}; nothing was written"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; it ends with `SystemExit` and the documented exit codes.

    Args:
        argv: The arguments, for a caller whose process goes on; None for those of this process, which ends with the
            command.
    """
    named = argv is None and leave_out_current_folder()
    forget_reports()
    from auditor.base.errors import AuditorError  # noqa: PLC0415

    _open_streams()
    if named:
        click.echo(_NAMED, err=True)
    allow_depth()
    if argv is None:
        _prepare_process()
    try:
        cli.main(argv, standalone_mode=False, prog_name=os.environ.get("AUDITOR_PROG_NAME"))
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo(_left_by("interrupted"), err=True)
        exec("")  # noqa: S102 - else `python -m` ends by the signal if it came within exec(), as dataclasses run it
        sys.exit(130)
    except Ended as ended:
        click.echo(_left_by(reason_of(ended)), err=True)
        sys.exit(exit_code_of(ended))
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        usage = shown.getvalue().partition("Error: ")[0]
        click.echo(f"{usage}Error: {visible(error.format_message())}", err=True)
        sys.exit(2)
    except AuditorError as error:
        _report_error(_error_text(error), error.exit_code)
        sys.exit(error.exit_code)
    except (_ClosedPipe, OutputClosed):
        forget_output()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - end with an exit code and advice, not only a trace
        from auditor.base.errors import refusal  # noqa: PLC0415

        if refused := refusal(error):
            with contextlib.suppress(OSError):  # stdout may be on the full disk
                sys.stdout.flush()
            forget_output()
            _report_error(visible(str(refused)), refused.exit_code)
            sys.exit(refused.exit_code)
        import traceback  # noqa: PLC0415

        click.echo(_indented(traceback.format_exc()), err=True)
        cause = error.__cause__ if isinstance(error, _Unexpected) else error
        click.echo(f"internal error ({type(cause).__name__}); please report it with the lines above", err=True)
        sys.exit(70)


if __name__ == "__main__":
    main()
