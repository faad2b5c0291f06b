"""Makes the options of commands from their declarations, and the record of a run from the values of options."""

from __future__ import annotations

import datetime
import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

import click

from auditor.base.visible import visible
from auditor.plan.declared import COUNTS, SHOWS, Declared
from auditor.plan.options import AuditOptions, RunScope
from auditor.printing.print_rows import FORMS
from pipelines.cli.options.table import TABLE
from pipelines.limits import MemoryAmount, Seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.run.job.roots import Keep


ONE_PREFIX: Final = {"help": "Prefix of the API server's keys.", "form": "prefix"}
"""Change of --etcd-prefix for a command that reads the keys of one API server."""
_FROM_THEIR_FIELDS: Final = {
    each.metadata["option"].name: each.metadata["option"]
    for record in (AuditOptions, RunScope)
    for each in fields(record)
    if "option" in each.metadata
}
_DECLARED: Final = _FROM_THEIR_FIELDS | TABLE


_OCTAL: Final = re.compile(r"(0o?)?([0-7]{3})")
_OWNER: Final = 0o600
_ANYBODY: Final = 0o666


def _age(_: click.Context, __: click.Parameter, value: str) -> float | None:
    """Return the seconds of an age that was given as 90m, 26h, 2d or 1d12h."""
    text = value.strip().lower()
    if not text:
        return None
    if not re.fullmatch(r"(\d+(\.\d+)?[smhdw])+", text):
        raise click.BadParameter(f"{value!r} is not an age; expected a number and a unit, such as 90m, 26h or 2d")
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)([smhdw])", text))


def _share(_: click.Context, __: click.Parameter, value: str) -> float:
    """Return a share of objects that was given as 0.01 or 1%."""
    text = value.strip() or "0"
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{value!r} is not a share; expected a number from 0 to 1, or a percentage such as 1%")
    return share


def _refuse_since(_: click.Context, __: click.Parameter, value: str | None) -> None:
    """Refuse an option that the command had until results of other reports were no longer reused."""
    if value is not None:
        raise click.UsageError(
            "--since is gone, as each night is audited whole: write --diff REPORT to see what changed since a report"
        )


def _refuse_history(_: click.Context, __: click.Parameter, value: bool) -> None:
    """Refuse the options that `show` had until `history` printed revisions."""
    if value:
        raise click.UsageError("show prints one state: use `auditor history DUMP KIND/NAME`, with --diff what changed")


def _day(_: click.Context, __: click.Parameter, value: str) -> str:
    try:
        return datetime.date.fromisoformat(value).isoformat()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a date; expected one such as 2026-12-31") from None


def _moment(_: click.Context, __: click.Parameter, value: str) -> float | None:
    """Return the time of ``--now`` in seconds since 1970, or None if it is not given."""
    if not value:
        return None
    if value == "now":
        return datetime.datetime.now(datetime.UTC).timestamp()
    if value.replace(".", "", 1).isdigit() and value.isascii():
        return float(value)
    try:
        time = datetime.datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter("a time like 2026-11-25T02:03:04Z, seconds since 1970, or the word now") from None
    return (time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)).timestamp()


def _point(context: click.Context, option: click.Parameter, value: str) -> int | float | datetime.timedelta | None:
    """Return a revision, a time in seconds since 1970, or how long before the newest time; None if it is not given."""
    if value.isdecimal() and value.isascii():
        return int(value)
    if re.fullmatch(r"(\d+[smhdw])+", value.strip().lower()):
        return datetime.timedelta(seconds=_age(context, option, value) or 0)
    try:
        return _moment(context, option, value)
    except click.BadParameter:
        raise click.BadParameter(
            f"{value!r}; expected a revision such as 40, a time such as 2026-11-25T02:03:04Z, or an age such as 2h"
        ) from None


def _keep(_: click.Context, __: click.Parameter, value: str) -> Keep | None:
    if not value.strip():
        return None
    from pipelines.run.job.roots import Keep  # noqa: PLC0415 - only where it is given

    keep = Keep.parse(value)
    if keep is None:
        raise click.BadParameter(f"{value!r}; expected a number of reports such as 30, or an age such as 90d, 12w, 36h")
    return keep


def _mode(context: click.Context, option: click.Parameter, given: Any) -> str:
    """Return three octal digits: the owner can read and write, and no file of a report is executable."""
    text = str(given or "")
    octal = _OCTAL.fullmatch(text)
    mode = int(octal[2], 8) if octal else 0
    if text and (mode & ~_ANYBODY or mode & _OWNER != _OWNER):
        raise click.BadParameter(f"{text!r} is not a file mode; expected 0600 to 0666, e.g. 0640", context, option)
    return octal[2] if octal else ""


