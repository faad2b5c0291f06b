"""The processes of this machine by their parents, read from /proc while processes end."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def processes_by_parent() -> dict[int, list[int]]:
    """Return the children of each process; a process that ends meanwhile is left out, and all where /proc is missing.

    `Path.glob` is not used: it raises ProcessLookupError when a process ends between its listing and its check.
    """
    children: dict[int, list[int]] = {}
    with suppress(FileNotFoundError):
        for process in (path for path in Path("/proc").iterdir() if path.name.isdecimal()):
            with suppress(OSError):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(process.name))
    return children
