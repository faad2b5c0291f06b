"""Entries of folders that are not files: links that lead outside, pipes, sockets and devices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LINK_OUT: Final = "a symbolic link out of the folder; it was not read"


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path is a symbolic link to a target outside of a folder."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def not_a_file(path: Path) -> str:
    """Return why an entry of a folder is not read, as reading may never end; empty if it is a file, or missing."""
    return "neither a file nor a folder; it was not read" if path.exists() and not path.is_file() else ""
