"""Calls an overload of a library as the interpreter would."""

from __future__ import annotations

from typing import Any

from auditor.cel.cel_errors import CelError
from auditor.cel.operations.dispatch import declare


def overload(functions, overload_id: str):
    """Return the overload with an id; ids are unique in a library."""
    found = [each for function in functions for each in function.overloads if each.id == overload_id]
    assert len(found) == 1, f"{overload_id}: {len(found)} overloads"
    return found[0]


def outcome(functions, overload_id: str, *arguments: Any) -> Any:
    """Return what a call gives: the value, or the `CelError`."""
    try:
        return overload(functions, overload_id).call(*arguments)
    except CelError as error:
        return error


def cost(functions, overload_id: str, arguments, result: Any) -> int:
    """Return what the server counts for a call, or raise the `CelError` that ends the evaluation."""
    for each in declare(functions).values():
        if each.overload(overload_id) is not None:
            return each.runtime(overload_id)(arguments, result, overload_id)
    raise AssertionError(overload_id)
