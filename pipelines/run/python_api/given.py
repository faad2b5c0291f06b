"""Checks what callers of `auditor.open` give, and warns them."""

from __future__ import annotations

import datetime
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from dataclasses import Field

    from auditor.server.history import Point

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


def point(given: object) -> Point | None:
    """Return a revision or a time that was given, as ``--as-of`` of commands takes one."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    if isinstance(given, str):
        with suppress(ValueError):  # the error below says what is expected
            given = datetime.datetime.fromisoformat(given)
    if isinstance(given, datetime.datetime):
        return (given if given.tzinfo is not None else given.replace(tzinfo=datetime.UTC)).timestamp()
    if isinstance(given, datetime.timedelta):
        return given
    expected = "a revision, a datetime or its text in ISO 8601, or a timedelta before the newest time"
    raise PlanError("as_of", f"{given!r} is given", expected)


def chosen_columns(known: Sequence[str], given: Sequence[str] | None, kind: str) -> list[str]:
    """Return the names of columns that were given as a list, all those of a kind for None."""
    if given is None:
        return list(known)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise PlanError("columns", f"{type(given).__name__} is given", "a list of names, such as ['key', 'spec']")
    for name in (names := list(given)):
        if name not in known:
            raise PlanError("columns", f"{kind} has no column {name!r}", f"some of {', '.join(known)}")
    return names


def statement_text(given: object) -> str:
    """Return a statement of SQL that was given."""
    if not isinstance(given, str):
        raise PlanError("statement", f"{type(given).__name__} is given", "a statement of SQL as text")
    return given


def kind_text(given: object) -> str:
    """Return the name of a kind that was given."""
    if not isinstance(given, str) or not given:
        found = repr(given) if isinstance(given, str) else type(given).__name__
        raise PlanError(
            "kind", f"{found} is given", "a kind, plural or short name, such as pods or widgets.example.com"
        )
    return given


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
