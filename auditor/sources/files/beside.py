"""Calls that a thread makes one after another, beside the work of this one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future, ThreadPoolExecutor


Item = TypeVar("Item")
Result = TypeVar("Result")


class Beside:
    """Makes calls in their order, in a thread of its own; Arrow and numpy work there without Python's lock.

    Used as a context manager it ends its thread.

    Args:
        ahead: Number of calls that may wait; with 0 there is no thread, and each call is made at once.
        name: Name of the thread.
    """

    def __init__(self, ahead: int, name: str) -> None:
        self._ahead = ahead
        self._pool = _new_pool(name) if ahead else None
        self._waiting: deque[Future[Any]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def do(self, call: Callable[..., object], *arguments: Any) -> None:
        """Make a call, later; raise the error of one before it."""
        if self._pool is None:
            call(*arguments)
            return
        while len(self._waiting) >= self._ahead:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(call, *arguments))

    def settle(self) -> None:
        """Wait until all calls are made; raise the error of the first that failed."""
        while self._waiting:
            self._waiting.popleft().result()

    def last(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """Make a call after all others, and return its result."""
        self.settle()
        return call(*arguments) if self._pool is None else self._pool.submit(call, *arguments).result()

    def each(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield all items until the first None; the thread makes the next one meanwhile."""
        if self._pool is None:
            yield from items
            return
        following = self._pool.submit(next, items, None)
        while (item := following.result()) is not None:
            following = self._pool.submit(next, items, None)
            yield item


def _new_pool(name: str) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - small dumps need none

    return ThreadPoolExecutor(1, name)
