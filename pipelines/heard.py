"""Printing for readers that may leave: what a command found is told by its exit code all the same."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["forget_output", "heard_or_not"]


def forget_output() -> None:
    """Let what is still printed go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def heard_or_not() -> Iterator[None]:
    """End the block where nobody reads what it prints any more (`| head`), and go on behind it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        forget_output()
