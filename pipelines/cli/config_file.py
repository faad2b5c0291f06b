"""Defaults of options: variables of the environment, and files.

A file is the one given with --config; else the user's own, overridden by `./auditor.yaml`.

An `auditor.yaml` in an unpacked backup was not written by the user who looks into the backup. So what a file that was
not given with --config sets depends on the effect of an option (`auditor.plan.declared`), and its path is always
printed, with what it does not set.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any, Final

import click

from auditor.base.visible import visible
from auditor.plan.declared import COUNTS
from pipelines.cli.options.made import Option, refused_unnamed
from pipelines.cli.options.overwriting import note_input

_NAME: Final = "auditor.yaml"
_MOST_BYTES: Final = 1 << 20
"""Largest size of a file that was not given with --config."""


def load_configuration(context: click.Context, _: click.Parameter, named: str | None) -> None:
    """Read defaults from files, each a mapping of command to options; dashes in names may be underscores."""
    if context.resilient_parsing or named == "":
        return
    if named is not None:
        files = [(Path(named), True)]
    else:
        own, here = _users_own(), Path(_NAME)
        files = [] if own is None else [(own, True)]
        if os.path.lexists(here) and not (own is not None and here.exists() and here.samefile(own)):
            files.append((here, False))
    made: dict[str, Any] = {}
    for path, trusted in files:
        ignored: list[str] = []
        try:
            defaults = _read(context, path, trusted=trusted, ignored=ignored)
        except click.UsageError as error:
            if trusted:
                raise
            raise click.UsageError(f"{error.message}; {_advice(path)}") from error
        _lay_over(made, defaults)
        sets = "" if trusted else f", found in the current directory, sets {_names(defaults) or 'nothing'}"
        click.echo(f"configuration: {shown(str(path.absolute()))}{sets}", err=True)
        if ignored:
            click.echo(
                f"warning: {shown(str(path))} does not set {', '.join(ignored)}: only a file given with --config may "
                f"decide which objects or findings count; {_advice(path)}",
                err=True,
            )
        note_input(context, str(path))
    if files:
        context.default_map = made


def _advice(path: Path) -> str:
    return f"if the file is yours, name it (--config {path}); to run without it: --config ''"


def _users_own() -> Path | None:
    """Return the path of the user's file, or None; as XDG says, a folder that is not absolute is ignored."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():
        folder = Path(os.path.expanduser("~/.config"))  # noqa: PTH111 - without a home it stays unchanged
    own = folder / "auditor" / _NAME
    return own if own.is_absolute() and os.path.exists(own) else None  # noqa: PTH110 - pathlib's may raise


def _names(defaults: dict[str, Any], *path: str) -> str:
    """Return the options that are set, by command."""
    said = []
    for name, value in defaults.items():
        if isinstance(value, dict):
            said.append(_names(value, *path, name))
        else:
            said.append(f"{' '.join(path)} {name.replace('_', '-')}")
    return ", ".join(filter(None, said))


def _lay_over(below: dict[str, Any], above: dict[str, Any]) -> None:
    """Override the options of one file with those of another, in place."""
    for name, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(name), dict):
            _lay_over(below[name], value)
        else:
            below[name] = value


def _read(context: click.Context, path: Path, *, trusted: bool, ignored: list[str]) -> dict[str, Any]:
    """Return the defaults of a file; what a file that is not trusted does not set is added to `ignored`."""
    from auditor.base.errors import AuditorError  # noqa: PLC0415
    from auditor.base.given_file import read_given  # noqa: PLC0415
    from auditor.sources.yaml import yaml_chunks, yaml_to_json  # noqa: PLC0415

    where = shown(str(path))
    try:
        text = read_given(path) if trusted else _bytes_unnamed(path)
        documents = [yaml_to_json(chunk.text) for chunk in yaml_chunks(text)]
    except (OSError, ValueError, RecursionError, AuditorError) as error:
        raise click.UsageError(f"{where}: {shown(str(error))}") from error
    given = [document for document in documents if document is not None]
    content = given[0] if len(given) == 1 else None
    if not isinstance(content, dict):
        raise click.UsageError(f"{where}: expected a mapping of command to options, in one document")
    group = context.command
    assert isinstance(group, click.Group)
    return _defaults(context, group, content, where, path=(), trusted=trusted, ignored=ignored)


