"""What is in folders beside files: links that lead out of them, pipes, sockets and devices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["LINK_OUT", "leads_out", "not_a_file"]

LINK_OUT: Final = "a symbolic link out of the folder; it was not read"


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path is a symbolic link to what does not lie below a folder."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def not_a_file(path: Path) -> str:
    """Say why something in a folder is not read, as it may never end; empty if it is a file, or not there."""
    return "neither a file nor a folder; it was not read" if path.exists() and not path.is_file() else ""
