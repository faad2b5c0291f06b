"""Keep the exit code when standard output is closed early (`| head`).

Only a broken pipe at standard output means that the reader stopped reading, so it has an error of its own. Any other
broken pipe is a failure of the run. Standard error may be closed at any time.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from auditor.printing.print_rows import print_rows
from pipelines.progress import BAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.printing.print_rows import Columns, Row


_NARROWEST: Final = 60
_WIDTH: Final = 80
UNBOUNDED: Final = 1 << 20
"""Columns of a terminal for what is not to be cut."""


class OutputClosed(BrokenPipeError):
    """The reader of standard output closed it."""


class _Output(io.FileIO):
    def write(self, data: Any) -> int:
        BAR.stop()
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise OutputClosed(*error.args) from error


class _Errors(io.FileIO):
    def write(self, data: Any) -> int:
        BAR.make_way(bytes(data))
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def watch_streams() -> None:
    """Make a closed standard output raise `OutputClosed`, and ignore a closed standard error."""
    for name, kind in (("stdout", _Output), ("stderr", _Errors)):
        stream = getattr(sys, name)
        if stream is not getattr(sys, f"__{name}__") or type(stream) is not io.TextIOWrapper:
            continue  # replaced by the caller (e.g. a test) that captures the output
        stream.flush()
        raw: Any = kind(stream.fileno(), "w", closefd=False)
        buffered = isinstance(stream.buffer, io.BufferedWriter)
        watched = io.TextIOWrapper(
            io.BufferedWriter(raw) if buffered else raw,
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, watched)


def terminal_width() -> int:
    """Return the columns of the terminal, 80 without one; `COLUMNS` overrides it."""
    return max(_NARROWEST, shutil.get_terminal_size((_WIDTH, 24)).columns)


def forget_output() -> None:
    """Send all further output to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def echo_rows(rows: Iterable[Row], columns: Columns | Sequence[str], form: str, **more: Any) -> None:
    """Print rows to standard output; the arguments are those of `print_rows`."""
    sys.stdout.writelines(print_rows(rows, columns, form, **more))


def write_or_drop(text: str) -> None:
    """Print text; if standard output was closed the text is dropped, and the exit code is still computed."""
    try:
        sys.stdout.write(text)
    except OutputClosed:
        forget_output()


@contextmanager
def ignore_closed_stdout() -> Iterator[None]:
    """Leave the block when standard output is closed (`| head`), and continue after it."""
    try:
        yield
        sys.stdout.flush()
    except OutputClosed:
        forget_output()
