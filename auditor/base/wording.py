"""Words that depend on a count, for messages: "1 object is", "2 objects are"."""

from __future__ import annotations

__all__ = ["are", "by_count", "counted", "objects"]


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, which takes an s unless the count is 1."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def objects(count: int) -> str:
    """Return a count of objects."""
    return counted(count, "object")


def by_count(count: int, one: str, many: str) -> str:
    """Return the first word if the count is 1, else the second."""
    return one if count == 1 else many


def are(count: int) -> str:
    """Return "is" if the count is 1, else "are"."""
    return by_count(count, "is", "are")
