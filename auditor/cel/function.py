"""The record of a function: its overloads with types and code, what a call costs, and how code for it is written.

A function is known by name here and in its library alone. The interpreter, the estimate of costs and the code of the
fast path take from this record what differs between functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.cel.types import has_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.emit.bounds import Bound
    from auditor.cel.emit.emitter import Emitter
    from auditor.cel.emit.value import Extent, Value
    from auditor.cel.estimate.prices import Price
    from auditor.cel.types import Kind, Type

__all__ = ["PLAIN", "UNIT", "Code", "Costs", "Function", "Overload", "Version"]

Version = tuple[int, int]
"""Major and minor of a Kubernetes release."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a call. Where a rule is missing, the call costs 1.

    Attributes:
        runtime: Takes the arguments (a sequence), the result and the id of the overload that the checker settled on
            (empty if it left several open), and returns what the server counts. Arguments and result can be a
            `CelError`: a call is paid for whether it succeeds or not; a `CelError` has size 1.
        worst: The server's estimate for a new rule, see `auditor.cel.estimate.prices`.
        bound: Takes the values that code was written for, and returns a bound of all that `runtime` may count.
        is_bounded: Whether the cost depends on the sizes of the arguments alone. If not, no code is written.
    """

    runtime: Callable[[Sequence[Any], Any, str], int] | None = None
    worst: Price | None = None
    bound: Callable[[list[Value]], Bound] | None = None
    is_bounded: bool = True


@dataclass(frozen=True, slots=True)
class Code:
    """How the code of the fast path calls a function.

    Attributes:
        write: Writes code of its own. Returns None if the function of the interpreter is to be called.
        extent: The size of a result that is no number, bool or time, by the sizes of the arguments.
        is_remembered: Whether answers for texts are remembered. They are if the argument is a text.
        is_total: Whether a remembered answer is never an error.
        makes_width: Whether its result has a width that comparing may change (quantities). Such a result is not
            remembered in an expression that calls a function that `shows_width`.
        shows_width: See `makes_width`.
    """

    write: Callable[[Emitter, list[Value]], Value | None] | None = None
    extent: Callable[[list[Value]], Extent] | None = None
    is_remembered: bool = False
    is_total: bool = False
    makes_width: bool = False
    shows_width: bool = False


UNIT = Costs()
"""Each call costs 1."""
PLAIN = Code()
"""Code calls the function of the interpreter."""


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
        costs: What a call costs where the checker settled on exactly this overload (dyn may leave several open).
            Missing rules are those of the function.
        in_order: For one or two arguments all are evaluated even if the first fails (and the call is paid for); for
            three or more the first failure ends it, and the call is free. True: this one does the latter for any number
            of arguments (cel-go: bound with FunctionBinding).
        is_priced_first: Whether a call whose cost passes the limit is not made.
        is_generic: There are type parameters in its types.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]
    costs: Costs = UNIT
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
        costs: What a call costs whatever its overload.
        code: How code calls it.
        is_folded: Whether a call with a constant argument is computed when the program is prepared.
        since: The first Kubernetes release with it, if that is later than the first with its library.
    """

    name: str
    member: bool
    overloads: tuple[Overload, ...]
    singleton: bool = False
    operands: frozenset[Kind] | None = None
    guarded: bool = True
    regex_argument: int | None = None
    costs: Costs = UNIT
    code: Code = PLAIN
    is_folded: bool = False
    since: Version = (1, 0)
