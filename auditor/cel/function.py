"""What a library hands to an environment: functions, each with overloads that carry types, code and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from auditor.cel.types import Type

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
            where the checker settled on exactly this overload (an argument of type dyn may leave several open). Both may
            hold a `CelError`: a call is paid for whether it succeeds or not; a `CelError` has size 1. None where the
            server's estimator goes by the function's name alone: those costs stand in `cost.py`, for all functions.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]
    cost: Callable[[Sequence[Any], Any], int] | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function name and its overloads.

    Attributes:
        name: As written; with dots for names like ``ip.isCanonical``; starts with ``@`` where only macros call it.
        member: Whether the overloads are called on a receiver (``x.f(y)``); a name may have a Function of each sort.
        overloads: In the order of declaration, which is the order in which they are tried.
    """

    name: str
    member: bool
    overloads: tuple[Overload, ...]
