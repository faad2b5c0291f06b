"""Reports one object that cannot be printed and leaves it out, so that the others are printed."""

from __future__ import annotations

from auditor.base.errors import AuditorError, TooMuchToReport
from auditor.base.visible import visible

__all__ = ["OF_THE_COMMAND", "given_up_cells", "left_out"]

OF_THE_COMMAND = (AuditorError, OSError, MemoryError)
"""Errors that end a command: they have their own message, and are not about one object."""
_MOST = 300
_MOST_COLUMNS = 10


def left_out(place: str, error: Exception) -> str:
    """Return the message for an object on which this program failed unexpectedly."""
    if isinstance(error, TooMuchToReport):
        return f"error: {place} is left out: {error}\n"
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if len(text) > _MOST:
        text = text[: _MOST - 3] + "..."
    return f"error: {place} is left out, for this program failed on it: {text}\n"


def given_up_cells(columns: list[str]) -> str:
    """Return the message for cells whose paths look at too many values.

    Args:
        columns: The name of the column of each.
    """
    names = ", ".join(sorted({visible(name) for name in columns})[:_MOST_COLUMNS])
    names = names if len(names) <= _MOST else names[: _MOST - 3] + "..."
    count = f"{len(columns)} cell{'s are' if len(columns) > 1 else ' is'}"
    return f"error: {count} left out: the path of the column looks at too many values of the object: {names}\n"
