"""The bar on the terminal: what a command does, how much of it is done, and for how long.

A thread draws it, so that it moves while one long step reports nothing. It is written to the terminal of standard error
itself and never to a file or a pipe. It is gone before anything else is written there, and does not come back once the
command has begun to write its answer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from auditor.base.progress import listen

if TYPE_CHECKING:
    from collections.abc import Callable


_FIRST: Final = 0.3
"""Seconds after which the bar is drawn: shorter commands have none."""
_EVERY: Final = 0.2
_FROM: Final = 20
"""The remaining time is estimated once this part of the work, a twentieth, is done."""
_WIDEST: Final = 79
"""Columns; the last one of 80 stays free, in which some terminals begin a new line."""


class Bar:
    """A bar that `start` shows from now on and `stop` removes for good.

    Args:
        write: Writes to the terminal; by default to that of standard error.
        columns: Returns the columns of the terminal.
    """

    def __init__(self, write: Callable[[str], object] | None = None, columns: Callable[[], int] | None = None) -> None:
        self._write = write or (lambda text: os.write(2, text.encode()))
        self._columns = columns or (lambda: os.get_terminal_size(2).columns)
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._is_shown = False
        self._is_free = True
        self._began = 0.0
        self._state: tuple[str, int, int | None, str] = ("opening", 0, None, "B")

    def start(self) -> None:
        """Show the bar from now on, if standard error is a terminal that can move its cursor."""
        if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return
        self._ended, self._is_free = threading.Event(), True
        self._began = time.monotonic()
        listen(self.tell)
        threading.Thread(target=self._keep_drawing, args=(self._ended,), daemon=True).start()

    def tell(self, phase: str, done: int, total: int | None, unit: str) -> None:
        """Take what the work reports, see `auditor.base.progress.tell`."""
        if (phase, unit) != (self._state[0], self._state[3]):
            self._began = time.monotonic()
        self._state = phase, done, total, unit

    def draw(self) -> None:
        """Draw the last state, if the cursor is at the beginning of a line."""
        from tqdm import tqdm  # noqa: PLC0415 - only on a terminal, after the first moments

        with self._lock:
            if self._ended.is_set() or not self._is_free:
                return
            phase, done, total, unit = self._state
            form: dict[str, Any] = {"unit_scale": True, "unit_divisor": 1024} if unit == "B" else {}
            if total is None and not done:
                form["bar_format"] = f"{phase} [{{elapsed}}]"
            elif total is not None and done * _FROM < total:
                form["bar_format"] = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}]"
            meter = tqdm.format_meter(
                done,
                total,
                max(time.monotonic() - self._began, 0.001),
                ncols=min(_WIDEST, self._columns() - 1),
                prefix=phase,
                unit=unit if unit == "B" else f" {unit}",
                **form,
            )
            self._is_shown = True
            self._write(f"\r{meter}\x1b[K")

    def make_way(self, text: bytes) -> None:
        """Remove the bar before a text is written to standard error; it comes back after a whole line."""
        with self._lock:
            self._hide()
            self._is_free = text.endswith(b"\n")

    def stop(self) -> None:
        """Remove the bar for good."""
        if not self._ended.is_set():
            listen(None)
            with self._lock:
                self._ended.set()
                self._hide()

    def _hide(self) -> None:
        if self._is_shown:
            self._is_shown = False
            self._write("\r\x1b[K")

    def _keep_drawing(self, ended: threading.Event) -> None:
        wait = _FIRST
        while not ended.wait(wait):
            wait = _EVERY
            try:
                self.draw()
            except OSError:  # the terminal is gone
                return


BAR: Final = Bar()
