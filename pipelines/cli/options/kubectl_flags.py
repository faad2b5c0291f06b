"""Flags as kubectl takes them: ``--show-labels=false``, ``-o=json``, and flags that change nothing here."""

from __future__ import annotations

from typing import Any, Final

import click

__all__ = ["KubectlCommand", "unsupported"]

_TRUE: Final = frozenset(["1", "t", "T", "true", "TRUE", "True"])
_FALSE: Final = frozenset(["0", "f", "F", "false", "FALSE", "False"])


class KubectlCommand(click.Command):
    """A command whose boolean options may have a value after ``=``, as those of Go programs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring options to the form that click reads."""
        switches: dict[str, click.Option] = {}
        shorts: set[str] = set()
        for param in self.params:
            if isinstance(param, click.Option) and param.is_flag:
                switches |= dict.fromkeys((*param.opts, *param.secondary_opts), param)
            elif isinstance(param, click.Option):
                shorts |= {name for name in param.opts if len(name) == 2}
        end = args.index("--") if "--" in args else len(args)
        plain = [one for arg in args[:end] for one in _plain(arg, switches, shorts)]
        return super().parse_args(ctx, plain + args[end:])


def _plain(arg: str, switches: dict[str, click.Option], shorts: set[str]) -> list[str]:
    name, equals, value = arg.partition("=")
    if equals and name in shorts:
        return [name, value]
    if not equals or name not in switches:
        return [arg]
    if value in _TRUE:
        return [name]
    if value not in _FALSE:
        raise click.BadParameter(f'"{value}" is neither true nor false', param_hint=name)
    return [*switches[name].secondary_opts[:1]]


def unsupported(flags: dict[str, Any]) -> str:
    """Return the command to use instead of an unsupported flag of kubectl; empty if there is none."""
    if flags.get("watch") or flags.get("watch_only"):
        return "a dump does not change: `auditor watch DUMP KIND` prints the changes that it holds"
    if flags.get("output_watch_events"):
        return "--output-watch-events option can only be used with --watch or --watch-only"
    if flags.get("raw"):
        return "--raw asks a server for a path: `auditor query DUMP KIND -o json` prints a LIST, `auditor show` one key"
    return ""
