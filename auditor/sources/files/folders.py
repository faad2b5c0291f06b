"""Entries of folders that are not files: links that lead outside, pipes, sockets and devices."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

LINK_OUT: Final = "a symbolic link out of the folder; it was not read"


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path is a symbolic link to a target outside of a folder."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def not_a_file(path: Path) -> str:
    """Return why an entry of a folder is not read, as reading may never end; empty if it is a file, or missing."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return "" if stat.S_ISREG(mode) else "neither a file nor a folder; it was not read"
