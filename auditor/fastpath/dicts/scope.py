"""Shared by the emitters: the program being written (Mode), the position in the code (Scope), helpers about schemas.

Three programs are generated from one schema. They differ in their effect on the object and in their results:

- FUSED reads and proves in one pass. True: it changed the value as the storage read does, and the value is valid.
  False, or any exception: not known; the value may be changed in part and is of no more use.
- PROVE changes nothing. True: the value is valid. False: not known.
- EXACT changes nothing. True: valid, False: invalid, raises Refused: not known. `not` and `oneOf` need it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.schema.structural import ABSENT, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterable


META_KEYS: Final = ("apiVersion", "kind", "metadata")

Lines = tuple[str, ...]
"""Lines of code, indented by one space a level."""

Condition = tuple[str, "str | Lines"]
"""An expression that is true if the value is invalid, and the statement for that case."""


class SchemaNotEmittable(Exception):
    """No generated code supports something in the schema; the reference reads such objects."""


class Mode(Enum):
    """The program being written, with its statements for two results.

    Attributes:
        bad: The value breaks its schema.
        doubt: Whether the value breaks its schema is not known here.
    """

    FUSED = auto()
    PROVE = auto()
    EXACT = auto()

    @property
    def bad(self) -> str:
        """Statement for a violation."""
        return "return False"

    @property
    def doubt(self) -> str:
        """Statement for a possible violation."""
        return "raise Refused" if self is Mode.EXACT else "return False"


@dataclass(frozen=True, slots=True)
class CodeScope:
    """The position of the code that is being written.

    Attributes:
        keep: Unknown keys of this value itself are preserved (an item of a list that preserves unknown fields).
        frozen: Nothing is pruned at or below this value.
        template: The path from the value of the function, as a format string.
        kinds: For its holes: ``d`` for an index or key, ``i`` for a list and its item.
        holes: The variables for the holes.
        root: Whether the function is that of the root, which has no site above.
        loops: Number of enclosing loops.
        level: Depth of the value below the value of the function. Variables are named by it, so that siblings share
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
        """Return the name of a variable about the current value."""
        return f"{letter}{self.level}"

    @property
    def fused(self) -> bool:
        """Whether the program also reads the object."""
        return self.mode is Mode.FUSED

    def property(self, name: str, *, frozen: bool = False) -> CodeScope:
        """Return the scope of a property's value."""
        step = "." + name.replace("%", "%%")
        return CodeScope(
            self.mode,
            frozen=frozen or self.frozen,
            template=self.template + step,
            kinds=self.kinds,
            holes=self.holes,
            root=self.root,
            loops=self.loops,
            level=self.level + 1,
        )

    def key(self) -> CodeScope:
        """Return the scope of a map value, in a loop over keys (variable ``k``) and values (``v``)."""
        return self._in_loop(".%s", "d", "k", keep=False)

    def item(self, items: str, *, keep: bool) -> CodeScope:
        """Return the scope of a list item, in a loop over items (variable ``v``)."""
        return self._in_loop("[%d]", "i", "v", items, keep=keep)

    def numbered(self, *, keep: bool) -> CodeScope:
        """Return the scope of a list item, in a loop over indexes (variable ``i``) and items (``v``)."""
        return self._in_loop("[%d]", "d", "i", keep=keep)

    def inside(self) -> CodeScope:
        """Return the scope of the same value in a separate function."""
        return CodeScope(self.mode, self.keep, self.frozen)

    def _in_loop(self, step: str, kind: str, letter: str, *holes: str, keep: bool) -> CodeScope:
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
    """Return the types by which the validator checks."""
    if schema.int_or_string:
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def has_default(schema: StructuralSchema) -> bool:
    """Return whether a node has a default that counts."""
    return schema.default is not ABSENT and schema.default is not None


def chain(conditions: list[Condition]) -> list[str]:
    """Return lines that run the statement of the first true condition."""
    lines: list[str] = []
    for test, then in conditions:
        lines.append(f"{'elif' if lines else 'if'} {test}:")
        lines += indented((then,) if type(then) is str else then)
    return lines


def indented(lines: Iterable[str]) -> Lines:
    """Return lines one level deeper."""
    return tuple(f" {line}" for line in lines)


@dataclass(slots=True)
class Decoded:
    """The form to which a node of a schema is decoded.

    Attributes:
        schema: The node.
        kind: ``record``, ``map``, ``list``, ``scalar``; ``plain``: for orjson and the functions of `emit`.
        annotation: The msgspec annotation, without null.
        fields: For a record: property to attribute and its form.
        drops: For a record: properties that the read drops if they are null, or fills with their default.
        below: The form of list items or map values.
        has_checks: Whether something remains that decoding does not prove.
        has_sites: Whether something may be defaulted or pruned, here or below.
    """

    schema: StructuralSchema
    kind: str
    annotation: Any
    fields: dict[str, tuple[str, Decoded]] = field(default_factory=dict)
    drops: set[str] = field(default_factory=set)
    below: Decoded | None = None
    has_checks: bool = False
    has_sites: bool = False

    def absent(self, name: str) -> str:
        """Return the constant that the attribute of an optional property has if the property is absent."""
        return "None" if name in self.drops and self.fields[name][1].kind != "plain" else "_U"

    def missing(self, name: str) -> tuple[str, ...]:
        """Return the value that the attribute of a property has if it is absent or null, after defaulting."""
        child = self.fields[name][1]
        values = ["None"] if child.schema.nullable else []
        if not has_default(child.schema) and name not in self.schema.required:
            values.append(self.absent(name))
        return tuple(values)
