"""What the checker found: the types of an expression, and what its names and calls mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auditor.base.quick_init import quick_init
from auditor.cel.cel_types import UNTYPED
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.cel.cel_types import Type
    from auditor.cel.operations.dispatch import Declaration
    from auditor.cel.syntax.ast import ParsedExpression


@quick_init
@dataclass(frozen=True, slots=True)
class Reference:
    """The declaration of a name or call.

    Attributes:
        name: The variable, constant or type; for a call, the function's full name.
        overloads: Ids of the overloads that fit; empty for names.
        is_type: Whether the name denotes a type.
        is_global: Whether a call that is written on a receiver calls a function with a dotted name.
        value: The value of the constant, if the name denotes one.
    """

    name: str
    overloads: tuple[str, ...] = ()
    is_type: bool = False
    is_global: bool = False
    value: int | None = None


@dataclass(slots=True)
class CheckedExpression:
    """A tree with types.

    Attributes:
        parsed: The tree.
        types: Node number to type, without type parameters.
        references: Node number to declaration.
        functions: The functions that it may call, by name.
    """

    parsed: ParsedExpression
    types: dict[int, Type] = field(default_factory=dict)
    references: dict[int, Reference] = field(default_factory=dict)
    functions: Mapping[str, Declaration] = field(default_factory=dict)

    @property
    def is_typed(self) -> bool:
        """Whether each variable that it uses has a type: always, since `changes.PAIRS_OF_DYN`."""
        return changes.PAIRS_OF_DYN.holds or all(kind is not UNTYPED for kind in self.types.values())

    @property
    def type(self) -> Type:
        """The type of the whole expression."""
        return self.types[self.parsed.root.id]

    def uses(self, variable: str) -> bool:
        """Return whether a variable of the environment is used."""
        return any(not each.overloads and each.name == variable for each in self.references.values())
