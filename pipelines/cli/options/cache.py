"""The folder of the cache of definitions between runs."""

from __future__ import annotations

import os
from pathlib import Path

import click

__all__ = ["cache_folder"]


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
