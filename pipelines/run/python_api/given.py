"""Checks what callers of `auditor.open` give, and warns them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from dataclasses import Field

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


def text(given: object, name: str) -> str:
    """Return a text that was given."""
    if not isinstance(given, str):
        raise PlanError(name, f"{type(given).__name__} is given", "a text")
    return given


def column_names(given: Sequence[str]) -> list[str]:
    """Return names of columns that were given as a list."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise PlanError("columns", f"{type(given).__name__} is given", "a list of names, such as ['key', 'spec']")
    return list(given)


def option_value(option: Field[Any], given: Any) -> Any:
    """Return the value of an option of an audit, of the type and among the choices that it has."""
    default, form = option.default, option.metadata["option"].form
    if isinstance(default, str) and isinstance(given, os.PathLike):
        given = os.fspath(given)
    if isinstance(default, tuple) and isinstance(given, list):
        given = tuple(given)
    kinds = {bool: (bool,), int: (int,), float: (int, float), str: (str,), tuple: (tuple,)}.get(
        type(default), (object,)
    )
    if not isinstance(given, kinds) or (isinstance(given, bool) and bool not in kinds and object not in kinds):
        names = {tuple: "a list or tuple", str: "a text", bool: "True or False", int: "a whole number"}
        found = repr(given) if isinstance(given, str) else type(given).__name__
        raise PlanError(option.name, f"{found} is given", names.get(type(default), "a number"))
    if isinstance(form, tuple):
        for each in given if isinstance(given, tuple) else (given,):
            if each != default and each not in form:
                raise PlanError(option.name, f"{each!r} is given", f"one of {', '.join(map(str, form))}")
    least = form if isinstance(form, int) and not isinstance(form, bool) else 0
    if isinstance(given, (int, float)) and given < least:
        raise PlanError(option.name, f"{given} is given", f"a number from {least}")
    return given