def _bytes_unnamed(path: Path) -> bytes:
    """Return the content of a file that was not given with --config: no endless pipe, and of limited size."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("is not a regular file")
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError(f"is longer than {_MOST_BYTES} bytes")
    return text


def _defaults(
    context: click.Context,
    group: click.Group,
    content: dict[str, Any],
    where: str,
    *,
    path: tuple[str, ...],
    trusted: bool,
    ignored: list[str],
) -> dict[str, Any]:
    """Return the defaults of a group's commands; unknown commands and options are refused, not ignored."""
    made: dict[str, Any] = {}
    for name, options in content.items():
        place = f"{where}: {shown(name)}"
        command = group.get_command(context, name)
        if command is None:
            known = ", ".join(sorted(group.commands))
            raise click.UsageError(f"{place}: there is no such command; expected one of {known}")
        if not isinstance(options, dict):
            raise click.UsageError(f"{place}: expected a mapping of options")
        below = (*path, name)
        if isinstance(command, click.Group):
            made[name] = _defaults(context, command, options, place, path=below, trusted=trusted, ignored=ignored)
            continue
        named = spellings(command)
        unknown = [option for option in options if option.replace("-", "_") not in named]
        if unknown:
            advice = f"see `auditor {' '.join(below)} -h`"
            raise click.UsageError(f"{place}: {shown(unknown[0])}: there is no such option; {advice}")
        made[name] = {}
        for option, value in options.items():
            parameter = named[option.replace("-", "_")]
            if not trusted and (why := refused_unnamed(parameter, value)):
                raise click.UsageError(f"{place}: {option}: {why}")
            if not trusted and isinstance(parameter, Option) and parameter.declared.effect == COUNTS:
                ignored.append(f"{' '.join(below)} {option.replace('_', '-')}")
                continue
            made[name][parameter.name] = _default(parameter, value, f"{place}: {option}")
    return made


def _default(option: click.Option, value: Any, where: str) -> Any:
    """Return the value of an option; only an option that can be given several times may have a list."""
    several = isinstance(value, list) and option.multiple
    if any(isinstance(each, (dict, list)) for each in (value if several else [value])):
        raise click.UsageError(f"{where}: expected {'one value or a list of them' if option.multiple else 'one value'}")
    return [value] if option.multiple and not several and value is not None else value


def spellings(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by each of their names, underscores for dashes."""
    return {
        spelling.lstrip("-").replace("-", "_"): option
        for option in command.params
        if isinstance(option, click.Option)
        for spelling in (*option.opts, f"--{option.name}")
    }


def shown(text: str) -> str:
    """Return text of a file for a terminal: characters that are not printable are escaped."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape", "replace").decode() for each in text)


# -- environment -------------------------------------------------------------------------------------------------------

_PREFIX: Final = "AUDITOR_"
_OWN: Final = frozenset({"AUDITOR_INSECURE_HTTP", "AUDITOR_PROG_NAME"})
_OF_COMMANDS: Final = "AUDITOR_KMS_"
"""Prefix of the variables that are set for the command of --kms-decryptor."""
_OF_SERVICES: Final = re.compile(
    r"AUDITOR_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_[A-Z]+(_(PROTO|PORT|ADDR))?)?)"
)
"""Variables that a kubelet sets in each container for services named auditor, or auditor-something."""
_NEAR: Final = 0.8


def check_environment(group: click.Group) -> None:
    """Report variables that belong to no option, and accept options by the names of their flags.

    Raises:
        click.UsageError: A variable begins with the name of a command, or is similar to that of an option.
    """
    given = [name for name in os.environ if name.startswith(_PREFIX)]
    if not given:
        return
    import difflib  # noqa: PLC0415 - only where there is a variable

    known = _known(group, "AUDITOR")
    begins = tuple(f"{_PREFIX}{name.upper().replace('-', '_')}_" for name in group.commands)
    for name in sorted(given):
        if canonical := known.get(name):
            os.environ.setdefault(canonical, os.environ[name])
        elif name not in _OWN and not name.startswith(_OF_COMMANDS) and not _OF_SERVICES.fullmatch(name):
            rest = name.removeprefix(_PREFIX)
            same = [each for each in known if each in {f"{begin}{rest}" for begin in begins}]  # the command is missing
            near = (same or difflib.get_close_matches(name, [*known, *_OWN], n=1, cutoff=0))[0]
            problem = f"{visible(name)}: no option has this environment variable; the nearest is {near}"
            alike = difflib.SequenceMatcher(None, rest, near.removeprefix(_PREFIX)).ratio()
            if same or alike >= _NEAR or name.startswith(begins):
                raise click.UsageError(f"{problem}; unset it, or see `auditor -h`")
            click.echo(f"warning: {problem}", err=True)


def _known(group: click.Group, prefix: str) -> dict[str, str]:
    """Return the variables of all options, each with the name that click looks up."""
    made = {} if prefix.count("_") else {"AUDITOR_CONFIG": "AUDITOR_CONFIG"}
    for name, command in group.commands.items():
        below = f"{prefix}_{name.upper().replace('-', '_')}"
        if isinstance(command, click.Group):
            made |= _known(command, below)
            continue
        options: dict[str, Any] = spellings(command)
        long = {spelling: option for spelling, option in options.items() if len(spelling) > 1}
        made |= {f"{below}_{spelling.upper()}": f"{below}_{option.name.upper()}" for spelling, option in long.items()}
    return made
