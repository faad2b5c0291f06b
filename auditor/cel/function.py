"""The record of a function: its overloads with types and code, the cost of a call, and how to write code for it.

Only its library and this record know a function by name. The interpreter, the estimate of costs and the code of the
fast path read from this record everything that differs between functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.cel.cel_types import has_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.cel_types import Kind, Type
    from auditor.cel.emit.bounds import Bound
    from auditor.cel.emit.value import CodeWriter, Extent, Value
    from auditor.cel.estimate.call_costs import Price


Version = tuple[int, int]
"""Major and minor of a Kubernetes release."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a call. Without a rule, the call costs 1.

    Attributes:
        runtime: Takes the arguments (a sequence), the result and the id of the overload that the checker chose (empty
            if several are possible), and returns the cost. Arguments and result can be a `CelError`: a failing call has
            a cost, too; a `CelError` has size 1.
        worst: The server's estimate for a new rule, see `auditor.cel.estimate.call_costs`.
        bound: Takes the values that code was written for, and returns a bound of `runtime`.
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
        write: Writes special code; returns None to call the interpreter's function.
        extent: The size of a result that is not a number, bool or time, by the sizes of the arguments.
        is_remembered: Whether results for texts are cached. They are if the argument is a text.
        is_total: Whether a cached result is never an error.
        makes_width: Whether comparing may change the representation of its result (quantities). Such a result is not
            cached in an expression that calls a function that `shows_width`.
        shows_width: See `makes_width`.
    """

    write: Callable[[CodeWriter, list[Value]], Value | None] | None = None
    extent: Callable[[list[Value]], Extent] | None = None
    is_remembered: bool = False
    is_total: bool = False
    makes_width: bool = False
    shows_width: bool = False


UNIT = Costs()
"""Each call costs 1."""
PLAIN = Code()
"""The code calls the interpreter's function."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    Attributes:
        id: cel-go's name of the overload, e.g. ``quantity_is_less_than``.
        args: Types of the arguments; for a member function, the receiver is the first.
        result: Type of the result.
        call: Takes the arguments by position, returns the value or raises `CelError`. Arguments have the declared
            types: the interpreter picks the overload by the values (elements of lists and maps are looked at as cel-go
            does: the first one only).
        costs: The cost of a call if the checker chose exactly this overload (with dyn, several may be possible).
            Missing rules are those of the function.
        in_order: One or two arguments are all evaluated even if the first fails, and the call has its cost; with three
            or more, the first failure ends the call, which is then free. True means the latter for any number of
            arguments (cel-go: bound with FunctionBinding).
        is_priced_first: Whether the cost is checked before the call.
        is_generic: Whether its types have type parameters.
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
        """Find type parameters."""
        object.__setattr__(self, "is_generic", any(map(has_parameters, (*self.args, self.result))))


@dataclass(frozen=True, slots=True)
class Function:
    """A function name and its overloads.

    Attributes:
        name: As written; with dots for names like ``ip.isCanonical``; starts with ``@`` if only macros call it.
        member: Whether the overloads are called on a receiver (``x.f(y)``); a name may have one Function with receiver
            and one without.
        overloads: In the order of declaration, which is the order in which they are tried.
        singleton: One implementation for all overloads (cel-go: SingletonUnaryBinding and so on): the `call` of the
            first overload gets arguments of any type, if the first argument is of a kind in `operands`.
        operands: See `singleton`; None for any kind.
        guarded: Whether values are compared with the declared types before a call whose overload the checker chose. If
            not, `call` must accept all types (cel-go: DisableTypeGuards).
        regex_argument: Position (receiver is 0) of an argument that is a regular expression: a constant one is compiled
            when the program is prepared, so that a malformed one is an error of compilation.
        costs: The cost of a call with any overload.
        code: How generated code calls it.
        is_folded: Whether a call with a constant argument is computed when the program is prepared.
        since: The first Kubernetes release that has it, if later than the first that has its library.
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
