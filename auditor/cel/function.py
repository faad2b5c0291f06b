"""What a library hands to an environment: functions, each with overloads that carry types, code and cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.cel.types import has_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.types import Kind, Type

__all__ = ["Function", "Overload"]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    Attributes:
        id: cel-go's name of the overload, e.g. ``quantity_is_less_than``.
        args: Types of the arguments; of a member function the receiver comes first.
        result: Type of the result.
        call: Takes the arguments by position, returns the value or raises `CelError`. Arguments have the declared
            types: the interpreter picks the overload by the values (elements of lists and maps are looked at as cel-go
            does: the first one only).
        cost: Takes the arguments (a sequence) and the result and returns what the call costs at run time. Asked only
            where the checker settled on exactly this overload (dyn may leave several open). Both can
            hold a `CelError`: a call is paid for whether it succeeds or not; a `CelError` has size 1. None where the
            server's estimator uses only the function's name: `cost.py` has those costs, for all functions.
        in_order: For one or two arguments all are evaluated even if the first fails (and the call is paid for); for
            three or more the first failure ends it, and the call is free. True: this one does the latter for any number
            of arguments (cel-go: bound with FunctionBinding).
        is_generic: There are type parameters in its types.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]
    cost: Callable[[Sequence[Any], Any], int] | None = None
    in_order: bool = False
    is_priced_first: bool = False
    is_generic: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Look for type parameters."""
        object.__setattr__(self, "is_generic", any(map(has_parameters, (*self.args, self.result))))


@dataclass(frozen=True, slots=True)
class Function:
    """A function name and its overloads.

    Attributes:
        name: As written; with dots for names like ``ip.isCanonical``; starts with ``@`` where only macros call it.
        member: Whether the overloads are called on a receiver (``x.f(y)``); a name may have a Function of each sort.
        overloads: In the order of declaration, which is the order in which they are tried.
        singleton: One implementation for all overloads (cel-go: SingletonUnaryBinding and so on): the `call` of the
            first overload gets the arguments whatever they are, if the first argument is of a kind in `operands`.
        operands: See `singleton`; None takes anything.
        guarded: Whether values are compared with the declared types before a call whose overload the checker has
            settled. False: `call` must cope with anything (cel-go: DisableTypeGuards).
        regex_argument: Position (receiver is 0) of an argument that is a regular expression: a constant one is compiled
            when the program is prepared, so that a malformed one is an error of compilation.
    """

    name: str
    member: bool
    overloads: tuple[Overload, ...]
    singleton: bool = False
    operands: frozenset[Kind] | None = None
    guarded: bool = True
    regex_argument: int | None = None
