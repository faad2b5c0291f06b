"""Completion of the command line in bash, zsh and fish, and of `kubectl audit-dump`.

Commands and options come from click; kinds and namespaces from the report or dump on the line.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from auditor.printing.print_rows import FORMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.run.names import NamesIn


ALIASES: Final = {"get": "query"}
"""Other names of commands, which no list of commands has."""
_OUTPUT: Final = ("-o", "--output")
_FORMS: Final = {
    "query": (*FORMS, "name", "parquet", "jsonpath=", "custom-columns="),
    "sql": (*FORMS, "parquet"),
}
"""What -o takes, by command."""
_NAMESPACE: Final = ("-n", "--namespace")
_KIND: Final = ("--include", "--exclude")
_ASKING: Final = ("query", "history", "show", "explain")
"""Commands whose arguments after the report or dump are kinds."""
_NO_FILES: Final = 4
"""kubectl's directive that the shell offers no files besides the answers."""
_DEFAULT: Final = 0
_PROGRAM: Final = "auditor"


class _NameCompletion(ShellComplete):
    """Completes names of the report or dump on the line if click itself has no answers."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what fits at the cursor."""
        if (names := _names(args, incomplete)) is not None:
            return [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return super().get_completions(args, incomplete)


class _Bash(_NameCompletion, BashComplete):
    """bash."""

    @staticmethod
    def _check_version() -> None:
        """Skip click's check of bash's version, which starts a bash: all versions in use are recent enough."""


class _Zsh(_NameCompletion, ZshComplete):
    """zsh."""


class _Fish(_NameCompletion, FishComplete):
    """fish."""


def _names(args: Sequence[str], incomplete: str) -> list[str] | None:
    """Return the kinds or namespaces that fit at the cursor. Returns None if something else is expected there."""
    if not args or incomplete.startswith("-"):
        return None
    command, before = ALIASES.get(args[0], args[0]), args[-1]
    if before in _OUTPUT and command in _FORMS:  # of the others click knows the choices
        return list(_FORMS[command])
    if before in _NAMESPACE:
        return _found(args[1:]).namespaces
    if before in _KIND:
        return _found(args[1:]).kinds
    if command not in _ASKING or before.startswith("-"):
        return None
    places = [arg for arg in args[1:] if not arg.startswith("-") and os.path.exists(arg)]  # noqa: PTH110 - odd names
    return _found(places).kinds if places else None


def _found(words: Sequence[str]) -> NamesIn:
    from pipelines.run import names  # noqa: PLC0415 - only while a line is completed

    for word in words:
        if not word.startswith("-") and os.path.exists(word):  # noqa: PTH110 - odd names
            in_file = names.names_of(word)
            if in_file.kinds or in_file.namespaces:
                return in_file
    return names.NamesIn([], [])


def install_completion() -> None:
    """Make click answer shells with the classes of this module."""
    for kind in (_Bash, _Zsh, _Fish):
        add_completion_class(kind, kind.name)


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options, and the kinds and namespaces of the report or dump on the line.

    \b
    Examples:
      auditor completion bash > /etc/bash_completion.d/auditor
      auditor completion zsh > "${fpath[1]}/_auditor"
      auditor completion fish > ~/.config/fish/completions/auditor.fish
    """
    kind = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}[shell]
    click.echo(kind(context.find_root().command, {}, _PROGRAM, "_AUDITOR_COMPLETE").source())


def kubectl_answers(command: click.Command, words: Sequence[str]) -> list[str]:
    """Return the lines that answer kubectl's question how a line goes on.

    Source: kubectl pkg/cmd/plugin/plugin_completion.go; a line for each answer, then a directive.

    Args:
        command: The whole command line.
        words: The words of the line; the last is the one that is being typed.
    """
    *args, incomplete = words or [""]
    items = _Bash(command, {}, _PROGRAM, "").get_completions(args, incomplete)
    plain = [item for item in items if item.type == "plain"]
    lines = [f"{item.value}\t{item.help}" if item.help else item.value for item in plain]
    return [*lines, f":{_NO_FILES if plain else _DEFAULT}"]
