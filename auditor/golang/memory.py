"""A memory of answers about texts: what was asked once need not be worked out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Memory"]

_MOST_TEXTS = 20_000
_LONGEST = 512


class Memory(dict[str, bool]):
    """Answers by text; works out what it does not hold, and forgets everything when it is full.

    Its `__getitem__` is the quickest way to ask: a text seen before costs one look into a dict.

    Args:
        decide: What answers about a new text.
    """

    __slots__ = ("decide",)

    def __init__(self, decide: Callable[[str], bool]) -> None:
        super().__init__()
        self.decide = decide

    def __missing__(self, text: str) -> bool:
        answer = self.decide(text)
        if len(text) <= _LONGEST:
            if len(self) >= _MOST_TEXTS:
                self.clear()
            self[text] = answer
        return answer
