"""Time limits for servers: a store or web server decides what it sends, how fast, and how much.

A call runs in its own thread; if it does not return in time, it is abandoned, and its thread ends with the process.
Such a thread also reads a stream ahead, block by block, and every block must arrive in time.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


Result = TypeVar("Result")

BLOCK: Final = 256 << 10
"""Bytes of a stream that must arrive within `READ_SECONDS`: at least 4 KiB a second."""

READ_SECONDS: float = 60.0
CALL_SECONDS: float = 300.0
"""Largest number of seconds of a call such as a listing."""

ENTRIES: int = 1_000_000
"""Largest number of names in a listing."""

_AHEAD: Final = 4


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """Return the result of a call, or raise its exception.

    Args:
        seconds: Its time limit.
        call: Runs in its own thread.

    Raises:
        TimeoutError: It took longer.
    """
    answers: queue.SimpleQueue[tuple[bool, Result | BaseException]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((True, call()))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            answers.put((False, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        good, answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"the server gave no answer within {seconds:g} seconds") from None
    if good:
        return answer  # type: ignore[return-value]
    assert isinstance(answer, BaseException)
    raise answer


class ReadAhead:
    """The bytes of a stream, which a thread reads in advance.

    Args:
        read: Returns up to a number of bytes, nothing at the end.
        seconds: Time limit for a block of `BLOCK` bytes.
    """

    def __init__(self, read: Callable[[int], bytes], seconds: float) -> None:
        self._seconds = seconds
        self._blocks: queue.Queue[bytes | BaseException] = queue.Queue(_AHEAD)
        self._stopped = threading.Event()
        self._rest = b""
        self._ended = False
        self._thread = threading.Thread(target=self._run, args=(read,), daemon=True)
        self._thread.start()

    def _run(self, read: Callable[[int], bytes]) -> None:
        while not self._stopped.is_set():
            block: bytes | BaseException
            try:
                block = read(BLOCK)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that reads
                block = error
            while not self._stopped.is_set():
                try:
                    self._blocks.put(block, timeout=1)
                    break
                except queue.Full:
                    continue
            if not block or isinstance(block, BaseException):
                return

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than `size` only at the end; with -1 all of them.

        Raises:
            TimeoutError: A block did not arrive in time.
        """
        parts = []
        left = size
        while left and not (self._ended and not self._rest):
            if not self._rest:
                self._rest = self._next()
                continue
            part = self._rest if left < 0 else self._rest[:left]
            self._rest = self._rest[len(part) :]
            parts.append(part)
            left -= len(part) if left > 0 else 0
        return b"".join(parts)

    def _next(self) -> bytes:
        try:
            block = self._blocks.get(timeout=self._seconds)
        except queue.Empty:
            self._ended = True
            raise TimeoutError(f"less than {BLOCK >> 10} KiB arrived within {self._seconds:g} seconds") from None
        if isinstance(block, BaseException):
            self._ended = True
            raise block
        self._ended = not block
        return block

    def stop(self) -> bool:
        """Stop the thread; return whether it has ended, so that the stream may be closed."""
        self._stopped.set()
        self._thread.join(1)
        return not self._thread.is_alive()
