"""Counts the known keys of an object while it is read: the cheap way to find that there are no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.codegen import Writer
    from auditor.fastpath.dicts.scope import Lines

__all__ = ["KeyCounter"]


class KeyCounter:
    """Adds the number of required keys at the start, and counts the optional ones in a local variable.

    Args:
        w: Takes the lines.
        variable: Its name; empty means the number is not needed.
    """

    def __init__(self, w: Writer, variable: str) -> None:
        self._w = w
        self._fixed = 0
        self._variable = variable

    def start(self, *parts: str) -> None:
        """Write the initial value, the sum of expressions."""
        if self._variable:
            self._w.line(f"{self._variable} = {' + '.join(parts) or '0'}")

    def expect(self, *, always: bool = True) -> None:
        """Count a key that exists in every valid object."""
        self._fixed += always

    def seen(self) -> Lines:
        """Return the lines for an optional key that exists."""
        return (f"{self._variable} += 1",) if self._variable else ()

    def missed(self) -> Lines:
        """Return the lines for a key that was counted and is removed."""
        return (f"{self._variable} -= 1",) if self._variable else ()

    def total(self) -> str:
        """Return an expression for the number of known keys."""
        return f"{self._variable} + {self._fixed}" if self._fixed else self._variable
