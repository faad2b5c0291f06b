"""What the emitters share: which program is being written (Mode), where the code stands (Scope), what a schema says.

Three programs are made of one schema. They differ in what they do to the object and in what they may say:

- FUSED reads and proves in one pass. It changes the object as the storage read does and keeps a local `ok`. A violation
  clears `ok` and the pass goes on, so that the object is read exactly either way. Where the code cannot say what the
  read does it raises Refused.
- PROVE changes nothing. True: the value is valid. False: nothing is known.
- EXACT changes nothing. True: valid, False: invalid, Refused raised: not known. `not` and `oneOf` need it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Final

from auditor.schema.structural import ABSENT, StructuralSchema

__all__ = ["KINDS", "META_KEYS", "Condition", "Mode", "Scope", "chain", "given", "schema_types"]

META_KEYS: Final = ("apiVersion", "kind", "metadata")

KINDS: Final = {"object": "dict", "array": "list", "string": "str", "integer": "int", "boolean": "bool"}
"""Python type of the values of a schema type; `number` has two."""

Condition = tuple[str, str]
"""An expression that is true where something is wrong, and the statement to run then."""


class Mode(Enum):
    """The program being written, with its statements for three findings.

    Attributes:
        bad: The value breaks its schema.
        doubt: Whether the value breaks its schema is not known here.
    """

    FUSED = ("ok = False", "ok = False")
    PROVE = ("return False", "return False")
    EXACT = ("return False", "raise Refused")

    @property
    def bad(self) -> str:
        """Statement for a violation."""
        return self.value[0]

    @property
    def doubt(self) -> str:
        """Statement for what may be a violation."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the code being written stands.

    Attributes:
        keep: Unknown keys of this very value stay (an item of a list that preserves unknown fields).
        frozen: Nothing is pruned at or below this value.
        template: The path since the function began: text, 0 for a list item, 1 for a map key.
        holes: Variables that fill the holes: list and item, or key.
        root: The function is the root's, so that there is no site above.
        loops: How many loops the code is in.
    """

    mode: Mode
    keep: bool = False
    frozen: bool = False
    template: tuple[str | int, ...] = ()
    holes: tuple[str, ...] = ()
    root: bool = False
    loops: int = 0

    @property
    def fused(self) -> bool:
        """Whether the object is read on the way."""
        return self.mode is Mode.FUSED

    def property(self, name: str, *, frozen: bool = False) -> Scope:
        """Return the scope of a property's value."""
        template = self.template
        if template and isinstance(template[-1], str):
            template = (*template[:-1], f"{template[-1]}.{name}")
        else:
            template = (*template, f".{name}")
        return self._below(template, self.holes, keep=False, frozen=frozen or self.frozen)

    def key(self, variable: str) -> Scope:
        """Return the scope of a map value, in a loop over keys."""
        return self._below((*self.template, 1), (*self.holes, variable), keep=False, frozen=self.frozen, loop=1)

    def item(self, items: str, variable: str, *, keep: bool) -> Scope:
        """Return the scope of a list item, in a loop over items."""
        return self._below((*self.template, 0), (*self.holes, items, variable), keep=keep, frozen=self.frozen, loop=1)

    def inside(self) -> Scope:
        """Return the scope of the same value in a function of its own."""
        return Scope(self.mode, self.keep, self.frozen)

    def _below(
        self, template: tuple[str | int, ...], holes: tuple[str, ...], *, keep: bool, frozen: bool, loop: int = 0
    ) -> Scope:
        return Scope(self.mode, keep, frozen, template, holes, self.root, self.loops + loop)


_ABSENT: Final[dict[str, Any]] = {
    field.name: getattr(StructuralSchema(), field.name) for field in fields(StructuralSchema)
}


def given(schema: StructuralSchema) -> set[str]:
    """Return the names of the attributes in which a node differs from an empty one."""
    return {
        name
        for name, absent in _ABSENT.items()
        if (value := getattr(schema, name)) is not absent and (name == "default" or value != absent)
    }


def schema_types(schema: StructuralSchema) -> tuple[str, ...]:
    """Return the types that the value validator goes by."""
    if schema.int_or_string:
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def has_default(schema: StructuralSchema) -> bool:
    """Say whether a node has a default that counts."""
    return schema.default is not ABSENT and schema.default is not None


def chain(conditions: list[Condition]) -> list[str]:
    """Return lines that run the statement of the first condition that holds."""
    lines: list[str] = []
    for test, statement in conditions:
        lines += [f"{'elif' if lines else 'if'} {test}:", f" {statement}"]
    return lines
