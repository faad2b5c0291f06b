"""The prompt of `auditor sql` on a terminal: statements over several lines, until a semicolon."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from auditor.base.errors import AuditorError
from auditor.base.visible import visible_lines
from pipelines.progress import BAR
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.run.sql.asked import Asked


_FIRST: Final = "sql> "
_NEXT: Final = "...> "
_HELP: Final = r"A statement ends with ; - \d lists tables, \d NAME columns, \q ends."


def ask_for_statements(asked: Asked, answer: Callable[[str], None], read: Callable[[str], str] = input) -> None:
    r"""Answer statements until ``\q`` or the end of input; an error does not end it, Ctrl-C drops a statement.

    Args:
        asked: What they can name.
        answer: Prints the answer to one.
        read: Prints a prompt and returns a line.
    """
    import readline  # noqa: F401, PLC0415 - `input` edits lines with it

    BAR.stop()
    err = ErrorLines()
    err(f"{_HELP}\n")
    noted: set[str] = set()
    with _interrupts_raise():
        while (text := _statement(read)) is not None:
            if not text.strip():
                continue
            if text in ("\\q", "\\quit"):
                return
            BAR.start()
            try:
                answer(text)
            except AuditorError as error:
                BAR.stop()
                sys.stderr.write(f"error: {visible_lines(str(error))}\n")
            except KeyboardInterrupt:
                BAR.stop()
                err("cancelled\n")
            sys.stdout.flush()
            for note in asked.notes():
                if note not in noted:
                    noted.add(note)
                    err(f"note: {note}\n")
            BAR.stop()


def _statement(read: Callable[[str], str]) -> str | None:
    r"""Return the lines up to a semicolon, or a command like ``\d``; None at the end of input."""
    lines: list[str] = []
    while True:
        try:
            line = read(_NEXT if lines else _FIRST)
        except EOFError:
            sys.stdout.write("\n")
            return None
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            return ""
        if not lines and line.strip().startswith("\\"):
            return line.strip().rstrip(";").rstrip()
        if lines or line.strip():
            lines.append(line)
        if line.rstrip().endswith(";"):
            return "\n".join(lines)


@contextmanager
def _interrupts_raise() -> Iterator[None]:
    """Let each Ctrl-C raise `KeyboardInterrupt`: the first one does not end the command."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
