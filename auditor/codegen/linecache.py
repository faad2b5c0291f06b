"""Compiles generated source and registers it in the line cache, so that tracebacks show it."""

from __future__ import annotations

import linecache
from itertools import count
from typing import TYPE_CHECKING, Any

from auditor.codegen.kept_code import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compile_function"]

_numbers = count(1)


def compile_function(source: str, name: str, title: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Run the source of one function and return the function.

    Args:
        source: A module with a `def` of `name`.
        name: The function to return.
        title: Description of the source; part of the file name that tracebacks show.
        namespace: Its globals. The function is added to them under its name.

    Returns:
        The function. Its file name is unique, and `linecache` knows its lines as long as the process lives.
    """
    filename = f"<auditor {title} {next(_numbers)}>"
    code = compiled(source, filename, title)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(code, namespace)  # noqa: S102 - the source holds only names of ours, reprs of scalars and slots
    function: Callable[..., Any] = namespace[name]
    return function
