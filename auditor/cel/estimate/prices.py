"""What calls cost at worst: one price a function or overload, asked in the order of the server.

First come overloads whose library brought a price of its own (lists, sets), then the server's prices by the name of the
function, then those of CEL for its own overloads. What has no price costs 1. The costs of arguments are added by the
caller, unless the price says that it took them.

Source: k8s.io/apiserver pkg/cel/library/cost.go; cel-go checker/cost.go (functionCost), ext/{lists,sets}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.estimate.ranges import MAX_COST, NOTHING, ONE, UNKNOWN, Range, fixed
from auditor.cel.syntax.ast import Literal
from auditor.cel.types import BYTES, STRING, Kind

if TYPE_CHECKING:
    from auditor.cel.syntax.ast import Expr
    from auditor.cel.types import Type

__all__ = ["Operand", "Priced", "price_of"]

TEXT: Final = 0.1
"""Cost of a character that is read."""
REGEX: Final = 0.25
"""Cost of a character of a regular expression, for each that is read."""
_LIST_BASE: Final = fixed(10)
_REQUIREMENT: Final = 50.0
"""Cost of one requirement of a selector."""
_AUTHORIZATION: Final = 350_000
"""Cost of asking whether somebody may do something."""
_ADDRESS: Final = Range(4, 16)
"""Bytes of an IP address."""
_FORMAT_REGEX: Final = 128 * REGEX
_LONGEST_FORMAT: Final = 64


@dataclass(frozen=True, slots=True)
class Operand:
    """A receiver or an argument.

    Attributes:
        expr: Its tree.
        type: Its type.
        size: What is known of its size, None where nothing is.
        element: The size of its items as far as the schema tells, of a list; None of everything else.
    """

    expr: Expr
    type: Type
    size: Range | None
    element: Range | None = None

    @property
    def bound(self) -> Range:
        """Its size, anything where nothing is known."""
        return UNKNOWN if self.size is None else self.size

    @property
    def integer(self) -> int | None:
        """The number that it is, where it is a constant one."""
        if isinstance(self.expr, Literal) and type(self.expr.value) is int:
            return self.expr.value
        return None


@dataclass(frozen=True, slots=True)
class Priced:
    """What a call costs without its arguments, and how large its result is where that is known."""

    cost: Range
    size: Range | None = None


Price = Callable[[Operand | None, Sequence[Operand], str], Priced | None]
"""(receiver, arguments, overload) -> the price, None: this one does not apply."""


# -- overloads with prices of their own --------------------------------------------------------------------------------


def _allocated(factor: float, size: Range) -> Priced:
    return Priced(size.scaled(factor) + ONE + _LIST_BASE, size)


def _count(operand: Operand, otherwise: int) -> int:
    number = operand.integer
    return otherwise if number is None else max(number, 0)


def _slice(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None or len(args) != 2:
        return None
    return _allocated(1, fixed(_count(args[1], target.bound.max) - _count(args[0], 0)))


def _flatten(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    return _allocated(float(_count(args[0], MAX_COST)) if args else 1.0, target.bound)


def _numbers(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is not None else _allocated(1, fixed(_count(args[0], MAX_COST)))


def _reverse(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is None else _allocated(1, target.bound)


def _pairwise(size: Range, factor: float = 2.0) -> Priced:
    return _allocated(factor, size * size)


def _distinct(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is None else _pairwise(target.bound)


def _sort(target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    by_keys = overload.endswith("_sortByAssociatedKeys")
    if target is None or len(args) != by_keys:
        return None
    is_text = overload.startswith(("list_string_", "list_bytes_"))
    return _pairwise(args[0].bound if by_keys else target.bound, 2.0 + TEXT if is_text else 2.0)


def _sets(factor: float) -> Price:
    def price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
        if len(args) != 2:
            return None
        return Priced((args[0].bound * args[1].bound).scaled(factor) + ONE)

    return price


_SORTED: Final = (
    *("int", "uint", "double", "bool", "string", "bytes"),
    *("google.protobuf.Duration", "google.protobuf.Timestamp"),
)
_OWN: Final[dict[str, Price]] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _numbers,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    **{f"list_{kind}_{what}": _sort for kind in _SORTED for what in ("sort", "sortByAssociatedKeys")},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}


# -- the server's functions, by name -----------------------------------------------------------------------------------


def _one(_target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced:
    return Priced(ONE)


def _through_list(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    """Price what looks at every item once; of a text, at every character."""
    if target is None:
        return None
    parameters = target.type.parameters
    if parameters:
        cost = ONE
        if parameters[0] in (STRING, BYTES):
            cost = cost + (UNKNOWN if target.element is None else target.element).scaled(TEXT)
        return Priced(target.bound * cost)
    return Priced(target.bound.scaled(TEXT))


def _includes(target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    if target is None or target.type.parameters:
        return _through_list(target, args, overload)
    return Priced(target.bound)


def _read_argument(factor: float, *, keeps_size: bool = False) -> Price:
    def price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
        if not args:
            return None
        return Priced(args[0].bound.scaled(factor), args[0].bound if keeps_size else None)

    return price


def _url(target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    return _read_argument(TEXT, keeps_size=True)(target, args, overload) if len(args) == 1 else None


def _transform(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is None else Priced(target.bound.scaled(TEXT), target.bound)


def _replace(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None or len(args) < 2:
        return None
    text, needle, new = target.bound, args[0].bound, args[1].bound
    most, most_kept = _replacements(text.max, needle.min, grows=new.max > needle.min)
    least, least_kept = _replacements(text.min, needle.max, grows=needle.max > new.min)
    size = Range(least, most) * new + Range(least_kept, most_kept)
    return Priced(text.scaled(2 * TEXT), size)


def _replacements(length: int, needle: int, *, grows: bool) -> tuple[int, int]:
    """Return how often a needle is replaced at the end of a range, and how much of the text stays."""
    if needle == 0:  # goes between all characters
        return min(length + 1, MAX_COST), length
    return (min(ceil(float(length) / float(needle)), MAX_COST), 0) if grows else (0, length)


def _split(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    most = target.bound.max
    if len(args) > 1 and args[1].integer is not None:
        most = args[1].integer & MAX_COST
    return Priced(target.bound.scaled(2 * TEXT), Range(0, most))


def _join(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    count, size = target.bound, NOTHING
    if target.type.parameters:
        size = count * (UNKNOWN if target.element is None else target.element)
    if args:
        size = size + args[0].bound * Range(max(count.min - 1, 0), max(count.max - 1, 0))
    return Priced(size.scaled(TEXT), size)


def _matching(text: Range, pattern: Range) -> Range:
    return (text + ONE).scaled(TEXT) * pattern.scaled(REGEX)


def _find(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None or not args:
        return None
    return Priced(_matching(target.bound, args[0].bound), Range(0, target.bound.max))


def _address(target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    return Priced(ONE) if overload == "cidr_ip" else _read_argument(TEXT)(target, args, overload)


def _contains_address(_target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    if not args:
        return None
    cost = (_ADDRESS + _ADDRESS).scaled(TEXT)
    return Priced(cost + args[0].bound.scaled(TEXT) if overload == "cidr_contains_ip_string" else cost)


def _contains_network(_target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    if not args:
        return None
    cost = (_ADDRESS + _ADDRESS).scaled(TEXT) + _ADDRESS.scaled(TEXT) + ONE
    return Priced(cost + args[0].bound.scaled(TEXT) if overload == "cidr_contains_cidr_string" else cost)


def _validate(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    return Priced(args[0].bound.scaled(TEXT).scaled(_FORMAT_REGEX)) if args else None


def _check(_target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced:
    return Priced(fixed(_AUTHORIZATION))


def _selector(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if len(args) != 1:
        return None
    length = args[0].bound
    return Priced(_LIST_BASE + length.scaled(TEXT) + length.scaled(0.5).scaled(_REQUIREMENT))


_CHEAP_TO_COMPARE: Final = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})


def _equal(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    left, right = args[0].type, args[1].type
    if left != right or left.kind not in (Kind.OPAQUE, Kind.OBJECT):
        return None
    if left.name in _CHEAP_TO_COMPARE:
        return Priced(ONE)
    if left.name == "kubernetes.NamedFormat":
        return Priced(Range(1, _LONGEST_FORMAT).scaled(TEXT))
    if left.name == "kubernetes.URL":
        size = ONE if args[1].size is None else args[1].size
        return Priced(Range(1, size.max).scaled(TEXT))
    return None


def _named(*prices: tuple[str, Price]) -> dict[str, Price]:
    return {name: price for names, price in prices for name in names.split()}


_BY_NAME: Final = _named(
    ("check", _check),
    ("fieldSelector labelSelector", _selector),
    ("isSorted sum max min indexOf lastIndexOf", _through_list),
    ("includes", _includes),
    ("url", _url),
    ("lowerAscii upperAscii substring trim", _transform),
    ("replace", _replace),
    ("split", _split),
    ("join", _join),
    ("find findAll", _find),
    ("cidr isIP isCIDR quantity isQuantity semver isSemver", _read_argument(TEXT)),
    ("ip", _address),
    ("ip.isCanonical", _read_argument(2 * TEXT)),
    ("containsIP", _contains_address),
    ("containsCIDR", _contains_network),
    ("validate", _validate),
    ("_==_", _equal),
    ("masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast", _one),
    ("isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan", _one),
    ("compareTo add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery", _one),
)


# -- CEL's own overloads -----------------------------------------------------------------------------------------------


def _read_receiver(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is None else Priced(target.bound.scaled(TEXT))


def _to_bytes(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if len(args) != 1:
        return None
    size = args[0].bound
    return Priced(size.scaled(TEXT), Range(size.min, (size.max * 4) & MAX_COST))


def _to_text(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if len(args) != 1:
        return None
    size = args[0].bound
    return Priced(size.scaled(TEXT), Range(size.min // 4, size.max))


def _quote(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if len(args) != 1:
        return None
    size = args[0].bound
    return Priced(size.scaled(TEXT), Range((size.min + 2) & MAX_COST, (size.max * 2 + 2) & MAX_COST))


def _membership(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    return Priced(args[1].bound.scaled(1)) if len(args) == 2 else None


def _matches(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    operands = [*([] if target is None else [target]), *args]
    return Priced(_matching(operands[0].bound, operands[1].bound)) if len(operands) == 2 else None


def _contains(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None or len(args) != 1:
        return None
    return Priced(target.bound.scaled(TEXT) * args[0].bound.scaled(TEXT))


def _add(_target: Operand | None, args: Sequence[Operand], overload: str) -> Priced | None:
    if len(args) != 2:
        return None
    size = args[0].bound + args[1].bound
    return Priced(ONE if overload == "add_list" else size.scaled(TEXT), size)


def _compare(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    smaller = min(args[0].bound.max, args[1].bound.max)
    return Priced(Range(1 if smaller else 0, smaller).scaled(TEXT))


_BY_OVERLOAD: Final = _named(
    ("string_format", _read_receiver),
    ("string_to_bytes", _to_bytes),
    ("bytes_to_string", _to_text),
    ("strings_quote", _quote),
    ("starts_with_string ends_with_string", _read_argument(TEXT)),
    ("in_list", _membership),
    ("matches matches_string", _matches),
    ("contains_string", _contains),
    ("add_string add_bytes add_list", _add),
    ("less_string greater_string less_equals_string greater_equals_string equals not_equals", _compare),
    ("less_bytes greater_bytes less_equals_bytes greater_equals_bytes", _compare),
)


def price_of(function: str, overload: str, target: Operand | None, args: Sequence[Operand]) -> Priced:
    """Return what a call costs at worst and at least, without its operands.

    Args:
        function: Its name.
        overload: One of the overloads that it may mean.
        target: The receiver.
        args: The arguments.
    """
    candidates: tuple[Any, ...] = (_OWN.get(overload), _BY_NAME.get(function), _BY_OVERLOAD.get(overload))
    for price in candidates:
        made: Priced | None = None if price is None else price(target, args, overload)
        if made is not None:
            return made
    return Priced(ONE)
