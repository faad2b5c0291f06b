"""The option for the permissions of a report; the same for every command that writes one."""

from __future__ import annotations

import re
from typing import Any, Final

import click

__all__ = ["report_mode_option"]

_OCTAL: Final = re.compile(r"(0o?)?([0-7]{3})")
_OWNER: Final = 0o600
_ANYBODY: Final = 0o666


def _checked(context: click.Context, option: click.Parameter, given: Any) -> str:
    """Return three octal digits: the owner can read and write, and no file of a report is executable."""
    text = str(given or "")
    found = _OCTAL.fullmatch(text)
    mode = int(found[2], 8) if found else 0
    if text and (mode & ~_ANYBODY or mode & _OWNER != _OWNER):
        raise click.BadParameter(f"{text!r} is not a file mode; expected 0600 to 0666, e.g. 0640", context, option)
    return found[2] if found else ""


def report_mode_option(command: Any) -> Any:
    """Add --report-mode."""
    return click.option(
        "--report-mode",
        default="",
        metavar="MODE",
        callback=_checked,
        help="Permissions of the report's files, e.g. 0640  [default: the strictest among the dumps' own]",
    )(command)
