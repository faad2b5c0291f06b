"""Relations of types in the checker: assignability, binding of type parameters, the more general of two types.

Type parameters are bound in a `Bindings`; a failed attempt does not change it. Source: cel-go checker/types.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.types import DYN, Kind, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Bindings", "is_dyn", "is_dyn_or_error", "most_general", "unwrap_optional"]

_NULLABLE = frozenset({Kind.OPAQUE, Kind.OBJECT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP, Kind.WRAPPER, Kind.NULL})
_CONTAINERS = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


def is_dyn(kind: Type) -> bool:
    """Return whether a type is dyn or any."""
    return kind.kind is Kind.DYN or kind.kind is Kind.ANY


def is_dyn_or_error(kind: Type) -> bool:
    """Return whether a type fits everywhere."""
    return kind.kind in (Kind.DYN, Kind.ANY, Kind.ERROR)


def unwrap_optional(kind: Type) -> tuple[Type, bool]:
    """Return the type in an optional and True, or the type itself and False."""
    return (kind.parameters[0], True) if kind.is_optional else (kind, False)


def _equal_or_less_specific(left: Type, right: Type) -> bool:
    if is_dyn(left) or left.kind is Kind.PARAM:
        return True
    if is_dyn(right) or right.kind is Kind.PARAM or left.kind is not right.kind:
        return False
    if left.kind in _CONTAINERS:
        return (
            left.name == right.name
            and len(left.parameters) == len(right.parameters)
            and all(map(_equal_or_less_specific, left.parameters, right.parameters))
        )
    return left.kind is Kind.TYPE or left == right


def most_general(left: Type, right: Type) -> Type:
    """Return the left type unless the right one is more general."""
    return left if _equal_or_less_specific(left, right) else right


def _accepts(target: Type, source: Type) -> bool:
    """Return whether a scalar, wrapper or object type accepts another."""
    if target.kind is Kind.WRAPPER:
        return source.kind is Kind.NULL or target == source or target.parameters[0] == source
    if source.kind is Kind.WRAPPER:
        return target == source.parameters[0]
    return target.kind is source.kind is not Kind.UNTYPED and target.name == source.name


class Bindings:
    """The bindings of the type parameters of one expression."""

    __slots__ = ("_bound",)

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}

    def assignable(self, target: Type, source: Type) -> bool:
        """Return whether one type is assignable to the other; bind parameters if so."""
        return self.assignable_all((target,), (source,))

    def assignable_all(self, targets: Sequence[Type], sources: Sequence[Type]) -> bool:
        """Return whether all types are assignable to their counterparts; bind parameters if so."""
        if len(targets) != len(sources):
            return False
        before = self._bound
        self._bound = dict(before)
        if self._all(targets, sources):
            return True
        self._bound = before
        return False

    def _all(self, targets: Sequence[Type], sources: Sequence[Type]) -> bool:
        return len(targets) == len(sources) and all(map(self._fits, targets, sources))

    def _fits(self, left: Type, right: Type) -> bool:
        if right.kind is Kind.PARAM:
            valid, bound = self._bind(left, right)
            if valid or bound:
                return valid
        if left.kind is Kind.PARAM:
            return self._bind(right, left)[0]
        if is_dyn_or_error(left) or is_dyn_or_error(right):
            return True
        if left.kind is Kind.NULL:
            return right.kind in _NULLABLE
        if right.kind is Kind.NULL:
            return left.kind in _NULLABLE
        if left.kind is Kind.TYPE:
            return right.kind is Kind.TYPE
        if left.kind in _CONTAINERS:
            return left.kind is right.kind and left.name == right.name and self._all(left.parameters, right.parameters)
        return _accepts(right, left)

    def _bind(self, meaning: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether a parameter can be a type, and whether it was bound before."""
        if meaning == parameter:
            return True, True
        bound = self._bound.get(parameter)
        if bound is not None:
            if meaning == bound and meaning.kind is not Kind.UNTYPED:
                return True, True
            if not self._fits(meaning, bound):
                return False, True
            general = most_general(meaning, bound)
            if not self._mentions(parameter, general):
                self._bound[parameter] = general
            return True, True
        if self._mentions(parameter, meaning):
            return False, False
        self._bound[parameter] = meaning
        return True, False

    def _mentions(self, parameter: Type, within: Type) -> bool:
        if parameter == within:
            return True
        if within.kind is Kind.PARAM:
            bound = self._bound.get(within)
            return bound is not None and self._mentions(parameter, bound)
        if within.kind in _CONTAINERS or within.kind is Kind.TYPE:
            return any(self._mentions(parameter, each) for each in within.parameters)
        return False

    def substitute(self, kind: Type, *, free_to_dyn: bool = False) -> Type:
        """Return a type with its parameters replaced by their bindings; unbound ones become dyn if requested."""
        if kind.kind is Kind.PARAM:
            bound = self._bound.get(kind)
            if bound is not None:
                return self.substitute(bound, free_to_dyn=free_to_dyn)
            return DYN if free_to_dyn else kind
        if not kind.parameters or kind.kind is Kind.WRAPPER:
            return kind
        parameters = tuple(self.substitute(each, free_to_dyn=free_to_dyn) for each in kind.parameters)
        return kind if parameters == kind.parameters else Type(kind.kind, kind.name, parameters)
