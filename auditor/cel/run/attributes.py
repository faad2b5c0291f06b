"""Reads from variables and values: a variable (or any value) and a chain of fields, keys and indices.

The chain is one step for the interpreter, as in cel-go. If it contains an optional, a missing value anywhere makes the
whole chain empty; every link that is read costs 1. Errors are raised inside a chain and become values at its end.
Source: cel-go interpreter/attributes.go, activation.go, frame.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import MISSING, NONE, CelList, CelMap, Message, Optional_, TypeValue, UInt
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, find, type_of
from auditor.cel.operations.go_names import go_type, show
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from auditor.cel.operations.cost import Tracker


class Variables:
    """The variables passed to the evaluation."""

    __slots__ = ("tracker", "variables")

    def __init__(self, variables: Mapping[str, Any], tracker: Tracker) -> None:
        self.variables = variables
        self.tracker = tracker

    def lookup(self, name: str) -> Any:
        """Return the value of a name, or `MISSING`."""
        return self.variables.get(name.removeprefix("."), MISSING)


class ExpressionNode(Protocol):
    """A part of an expression that can run."""

    def run(self, scope: Variables) -> Any:
        """Return the value, which may be a `CelError`."""


class FoldScope(Variables):
    """The variables of one comprehension: items and accumulator, which is computed at its first use."""

    __slots__ = ("_accumulated", "_initial", "_is_set", "accumulator", "items", "parent")

    def __init__(self, parent: Variables, accumulator: str, initial: ExpressionNode) -> None:
        super().__init__({}, parent.tracker)
        self.parent = parent
        self.accumulator = accumulator
        self.items: dict[str, Any] = {}
        self._initial = initial
        self._accumulated: Any = None
        self._is_set = False

    def lookup(self, name: str) -> Any:
        """Return the value of a name, or `MISSING`."""
        scope: Variables = self
        while type(scope) is FoldScope:
            if name == scope.accumulator:
                return scope.accumulated()
            if name in scope.items:
                return scope.items[name]
            scope = scope.parent
        return scope.lookup(name)

    def accumulated(self) -> Any:
        """Return the value of the accumulator."""
        if not self._is_set:
            self._is_set = True
            value = self._initial.run(self.parent)
            # Later steps add to an empty list in place; it may be a constant with other users.
            self._accumulated = [] if type(value) is list and not value else value
        return self._accumulated

    def accumulate(self, value: Any) -> None:
        """Set the accumulator to the value of a step."""
        self._is_set = True
        self._accumulated = value


_KEYS = frozenset({str, int, UInt, bool, float})


class Attribute(Protocol):
    """A value to which links are added while a program is prepared."""

    def add(self, link: Link) -> None:
        """Append a link."""

    def resolve(self, scope: Variables) -> Any:
        """Return the value.

        Raises:
            CelError: It cannot be read.
        """


@dataclass(slots=True, eq=False)
class Link:
    """One field, key or index of a chain.

    Attributes:
        key: The constant key, if `attribute` is None.
        attribute: The attribute that the key is read from.
        is_optional: ``.?`` or ``[?]``.
        test_only: Only the existence of the value counts: ``has(a.b)``.
    """

    key: Any
    attribute: Attribute | None = None
    is_optional: bool = False
    test_only: bool = False

    def _key(self, scope: Variables) -> Any:
        if self.attribute is None:
            return self.key
        key = self.attribute.resolve(scope)
        if type(key) not in _KEYS:
            # For the server, a list item that cannot be read is a value, and not a valid key.
            kind = "*types.Err" if isinstance(key, CelError) else go_type(key)
            raise CelError(f"invalid qualifier type: {kind}")
        return key

    def read(self, scope: Variables, value: Any) -> Any:
        """Return the part of a value; it costs 1 even if it fails."""
        failure: CelError | None = None
        result: Any = None
        try:
            result, present = _read(value, self._key(scope), only_if_present=self.test_only)
            if self.test_only:
                result = present
        except CelError as error:
            failure = error
        scope.tracker.charge(1)
        if failure is not None:
            raise failure
        return result

    def read_if_present(self, scope: Variables, value: Any) -> tuple[Any, bool]:
        """Return the part of a value and True, or None and False; it costs 1 if it exists or is only tested."""
        result, present = _read(value, self._key(scope), only_if_present=True)
        if self.test_only:
            scope.tracker.charge(1)
            return None, present
        if present:
            scope.tracker.charge(1)
        return result, present


def _read(value: Any, key: Any, *, only_if_present: bool) -> tuple[Any, bool]:
    kind = type(value)
    if kind is dict or isinstance(value, CelMap):
        member = find(value, key)
        if isinstance(member, CelError) and kind is not dict:
            raise member
        if member is not MISSING:
            return member, True
    elif kind is list or isinstance(value, CelList):
        index = _index(key)
        if 0 <= index < (len(value) if kind is list else value.cel_size()):
            return (value[index] if kind is list else value.cel_get(key)), True
        if not only_if_present:
            raise CelError(f"index out of bounds: {show(key)}")
    elif isinstance(value, CelError):
        raise value
    elif kind is Message:
        raise CelError(f"no such field '{show(key)}'")
    if only_if_present:
        return None, False
    raise CelError(f"no such key: {show(key)}")


def _index(key: Any) -> int:
    kind = type(key)
    if kind is int:
        return int(key)
    if kind is float and key.is_integer() and -(2.0**63) < key < 2.0**63:
        return int(key)
    if kind is UInt and key < 2**63:
        return int(key)
    if kind in (float, UInt):
        raise CelError(f"unsupported index value {show(key)} in list")
    raise CelError(f"unsupported index type '{type_of(key).name}' in list")


def _kept(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """Return a value as servers before `changes.OPTIONALS_KEEP_SCHEMA` read it from an optional."""
    kind = type(value)
    if kind is Optional_:
        return _plain(value.value) if value.has else None
    if kind is TypeValue:
        return value.name
    plain = getattr(value, "cel_plain", None)
    return value if plain is None else plain()


def _follow(scope: Variables, value: Any, links: list[Link], taken_out: Callable[[Any], Any]) -> Any:
    is_optional = False
    if type(value) is Optional_:
        if not value.has:
            return value
        value = taken_out(value.value)
        is_optional = True
    for link in links:
        is_optional = is_optional or link.is_optional
        if is_optional:
            value, present = link.read_if_present(scope, value)
            if not present:
                return NONE
        else:
            value = link.read(scope, value)
    return Optional_.of(value) if is_optional else value


class VariableAttribute:
    """A chain from a variable."""

    __slots__ = ("links", "name", "taken_out")

    def __init__(self, name: str) -> None:
        self.name = name
        self.taken_out = _kept if changes.OPTIONALS_KEEP_SCHEMA.holds else _plain
        self.links: list[Link] = []

    def add(self, link: Link) -> None:
        """Append a link."""
        self.links.append(link)

    def resolve(self, scope: Variables) -> Any:
        """Return the value at the end of the chain."""
        value = scope.lookup(self.name)
        if isinstance(value, CelError):
            raise value
        if value is MISSING:
            raise CelError(f"no such attribute(s): {self.name.removeprefix('.')}")
        if not self.links and type(value) is not Optional_:
            return value
        return _follow(scope, value, self.links, self.taken_out)


class RelativeAttribute:
    """A chain from the value of an expression."""

    __slots__ = ("links", "operand", "taken_out")

    def __init__(self, operand: ExpressionNode) -> None:
        self.operand = operand
        self.taken_out = _kept if changes.OPTIONALS_KEEP_SCHEMA.holds else _plain
        self.links: list[Link] = []

    def add(self, link: Link) -> None:
        """Append a link."""
        self.links.append(link)

    def resolve(self, scope: Variables) -> Any:
        """Return the value at the end of the chain."""
        value = self.operand.run(scope)
        if isinstance(value, CelError):
            raise value
        return _follow(scope, value, self.links, self.taken_out)


class ConditionalAttribute:
    """One of two chains, chosen by a condition; links are added to both."""

    __slots__ = ("condition", "no", "yes")

    def __init__(self, condition: ExpressionNode, yes: Attribute, no: Attribute) -> None:
        self.condition = condition
        self.yes = yes
        self.no = no

    def add(self, link: Link) -> None:
        """Append a link to both branches."""
        self.yes.add(link)
        self.no.add(link)

    def resolve(self, scope: Variables) -> Any:
        """Return the value of the branch that the condition chooses."""
        value = self.condition.run(scope)
        if value is True:
            return self.yes.resolve(scope)
        if value is False:
            return self.no.resolve(scope)
        if isinstance(value, CelError):
            raise value
        raise CelError(NO_SUCH_OVERLOAD)
