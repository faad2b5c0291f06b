"""How much text one evaluation may make: a server prices `replace` and `format` by what goes in, not by what comes out.

Two of them in a row make a gigabyte of a thousand characters, for a fiftieth of the budget. Beyond the bound the
evaluation is given up, without a verdict; the lengths are known before a text is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.cel.errors import GaveUp
from auditor.cel.operations.cost import Cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MOST_TEXT", "begin", "join", "replace"]

MOST_TEXT: Final = 32 << 20
"""Characters that the calls of one evaluation may make together; they take up to four bytes each."""
_FREE: Final = 1 << 12
"""Texts up to this many characters are not counted."""
_left: list[int] = [MOST_TEXT]


def begin() -> None:
    """Begin an evaluation."""
    _left[0] = MOST_TEXT


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """Return `text.replace(old, new, count)`.

    Raises:
        Cancelled: The evaluation makes too much text.
    """
    if len(new) * (len(text) + 1) > _FREE:
        found = text.count(old)
        found = found if count < 0 else min(found, count)
        _take(len(text) + found * (len(new) - len(old)))
    return text.replace(old, new, count)


def join(texts: Sequence[str]) -> str:
    """Return `"".join(texts)`.

    Raises:
        Cancelled: The evaluation makes too much text.
    """
    length = sum(map(len, texts))
    if length > _FREE:
        _take(length)
    return "".join(texts)


def _take(length: int) -> None:
    _left[0] -= length
    if _left[0] < 0:
        raise Cancelled(failure=GaveUp("evaluation took too much memory"))
