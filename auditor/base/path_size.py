"""Limits the total length of the paths of an object: one whose findings would not fit into memory is refused.

Each finding and each dropped field has the path of its field. 30,000 fields below a key of 100,000 characters have
three gigabytes of paths, although the object has half a megabyte.
"""

from __future__ import annotations

from typing import Any, Final

from auditor.base.errors import TooMuchToReport

__all__ = ["FREE_BYTES", "MOST_PATHS", "PATHS_A_BYTE", "check_paths"]

FREE_BYTES: Final = 64 << 10
"""Objects up to this size are not checked: their paths have at most 100 million characters together."""
MOST_PATHS: Final = 32 << 20
"""Characters that the paths of an object may have together."""
PATHS_A_BYTE: Final = 16
"""Characters that they may have in addition for each byte of the object."""
_INDEX: Final = 4
"""Approximate number of characters of a list index."""


def check_paths(value: Any, size: int) -> None:
    """Refuse an object whose fields have paths that are too long together.

    Args:
        value: The object, decoded.
        size: Its bytes.

    Raises:
        TooMuchToReport: The paths are longer than `MOST_PATHS` and `PATHS_A_BYTE` for each byte.
    """
    if size <= FREE_BYTES:
        return
    most = MOST_PATHS + PATHS_A_BYTE * size
    left = most
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo:
        node, above = todo.pop()
        if type(node) is dict:
            left -= above * len(node) + sum(map(len, node))
            todo += [
                (child, above + 1 + len(key))
                for key, child in node.items()
                if type(child) is dict or type(child) is list
            ]
        elif type(node) is list:
            below = above + _INDEX
            left -= below * len(node)
            todo += [(child, below) for child in node if type(child) is dict or type(child) is list]
        if left < 0:
            raise TooMuchToReport(f"the paths of its fields have more than {most:,} characters together")
