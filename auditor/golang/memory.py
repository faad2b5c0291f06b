"""A cache of results for texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Memory"]

_MOST_TEXTS = 20_000
_LONGEST = 512


class Memory(dict[str, bool]):
    """Caches results by text; computes missing ones, and is emptied when it is full.

    `__getitem__` is the fastest access: a cached text costs one look-up in a dict.

    Args:
        decide: Computes the result for a new text.
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
