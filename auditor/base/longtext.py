"""Long texts made of shared parts, which are compared, sorted and looked up without being joined."""

from __future__ import annotations

from typing import Any, Final

LONG: Final = 1 << 10
"""Texts of at least so many characters are held in parts."""


class LongText:
    """A text in parts. It is never equal to a `str`, nor to one in other parts: equal texts come in equal parts.

    Args:
        parts: The parts of the text, in order; those that others share are the same objects.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: str) -> None:
        self.parts = parts

    def __str__(self) -> str:
        return "".join(self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return type(other) is LongText and self.parts == other.parts

    def __lt__(self, other: Any) -> bool:
        mine, others = self.parts, other.parts if type(other) is LongText else (other,)
        same = next(
            (position for position, (left, right) in enumerate(zip(mine, others, strict=False)) if left != right), None
        )
        if same is None:
            return len(self) < len(other)
        side, two = mine[same], others[same]
        if not two.startswith(side) and not side.startswith(two):
            return side < two
        return "".join(mine[same:]) < "".join(others[same:])

    def __gt__(self, other: Any) -> bool:
        return self != other and not self < other


def cut(text: str | LongText, limit: int) -> str:
    """Return a text, or the beginning and the length of one that is longer than the limit."""
    if len(text) <= limit:
        return str(text)
    begin, left = "", limit
    for part in text.parts if type(text) is LongText else (str(text),):
        begin += part[:left]
        left = limit - len(begin)
    return f"{begin}… (cut: {limit} of {len(text)} characters)"


def bounded_join(texts: list[str] | list[LongText] | list[str | LongText], limit: int) -> str:
    """Return texts joined by commas, as Go prints a list of errors; beyond the limit, how many are left out."""
    parts: list[str] = []
    left = limit
    for number, text in enumerate(texts):
        if left < 0:
            parts.append(f"… (cut: {number} of {len(texts)} messages)")
            break
        whole = str(text)
        left -= len(whole)
        parts.append(whole)
    return ", ".join(parts)
