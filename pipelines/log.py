"""Messages of a run on standard error: lines for people, or JSON events for machines.

Without a terminal: a line at the start, one every 30 seconds, one at the end. On a terminal progress is enough. It
imports only small modules, so that commands start fast.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_LEVELS: Final = {"debug": 0, "info": 1, "warning": 2, "error": 3}
_EVERY: Final = 30.0
"""Seconds between two lines of progress without a terminal."""


class RunLog:
    """Writes the events of a run to standard error; before it is configured, only warnings and errors."""

    def __init__(self) -> None:
        self._least = _LEVELS["warning"]
        self._as_json = False
        self._next = 0.0
        self._lines: list[str] | None = None

    @property
    def settings(self) -> tuple[int, bool]:
        """The settings that `restore` takes in another process."""
        return self._least, self._as_json

    def restore(self, settings: tuple[int, bool]) -> None:
        """Configure the log like that of another process, but without progress, which the other process writes."""
        self._least, self._as_json = settings
        self._next = float("inf")

    @contextmanager
    def collected(self) -> Iterator[list[str]]:
        """Yield a list that collects the lines logged in the block; nothing is written."""
        before, self._lines = self._lines, []
        try:
            yield self._lines
        finally:
            self._lines = before

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines that another process has collected."""
        for line in lines:
            self._put(line)

    def configure(self, *, as_json: bool, quiet: bool, verbose: bool) -> None:
        """Set which events are written from now on.

        Args:
            as_json: Whether each event is a JSON object of one line.
            quiet: Only warnings and errors.
            verbose: Also each source and each phase.
        """
        on_terminal = sys.stderr.isatty() and not as_json
        level = "warning" if quiet or (on_terminal and not verbose) else "debug" if verbose or as_json else "info"
        self._least = _LEVELS[level]
        self._as_json = as_json
        self._next = float("inf") if on_terminal else time.monotonic() + _EVERY

    @property
    def as_json(self) -> bool:
        """Whether events are JSON."""
        return self._as_json

    def debug(self, event: str, text: str, **fields: Any) -> None:
        """Write a minor event: a source, a phase."""
        self._write("debug", event, text, fields)

    def info(self, event: str, text: str, **fields: Any) -> None:
        """Write an event: start, progress, result."""
        self._write("info", event, text, fields)

    def warning(self, event: str, text: str, **fields: Any) -> None:
        """Write a warning, for example about damage."""
        self._write("warning", event, text, fields)

    def error(self, event: str, text: str, **fields: Any) -> None:
        """Write the error that ended the run."""
        self._write("error", event, text, fields)

    def progress(self, done: int, total: int, seconds: float) -> None:
        """Write the progress of the run, if 30 seconds have passed since the last such line.

        Args:
            done: Number of checked objects.
            total: Number of all objects.
            seconds: Seconds so far.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY
        percent, rate = 100 * done / max(total, 1), done / max(seconds, 0.001)
        text = f"{percent:.0f} % of {total:,} objects judged, {rate:,.0f} a second"
        self.info("progress", text, done=done, total=total, percent=round(percent, 1), rate=round(rate))

    def clusters(self, done: int, total: int, seconds: float) -> None:
        """Write how many clusters of a fleet are audited, if 30 seconds have passed since the last such line.

        Args:
            done: Clusters that are audited.
            total: All clusters.
            seconds: How long that took.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY
        self.info("progress", f"{done:,} of {total:,} clusters audited in {seconds:,.0f} s", clusters=done, of=total)

    def _write(self, level: str, event: str, text: str, fields: dict[str, Any]) -> None:
        if _LEVELS[level] < self._least:
            return
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        if self._as_json:
            line = json.dumps({"time": now, "level": level, "event": event, "message": text, **fields}, default=str)
        else:
            line = f"{now} {level + ': ' if level in ('warning', 'error') else ''}{visible(text)}"
        self._put(line)

    def _put(self, line: str) -> None:
        if self._lines is not None:
            self._lines.append(line)
            return
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


LOG: Final = RunLog()
