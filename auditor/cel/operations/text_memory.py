"""Limits the text that one evaluation may create: a server counts the input of `replace` and `format`, not the output.

Two of these calls can make a gigabyte from a thousand characters, for a fiftieth of the budget. Beyond the limit the
evaluation is given up without a result; lengths are computed before a text is created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.cel.cel_errors import GaveUp
from auditor.cel.operations.cost import Cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_TEXT: Final = 32 << 20
"""Number of characters that the calls of one evaluation may create together; each takes up to four bytes."""
_FREE: Final = 1 << 12
"""Texts up to this length are not counted."""
_left: list[int] = [MOST_TEXT]


def begin() -> None:
    """Start counting for an evaluation."""
    _left[0] = MOST_TEXT


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """Return `text.replace(old, new, count)`.

    Raises:
        Cancelled: The evaluation creates too much text.
    """
    if len(new) * (len(text) + 1) > _FREE:
        occurrences = text.count(old)
        occurrences = occurrences if count < 0 else min(occurrences, count)
        _take(len(text) + occurrences * (len(new) - len(old)))
    return text.replace(old, new, count)


def join(texts: Sequence[str]) -> str:
    """Return `"".join(texts)`.

    Raises:
        Cancelled: The evaluation creates too much text.
    """
    length = sum(map(len, texts))
    if length > _FREE:
        _take(length)
    return "".join(texts)


def _take(length: int) -> None:
    _left[0] -= length
    if _left[0] < 0:
        raise Cancelled(failure=GaveUp("evaluation took too much memory"))
