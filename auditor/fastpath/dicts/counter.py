"""Counting the known keys of an object while it is read: the cheap way to know that there are no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.codegen import Writer
    from auditor.fastpath.dicts.scope import Lines

__all__ = ["KeyCounter"]


class KeyCounter:
    """Counts in a local variable what may be there, and beforehand what must.

    Args:
        w: Takes the lines.
        variable: Its name; empty means the number is not needed.
    """

    def __init__(self, w: Writer, variable: str) -> None:
        self._w = w
        self._fixed = 0
        self._variable = variable

    def start(self, *parts: str) -> None:
        """Write the start value, the sum of expressions."""
        if self._variable:
            self._w.line(f"{self._variable} = {' + '.join(parts) or '0'}")

    def expect(self, *, always: bool = True) -> None:
        """Note a key that is there in a good object."""
        self._fixed += always

    def seen(self) -> Lines:
        """Return the lines for a key that is there and need not be."""
        return (f"{self._variable} += 1",) if self._variable else ()

    def missed(self) -> Lines:
        """Return the lines for a key that was counted and is gone."""
        return (f"{self._variable} -= 1",) if self._variable else ()

    def total(self) -> str:
        """Return an expression for the number of known keys."""
        return f"{self._variable} + {self._fixed}" if self._fixed else self._variable
