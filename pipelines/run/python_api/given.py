"""Checks what callers of `auditor.open` give, and warns them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from auditor.base.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_OURS: Final = ("auditor", "pipelines")


def warn(text: str) -> None:
    """Warn of something, as of the line outside of this project that called it."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - `warnings` counts frames, too
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(text.strip(), stacklevel=level)


def paths(given: Paths, name: str) -> tuple[str, ...]:
    """Return paths that were given as one or several."""
    several = (given,) if isinstance(given, (str, os.PathLike)) else given
    if isinstance(several, (Mapping, bytes)) or not isinstance(several, Iterable):
        raise PlanError(name, f"{type(given).__name__} is given", "a path, or a list of paths")
    out = []
    for path in several:
        if not isinstance(path, (str, os.PathLike)):
            raise PlanError(name, f"a list with {type(path).__name__} is given", "paths of files or folders")
        out.append(os.fspath(path))
    return tuple(out)
