"""Files and objects to which outputs are written: each is replaced atomically, or not at all."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from auditor.base.errors import SourceError
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.stores.locations import is_remote
from auditor.sources.stores.store_folder import copy_file, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

__all__ = ["earlier_text", "is_below", "new_file", "write_text"]

_MOST_EARLIER: Final = 4 << 20


@contextmanager
def new_file(target: str, mode: int) -> Iterator[TextIO]:
    """Yield a stream whose content replaces a file or object atomically, if the block ends without an error.

    Args:
        target: Path or URL.
        mode: Permissions of a file.

    Raises:
        SourceError: The store refuses it.
    """
    if is_remote(target):
        with temporary_folder("output") as folder:
            with _opened(folder / "content") as stream:
                yield stream
            copy_file(folder / "content", target)
        return
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    with ExitStack() as stack:
        stack.callback(part.unlink, missing_ok=True)
        with _opened(part) as stream:
            yield stream
        part.chmod(mode)
        part.replace(path)


def _opened(path: Path) -> TextIO:
    """Return a stream to a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="")


def write_text(target: str, text: str, mode: int) -> None:
    """Write a text to a file or a URL, atomically."""
    with new_file(target, mode) as stream:
        stream.write(text)


def earlier_text(target: str) -> str:
    """Return the beginning of the content of a target; empty if it cannot be read."""
    try:
        if is_remote(target):
            data = (read_file(target) or b"")[:_MOST_EARLIER]
        else:
            with Path(target).open("rb") as stream:
                data = stream.read(_MOST_EARLIER)
    except (OSError, SourceError):
        return ""
    return data.decode("utf-8", "replace")


def is_below(target: str, folder: str) -> bool:
    """Return whether a file or object would be in a folder."""
    if is_remote(target) or is_remote(folder):
        return f"{target.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    return Path(os.path.realpath(target)).is_relative_to(os.path.realpath(folder))
