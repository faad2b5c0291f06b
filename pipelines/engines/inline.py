"""Everything in this process, one shard after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["run_inline"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_inline(setup: Callable[[], Callable[[Item], Result]], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result of each item, in order."""
    work = setup()
    for item in items:
        yield work(item)
