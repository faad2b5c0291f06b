"""Environment variables that begin with `AUDITOR_`: those that belong to no option are reported, not ignored."""

from __future__ import annotations

import os
import re
from typing import Any, Final

import click

from auditor.base.visible import visible
from pipelines.cli.config_file import spellings

__all__ = ["check_environment"]

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
            same = [one for one in known if one in {f"{begin}{rest}" for begin in begins}]  # the command is missing
            near = (same or difflib.get_close_matches(name, [*known, *_OWN], n=1, cutoff=0))[0]
            found = f"{visible(name)}: no option has this environment variable; the nearest is {near}"
            alike = difflib.SequenceMatcher(None, rest, near.removeprefix(_PREFIX)).ratio()
            if same or alike >= _NEAR or name.startswith(begins):
                raise click.UsageError(f"{found}; unset it, or see `auditor -h`")
            click.echo(f"warning: {found}", err=True)


def _known(group: click.Group, prefix: str) -> dict[str, str]:
    """Return the variables of all options, each with the name that click looks up."""
    made = {} if prefix.count("_") else {"AUDITOR_CONFIG": "AUDITOR_CONFIG"}
    for name, command in group.commands.items():
        below = f"{prefix}_{name.upper().replace('-', '_')}"
        if isinstance(command, click.Group):
            made |= _known(command, below)
            continue
        options: dict[str, Any] = spellings(command)
        long = {spelling: one for spelling, one in options.items() if len(spelling) > 1}
        made |= {f"{below}_{spelling.upper()}": f"{below}_{one.name.upper()}" for spelling, one in long.items()}
    return made
