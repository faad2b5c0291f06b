"""Write a man page for each command, from click: `python deploy/man/make.py FOLDER`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

from auditor.base.release import VERSION
from pipelines.cli.main import cli


def escaped(text: str) -> str:
    """Return a text escaped for roff: no line is a request, no backslash an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in text.split("\n"))


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield a command and its subcommands, each with its context."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from commands(below, click.Context(below, info_name=name, parent=context))


def page(command: click.Command, context: click.Context) -> str:
    """Return the man page of a command."""
    path = context.command_path
    lines = [
        f'.TH "{path.replace(" ", "-").upper()}" "1" "" "auditor {VERSION}" "auditor"',
        ".SH NAME",
        f"{escaped(path.replace(' ', '-'))} \\- {escaped(command.get_short_help_str(200))}",
        ".SH SYNOPSIS",
        f".B {escaped(path)}",
        escaped(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
    ]
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        as_is = paragraph.startswith("\b\n")
        text = escaped(paragraph.removeprefix("\b\n"))
        lines += [".PP", ".nf", text, ".fi"] if as_is else [".PP", text]
    records = [one.get_help_record(context) for one in command.get_params(context) if isinstance(one, click.Option)]
    if options := [one for one in records if one]:
        lines.append(".SH OPTIONS")
        for names, text in options:
            lines += [".TP", f".B {escaped(names)}", escaped(text)]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                lines += [".TP", f".B {escaped(f'{path} {name}')}", escaped(below.get_short_help_str(200))]
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for command, context in commands(cli, click.Context(cli, info_name="auditor", max_content_width=80)):
        (folder / f"{context.command_path.replace(' ', '-')}.1").write_text(page(command, context), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
