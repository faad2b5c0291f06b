"""One object that cannot be printed does not take the others with it: it is reported and left out."""

from __future__ import annotations

from auditor.base.errors import AuditorError, TooMuchToReport

__all__ = ["OF_THE_COMMAND", "left_out"]

OF_THE_COMMAND = (AuditorError, OSError, MemoryError)
"""Errors that end a command: they have words of their own, and say nothing of one object."""
_MOST = 300


def left_out(place: str, error: Exception) -> str:
    """Return the line for an object that failed in a way that this program does not foresee."""
    if isinstance(error, TooMuchToReport):
        return f"error: {place} is left out: {error}\n"
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if len(text) > _MOST:
        text = text[: _MOST - 3] + "..."
    return f"error: {place} is left out, for this program failed on it: {text}\n"
