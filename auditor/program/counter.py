"""Counting the known keys of an object while it is read: the cheap way to know that there are no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.program.scope import META_KEYS

if TYPE_CHECKING:
    from auditor.codegen import Writer
    from auditor.program.scope import Scope
    from auditor.schema.structural import StructuralSchema

__all__ = ["KeyCounter"]


class KeyCounter:
    """Counts the known keys of one object that is being read, in a local variable and beforehand."""

    def __init__(self, w: Writer, scope: Scope, schema: StructuralSchema, *, embedded: bool) -> None:
        self.active = scope.fused and schema.additional_properties is None
        self._w = w
        self._fixed = 0
        self._variable = w.variable() if self.active else ""
        self._is_used = False
        self._extra = [name for name in META_KEYS if embedded and name not in schema.properties]

    def start(self, x: str) -> None:
        """Write the start value."""
        if self.active:
            parts = [f"({name!r} in {x})" for name in self._extra]
            self._w.line(f"{self._variable} = {' + '.join(parts) or '0'}")

    def expect(self, *, always: bool) -> None:
        """Note a key that is there in a good object."""
        self._fixed += always

    def seen(self, *, always: bool) -> None:
        """Write that a key is there."""
        if self.active and not always:
            self._w.line(f"{self._variable} += 1")

    def missed(self, *, always: bool) -> None:
        """Write that a key that was expected is not there."""
        if self.active and always:
            self._w.line(f"{self._variable} -= 1")

    def total(self) -> str:
        """Return an expression for the number of known keys."""
        return f"{self._variable} + {self._fixed}" if self._fixed else self._variable
