"""The tree of an expression, as the parser returns it: macros are expanded, every node has a number and a position.

Numbers are unique in one expression. The checker refers to nodes by number, so that the tree itself does not change.
Source: cel-go common/ast.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True, eq=False)
class Literal:
    """A constant: null, bool, int, uint, double, string or bytes."""

    id: int
    value: Any


@dataclass(slots=True, eq=False)
class Ident:
    """A name; a leading dot means that it is looked up only in the environment."""

    id: int
    name: str


@dataclass(slots=True, eq=False)
class Select:
    """``operand.field``, or with `test_only` ``has(operand.field)``."""

    id: int
    operand: Expr
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call:
    """A call of a function or operator; with a target ``target.function(args)``."""

    id: int
    function: str
    target: Expr | None
    args: tuple[Expr, ...]

    @property
    def operands(self) -> tuple[Expr, ...]:
        """Target, if any, and arguments."""
        return self.args if self.target is None else (self.target, *self.args)


@dataclass(slots=True, eq=False)
class ListLiteral:
    """``[a, ?b]``; `optional` holds the positions of elements with a question mark."""

    id: int
    elements: tuple[Expr, ...]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapEntry:
    """``key: value`` or ``?key: value``."""

    id: int
    key: Expr
    value: Expr
    optional: bool


@dataclass(slots=True, eq=False)
class MapLiteral:
    """``{key: value}``."""

    id: int
    entries: tuple[MapEntry, ...]


@dataclass(slots=True, eq=False)
class StructField:
    """``name: value`` of a message."""

    id: int
    name: str
    value: Expr
    optional: bool


@dataclass(slots=True, eq=False)
class StructLiteral:
    """``type.Name{field: value}``."""

    id: int
    type_name: str
    fields: tuple[StructField, ...]


@dataclass(slots=True, eq=False)
class Comprehension:
    """The result of expanding a macro over lists and maps.

    For each item of `range` (bound to `variable`, or key and value to `variable` and `variable2`) while `condition`
    holds: `accumulator` becomes `step`; at the end the value is `result`.
    """

    id: int
    range: Expr
    variable: str
    variable2: str | None
    accumulator: str
    init: Expr
    condition: Expr
    step: Expr
    result: Expr


@dataclass(slots=True, eq=False)
class Unspecified:
    """Placeholder for a part with an error."""

    id: int


Expr = Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension | Unspecified


@dataclass(slots=True)
class ParsedExpression:
    """What the parser returns.

    Attributes:
        text: The source.
        root: The tree.
        offsets: Number of a node to its position in the source, in code points.
    """

    text: str
    root: Expr
    offsets: dict[int, int] = field(default_factory=dict)

    def location(self, node_id: int) -> tuple[int, int]:
        """Return line and column of a node, both from 1; (0, 0) if it has no position."""
        offset = self.offsets.get(node_id)
        return (0, 0) if offset is None else line_and_column(self.text, offset)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column (from 1) of an offset."""
    before = text.rfind("\n", 0, offset)
    return text.count("\n", 0, offset) + 1, offset - before


def children(expr: Expr) -> Iterator[Expr]:
    """Yield the direct parts of an expression, in the order of the text."""
    match expr:
        case Select():
            yield expr.operand
        case Call():
            yield from expr.operands
        case ListLiteral():
            yield from expr.elements
        case MapLiteral():
            for entry in expr.entries:
                yield entry.key
                yield entry.value
        case StructLiteral():
            for part in expr.fields:
                yield part.value
        case Comprehension():
            yield from (expr.range, expr.init, expr.condition, expr.step, expr.result)


def descendants(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its parts, parts first."""
    for child in children(expr):
        yield from descendants(child)
    yield expr
