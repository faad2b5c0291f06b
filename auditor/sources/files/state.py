"""Detects files that change while they are read: the result may match neither the old nor the new content."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from auditor.sources.source_plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_BESIDE = ("-wal",)
"""Suffixes of files that are read with a file: a write-ahead log."""


class FileState(NamedTuple):
    """The state of a file: identity, size, and time of its last change."""

    path: str
    device: int
    number: int
    size: int
    written: int
    changed: int


def state_of_file(path: str | Path, opened: int | None = None) -> FileState | None:
    """Return the state of a path or an open file; None if it is missing, or not a file."""
    try:
        status = os.stat(path) if opened is None else os.fstat(opened)  # noqa: PTH116 - of paths and open files alike
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileState(str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def states_below(path: str) -> tuple[FileState, ...]:
    """Return the states of a file and of files that are read with it, or of the files in a folder, without hidden ones.

    Files to which this process prints are left out, as they change.
    """
    printed = {(state.device, state.number) for state in (state_of_file("", stream) for stream in (1, 2)) if state}
    states = (state_of_file(file) for file in _files(path))
    return tuple(state for state in states if state is not None and (state.device, state.number) not in printed)


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):  # noqa: PTH112 - names as they were given
        yield path
        yield from (path + suffix for suffix in _BESIDE)
        return
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        within = os.path.join(folder, "")  # noqa: PTH118 - names as they were given
        yield from (within + name for name in names if not name.startswith("."))


def changes(states: Iterable[FileState]) -> list[Damage]:
    """Return the changes since then, as parts of a dump that are not reliable."""
    texts = []
    for before in states:
        now = state_of_file(before.path)
        if now == before:
            continue
        if now is None:
            what = "was removed"
        elif (now.device, now.number) != (before.device, before.number):
            what = "was replaced by another file"
        elif now.size != before.size:
            what = f"was {before.size} bytes long and is {now.size}"
        else:
            what = "was written to"
        texts.append(
            Damage(Path(before.path).name, f"{what} while it was read: rows may be of either state; audit it at rest")
        )
    return texts
