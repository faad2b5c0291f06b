"""Makes the options of commands from their declarations, and the record of a run from the values of options."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

import click

from auditor.plan.declared import COUNTS, SHOWS, Declared
from auditor.plan.options import AuditOptions, Scope
from pipelines.cli.options.forms import FORMS
from pipelines.cli.options.table import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMS_OF_ROWS", "ONE_PREFIX", "Option", "of_run", "options", "recorded", "refused_unnamed"]

ONE_PREFIX: Final = {"help": "Prefix of the API server's keys.", "form": "prefix"}
"""Change of --etcd-prefix for a command that reads the keys of one API server."""
FORMS_OF_ROWS: Final = ("table", "wide", "json", "yaml", "ndjson", "csv", "markdown")
"""Choices of -o of the commands that print rows of a report."""
_FROM_THEIR_FIELDS: Final = {
    each.metadata["option"].name: each.metadata["option"]
    for record in (AuditOptions, Scope)
    for each in fields(record)
    if "option" in each.metadata
}
_DECLARED: Final = _FROM_THEIR_FIELDS | TABLE


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
            given |= FORMS.get(form, {})
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
