"""Words that depend on a count, for messages: "1 object is", "2 objects are", "a, b and c"."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, which takes an s unless the count is 1."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def objects(count: int) -> str:
    """Return a count of objects."""
    return counted(count, "object")


def by_count(count: int, one: str, many: str) -> str:
    """Return the first word if the count is 1, else the second."""
    return one if count == 1 else many


def no_field(place: str, name: str, known: Iterable[str]) -> tuple[str, str]:
    """Return that a field does not exist, and the question for the nearest ones, which is empty if none is near.

    Args:
        place: The path of what it would be in; empty for the whole object.
        name: Its name.
        known: The names of the fields that exist there.
    """
    lead = f"{place}." if place else ""
    near = [f"{lead}{each}" for each in get_close_matches(name, known, 3, 0.6)]
    return f"there is no field {lead}{name}", f"did you mean {' or '.join(near)}?" if near else ""


def are(count: int) -> str:
    """Return "is" if the count is 1, else "are"."""
    return by_count(count, "is", "are")


def listed(texts: Sequence[str]) -> str:
    """Return one or more texts as "a", "a and b" or "a, b and c"."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def first_of(texts: Sequence[str], most: int, noun: str = "") -> str:
    """Return one or more texts as `listed` does; the number of those beyond the most that are named, with a noun."""
    rest = len(texts) - most
    more = counted(rest, f"more {noun}") if noun else f"{rest} more"
    return listed([*texts[:most], more] if rest > 0 else texts)


def shortened(text: str, most: int | None) -> str:
    """Return a text of that many characters at most, which ends in three dots if it is cut; None is no bound."""
    return text if most is None or len(text) <= most else f"{text[: most - 3]}..."
