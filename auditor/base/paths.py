"""KeyPath: where in an object, as metadata, embedded resources, list types and rules print it: ``spec.m[k.x][3].u``.

Nothing is quoted or escaped. A path is a chain from leaf to root, so that extending it costs one small object; text is
made only for a finding. OpenAPI errors and pruned paths print a key of additionalProperties like a property; where they
are found they are texts from the start.
Source: apimachinery pkg/util/validation/field/path.go.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["ROOT", "KeyPath", "plain_path"]

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