def _prefixes(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the prefixes of API servers' keys, each once: slashes around them do not count."""
    different: dict[str, str] = {}
    for prefix in value or (AuditOptions.etcd_prefix,):
        different.setdefault(prefix.strip("/"), prefix)
    return tuple(different.values())


def _prefix(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> str:
    """Return the prefix; refuse several."""
    prefixes = _prefixes(context, option, value)
    if len(prefixes) > 1:
        given = visible(", ".join(prefixes))
        raise click.UsageError(
            f"{context.command_path} takes one --etcd-prefix; given: {given} (`auditor audit` takes several)"
        )
    return prefixes[0]


def _output_of_sql(_: click.Context, __: click.Parameter, value: str) -> str:
    """Return the form of an answer to SQL; Parquet may have a file."""
    forms = (*FORMS, "parquet")
    if value not in forms and not value.startswith("parquet="):
        raise click.BadParameter(f"{value!r} is not a form; expected {', '.join(forms)} or parquet=FILE")
    return value


def _ray(context: click.Context, _: click.Parameter, address: str) -> str:
    """Refuse an address without Ray, and Ray if it is not installed, before a dump is opened."""
    engine = context.params.get("engine")
    if address and engine != "ray":
        raise click.UsageError("--ray-address needs --engine ray")
    if engine == "ray":
        from pipelines.engines.ray import import_ray  # noqa: PLC0415 - only when asked

        import_ray()
    return address


def _run_as(context: click.Context, _: click.Parameter, value: str) -> str:
    """Reproduce a release until the command ends; return its name."""
    from auditor.releases import find_release, running_as  # noqa: PLC0415 - help stays light

    release = find_release(value)
    context.with_resource(running_as(release))
    return release.name


def asked_release() -> str:
    """Return the release that the current command was asked for; empty without --kubernetes, and outside commands."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("kubernetes")
    if context is None or source in (None, click.core.ParameterSource.DEFAULT):
        return ""
    return str(context.params["kubernetes"])


_FORMS: Final[dict[str, dict[str, Any]]] = {
    "age": {"callback": _age},
    "day": {"callback": _day},
    "keep": {"callback": _keep},
    "memory": {"type": MemoryAmount()},
    "mode": {"callback": _mode},
    "moment": {"callback": _moment},
    "point": {"callback": _point},
    "output_of_sql": {"callback": _output_of_sql},
    "prefix": {"callback": _prefix},
    "prefixes": {"callback": _prefixes},
    "ray": {"callback": _ray},
    "release": {"callback": _run_as},
    "seconds": {"type": Seconds()},
    "gone_history": {"callback": _refuse_history},
    "gone_since": {"callback": _refuse_since},
    "share": {"callback": _share},
}
"""What click takes for each form of a declaration."""


class Option(click.Option):
    """An option of a command."""

    def __init__(self, _: Any = (), *, declared: Declared, **more: Any) -> None:
        """Make an option of click.

        Args:
            declared: Its declaration.
            more: What click takes beside it.
        """
        form, default = declared.form, declared.default
        given: dict[str, Any] = {"help": declared.help or None, "hidden": declared.hidden, "metavar": declared.metavar}
        given |= {"multiple": isinstance(default, tuple), "is_eager": declared.eager}
        if declared.required:
            given["required"] = True
        elif default is False:
            given["is_flag"] = True
        elif default != ():
            given["default"] = default
            given["show_default"] = bool(default) and not declared.hidden
        if isinstance(form, tuple):
            given["type"] = click.Choice(form, case_sensitive=not form[0].istitle())
        elif isinstance(form, int):
            given["type"] = click.IntRange(form)
        else:
            given |= _FORMS.get(form, {})
        super().__init__([*declared.flags, declared.name], **{**given, **more})
        self.declared = declared


def of_run() -> list[str]:
    """Return the names of all options that a field of an audit declares, in their order."""
    return list(_FROM_THEIR_FIELDS)


def options(names: str, **changes: Any) -> Callable[[Any], Any]:
    """Return a decorator that adds options to a command, in this order.

    Args:
        names: Names of declarations: fields of an audit by their options, others as in `TABLE`.
        changes: By name, what differs in this command: the help, the choices (the first is the default), or more
            attributes of the declaration.
    """

    def added(command: Any) -> Any:
        for name in reversed(names.split()):
            change = changes.get(name, {})
            if isinstance(change, str):
                change = {"help": change}
            elif isinstance(change, tuple):
                change = {"form": change, "default": change[0]}
            declared = replace(_DECLARED[name], **change)
            command = click.option(cls=Option, declared=declared)(command)
        return command

    return added


def recorded(record: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a record's fields that are options: the declared one, or the one of the field's name."""
    declared = {each.name: each.metadata.get("option") for each in fields(record)}
    names = {field: option.name if option else field for field, option in declared.items()}
    return {field: values[name] for field, name in names.items() if name in values}


def refused_unnamed(option: click.Option, value: Any) -> str:
    """Return why a file that was not given with --config may not set an option; empty if the file is no danger."""
    effect = option.declared.effect if isinstance(option, Option) else ""
    if effect not in (COUNTS, SHOWS):
        return f"only a file given with --config may set this{effect and f' ({effect})'}"
    several = value if isinstance(value, list) else [value]
    if any("://" in each for each in several if isinstance(each, str)):
        return "only a file given with --config may set a URL"
    return ""
