"""One object that cannot be printed does not take the others with it: it is reported and left out."""

from __future__ import annotations

from auditor.base.errors import AuditorError, TooMuchToReport
from auditor.base.visible import visible

__all__ = ["OF_THE_COMMAND", "given_up_cells", "left_out"]

OF_THE_COMMAND = (AuditorError, OSError, MemoryError)
"""Errors that end a command: they have words of their own, and say nothing of one object."""
_MOST = 300
_MOST_COLUMNS = 10


def left_out(place: str, error: Exception) -> str:
    """Return the line for an object that failed in a way that this program does not foresee."""
    if isinstance(error, TooMuchToReport):
        return f"error: {place} is left out: {error}\n"
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if len(text) > _MOST:
        text = text[: _MOST - 3] + "..."
    return f"error: {place} is left out, for this program failed on it: {text}\n"


def given_up_cells(columns: list[str]) -> str:
    """Return the line for cells whose paths look at too many values.

    Args:
        columns: The name of the column of each.
    """
    names = ", ".join(sorted({visible(name) for name in columns})[:_MOST_COLUMNS])
    names = names if len(names) <= _MOST else names[: _MOST - 3] + "..."
    count = f"{len(columns)} cell{'s are' if len(columns) > 1 else ' is'}"
    return f"error: {count} left out: the path of the column looks at too many values of the object: {names}\n"
