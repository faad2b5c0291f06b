"""What the emitters share: which program is being written (Mode), where the code is (Scope), what a schema says.

Three programs are made of one schema. They differ in what they do to the object and in what they may say:

- FUSED reads and proves in one pass. It changes the object as the storage read does and keeps a local `ok`. A violation
  clears `ok` and the pass goes on, so that the object is read exactly either way. Where the code cannot say what the
  read does it raises Refused.
- PROVE changes nothing. True: the value is valid. False: nothing is known.
- EXACT changes nothing. True: valid, False: invalid, Refused raised: not known. `not` and `oneOf` need it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.schema.structural import ABSENT, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "META_KEYS",
    "Condition",
    "Lines",
    "Mode",
    "NotEmittable",
    "Scope",
    "chain",
    "given",
    "has_default",
    "indented",
    "schema_types",
]

META_KEYS: Final = ("apiVersion", "kind", "metadata")

Lines = tuple[str, ...]
"""Lines of code, indented by one space a level."""

Condition = tuple[str, "str | Lines"]
"""An expression that is true where something is wrong, and what to run then."""


class NotEmittable(Exception):
    """The schema does something that no generated code is made for; the reference reads such objects."""


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
    """Where the code that is being written is.

    Attributes:
        keep: Unknown keys of this very value stay (an item of a list that preserves unknown fields).
        frozen: Nothing is pruned at or below this value.
        template: The path since the function began, as a format string.
        kinds: For its holes: ``d`` for an index or key, ``i`` for a list and its item.
        holes: Variables that fill them.
        root: The function is the root's, so that there is no site above.
        loops: How many loops the code is in.
        level: How deep the value lies below what the function is for. Variables are named by it, so that siblings share
            them: a function with more than 256 locals is slower.
    """

    mode: Mode
    keep: bool = False
    frozen: bool = False
    template: str = ""
    kinds: str = ""
    holes: tuple[str, ...] = ()
    root: bool = False
    loops: int = 0
    level: int = 0

    def local(self, letter: str) -> str:
        """Return the name of a variable about the present value."""
        return f"{letter}{self.level}"

    @property
    def fused(self) -> bool:
        """Whether the object is read on the way."""
        return self.mode is Mode.FUSED

    def property(self, name: str, *, frozen: bool = False) -> Scope:
        """Return the scope of a property's value."""
        step = "." + name.replace("%", "%%")
        return Scope(
            self.mode,
            frozen=frozen or self.frozen,
            template=self.template + step,
            kinds=self.kinds,
            holes=self.holes,
            root=self.root,
            loops=self.loops,
            level=self.level + 1,
        )

    def key(self) -> Scope:
        """Return the scope of a map value, in a loop over keys (variable ``k``) and values (``v``)."""
        return self._in_loop(".%s", "d", "k", keep=False)

    def item(self, items: str, *, keep: bool) -> Scope:
        """Return the scope of a list item, in a loop over items (variable ``v``)."""
        return self._in_loop("[%d]", "i", "v", items, keep=keep)

    def numbered(self, *, keep: bool) -> Scope:
        """Return the scope of a list item, in a loop over indexes (variable ``i``) and items (``v``)."""
        return self._in_loop("[%d]", "d", "i", keep=keep)

    def inside(self) -> Scope:
        """Return the scope of the same value in a function of its own."""
        return Scope(self.mode, self.keep, self.frozen)

    def _in_loop(self, step: str, kind: str, letter: str, *holes: str, keep: bool) -> Scope:
        return replace(
            self,
            keep=keep,
            template=self.template + step,
            kinds=self.kinds + kind,
            holes=(*self.holes, *holes, f"{letter}{self.level + 1}"),
            loops=self.loops + 1,
            level=self.level + 1,
        )


_NAMES: Final = tuple(field.name for field in fields(StructuralSchema))
_VALUES: Final = attrgetter(*_NAMES)
_ABSENT: Final[tuple[Any, ...]] = _VALUES(StructuralSchema())


def given(schema: StructuralSchema) -> set[str]:
    """Return the names of the attributes in which a node differs from an empty one."""
    return set(_given(schema))


@lru_cache(maxsize=4096)
def _given(schema: StructuralSchema) -> frozenset[str]:
    return frozenset(
        name
        for name, value, absent in zip(_NAMES, _VALUES(schema), _ABSENT, strict=True)
        if value is not absent and (name == "default" or value != absent)
    )


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
    for test, then in conditions:
        lines.append(f"{'elif' if lines else 'if'} {test}:")
        lines += indented((then,) if type(then) is str else then)
    return lines


def indented(lines: Iterable[str]) -> Lines:
    """Return lines one level deeper."""
    return tuple(f" {line}" for line in lines)
