"""KeyPath: a position in an object, as most errors print it: ``spec.m[k.x][3].u``.

Nothing is quoted or escaped. A path is a chain from leaf to root, so that extending it costs one small object; its text
is made only for a finding. Errors of metadata, embedded resources, list types and rules print it so. OpenAPI errors and
pruned paths print a key of additionalProperties like a property; they are texts from the start.
Source: apimachinery pkg/util/validation/field/path.go.

The total length of the paths of an object is limited, as each finding and each dropped field has one: 30,000 fields
below a key of 100,000 characters have three gigabytes of paths, although the object has half a megabyte.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from auditor.base.errors import TooMuchToReport

_PROPERTY, _KEY, _INDEX = 0, 1, 2


class KeyPath:
    """One step below a parent path; ROOT has no parent."""

    __slots__ = ("_kind", "_parent", "_step")

    def __init__(self, parent: KeyPath | None = None, step: str | int = "", kind: int = _PROPERTY) -> None:
        self._parent = parent
        self._step = step
        self._kind = kind

    def field(self, name: str) -> KeyPath:
        """Return the path of a declared property below this one."""
        return KeyPath(self, name, _PROPERTY)

    def key(self, key: str) -> KeyPath:
        """Return the path of a key of additionalProperties below this one."""
        return KeyPath(self, key, _KEY)

    def index(self, index: int) -> KeyPath:
        """Return the path of a list item below this one."""
        return KeyPath(self, index, _INDEX)

    def steps(self) -> list[tuple[int, str | int]]:
        """Return (kind, step) from the root down; kind is 0 property, 1 map key, 2 list index."""
        out: list[tuple[int, str | int]] = []
        node = self
        while node._parent is not None:
            out.append((node._kind, node._step))
            node = node._parent
        out.reverse()
        return out

    def structured(self) -> str:
        """Return the text; the root is ``<nil>``."""
        text = ""
        for kind, step in self.steps():
            if kind == _PROPERTY:
                text += f".{step}" if text else str(step)
            else:
                text += f"[{step}]"
        return text or "<nil>"

    def __str__(self) -> str:
        return self.structured()

    def __repr__(self) -> str:
        return f"KeyPath({self.structured()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyPath) and self.steps() == other.steps()

    def __hash__(self) -> int:
        return hash(tuple(self.steps()))


ROOT: Final = KeyPath()
"""The object itself."""


_NUMBER: Final = re.compile(r"\[\d+\]")


@lru_cache(maxsize=4096)
def plain_path(path: str) -> str:
    """Return the text of a path with all its indexes as ``[*]``, for counting."""
    return _NUMBER.sub("[*]", path)


FREE_BYTES: Final = 64 << 10
"""Objects up to this size are not checked: their paths have at most 100 million characters together."""
MOST_PATHS: Final = 32 << 20
"""Characters that the paths of an object may have together."""
PATHS_A_BYTE: Final = 16
"""Characters that they may have in addition for each byte of the object."""
_INDEX_SIZE: Final = 4
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
            below = above + _INDEX_SIZE
            left -= below * len(node)
            todo += [(child, below) for child in node if type(child) is dict or type(child) is list]
        if left < 0:
            raise TooMuchToReport(f"the paths of its fields have more than {most:,} characters together")
