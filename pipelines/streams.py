"""Standard output and standard error of this program: content cannot control the terminal."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from auditor.base.visible import visible, visible_lines

_LONE_SURROGATES: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Halves of surrogate pairs, without the characters that stand for bytes that are not UTF-8."""


class VisibleStream:
    """A text stream that escapes control characters and controls of writing direction.

    It is a second protection: content is already escaped when it is put into a line, because only there can its
    newlines be distinguished from ours.
    """

    def __init__(self, stream: Any) -> None:
        self.plain = stream

    def write(self, text: str) -> int:
        """Write some text."""
        self.plain.write(visible_lines(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


class ErrorLines:
    """Writes messages, each a line that ends in a newline, to standard error."""

    def __call__(self, text: str) -> None:
        """Write a message; newlines inside it come from content, and print as escapes."""
        line = text.removesuffix("\n")
        bare = line.lstrip("\t" if line.strip("\n") else "\n")  # indentation and blank lines are ours
        sys.stderr.write(line[: len(line) - len(bare)] + visible(bare) + "\n")


class TextWriter:
    """Writes text to a stream, also text that is not valid Unicode."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __call__(self, text: str) -> None:
        """Write some text."""
        try:
            self.stream.write(text)
        except UnicodeEncodeError:  # bytes of a template that are not UTF-8, or a lone surrogate in a stored value
            self.stream.reconfigure(errors="surrogateescape")
            self.stream.write(_LONE_SURROGATES.sub("\ufffd", text))


def escape_streams() -> None:
    """Write control characters on standard output and standard error as escapes from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, VisibleStream):
            setattr(sys, name, VisibleStream(stream))


def plain(stream: Any) -> Any:
    """Return a stream before `escape_streams`: for output in formats of other programs, and for progress."""
    return stream.plain if isinstance(stream, VisibleStream) else stream
