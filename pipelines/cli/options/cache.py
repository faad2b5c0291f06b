"""Options about the cache of definitions between runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["cache_folder", "cache_options"]


def cache_options(command: Any) -> Any:
    """Add the options to a command."""
    for option in reversed(
        (
            click.option(
                "--cache",
                default="",
                metavar="DIR",
                help="Folder for parsed definitions and generated code, reused by later runs  [default: "
                "$XDG_CACHE_HOME/auditor]",
            ),
            click.option("--no-cache", is_flag=True, help="Keep nothing for later runs, and reuse nothing."),
        )
    ):
        command = option(command)
    return command


def cache_folder(given: str, *, no_cache: bool) -> str:
    """Return the cache folder for definitions; empty to cache nothing.

    Raises:
        UsageError: Both --cache and --no-cache are given.
    """
    if given and no_cache:
        raise click.UsageError("give either --cache DIR or --no-cache: whether anything is kept for later runs")
    if no_cache:
        return ""
    if given:
        return str(Path(given).absolute())
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute():  # relative paths are ignored, as XDG says
        folder = Path(os.path.expanduser("~/.cache"))  # noqa: PTH111 - without a home it stays unchanged
    return str(folder / "auditor") if folder.is_absolute() else ""
