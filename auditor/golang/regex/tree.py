"""The tree of a regular expression, and sets of characters.

Every node has the numbers that Go limits: the height of its tree, its compiled size, and the product of the counts
nested in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.golang.unicode import MAX_RUNE, other_cases

if TYPE_CHECKING:
    from auditor.golang.unicode import Ranges


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of ranges (in order, inclusive); if case is ignored, they include all cases."""

    ranges: Ranges
    height: int = 1
    size: int = 1
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Assertion:
    r"""A position, not a character: `\A` `\z` (of the text), `^` `$` (of a line), `\b` `\B`."""

    place: str
    height: int = 1
    size: int = 1
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Concat:
    """Items one after the other; no items match the empty text."""

    items: tuple[Node, ...]
    height: int
    size: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Alternate:
    """One of two or more branches."""

    items: tuple[Node, ...]
    height: int
    size: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """An item repeated `least` to `most` times, or without limit if `most` is None."""

    item: Node
    least: int
    most: int | None
    height: int
    size: int
    repeats: int


Node = Chars | Assertion | Concat | Alternate | Repeat


def concat(items: list[Node]) -> Node:
    """Return items one after the other; a single item is returned unchanged."""
    if len(items) == 1:
        return items[0]
    return Concat(
        tuple(items),
        1 + max((item.height for item in items), default=0),
        max(1, sum([item.size for item in items])),
        max((item.repeats for item in items), default=1),
    )


def alternate(items: list[Node]) -> Node:
    """Return a choice; a single branch is returned unchanged."""
    if len(items) == 1:
        return items[0]
    return Alternate(
        tuple(items),
        1 + max(item.height for item in items),
        sum([item.size for item in items]) + len(items) - 1,
        max(item.repeats for item in items),
    )


def repeat(item: Node, least: int, most: int | None, counted: bool) -> Repeat:
    """Return an item repeated; `counted` if written with braces, for only these count towards Go's limit."""
    if not counted:
        size = (2 if least == 0 and most is None else 1) + item.size
        return Repeat(item, least, most, 1 + item.height, size, item.repeats)
    times = least if most is None else most
    size = times * item.size + (1 if most is None else most - least)
    if times == 0 and most is None:
        size = 2 + item.size
    return Repeat(item, least, most, 1 + item.height, max(1, size), max(1, times * item.repeats))


# -- sets of characters ------------------------------------------------------------------------------------------------


def normal(ranges: list[tuple[int, int]]) -> Ranges:
    """Return ranges in order, joined where they touch."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def folded(ranges: Ranges) -> Ranges:
    """Return ranges with all characters that differ only in case from one in them."""
    return normal([*ranges, *(case for low, high in ranges for case in other_cases(low, high))])


def complement(ranges: Ranges) -> Ranges:
    """Return all code points outside of `ranges`, which are in order."""
    outside = []
    start = 0
    for low, high in ranges:
        if start < low:
            outside.append((start, low - 1))
        start = high + 1
    if start <= MAX_RUNE:
        outside.append((start, MAX_RUNE))
    return tuple(outside)
