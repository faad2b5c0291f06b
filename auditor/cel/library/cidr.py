"""Address ranges, ``10.0.0.0/8``; bits beyond the prefix are preserved and compared.

Source: k8s.io/apiserver pkg/cel/library/cidr.go, pkg/cel/cidr.go; Go net/netip.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, INT, STRING, Type, opaque
from auditor.cel.emit.bounds import constant, tenth
from auditor.cel.emit.functions import same_extent
from auditor.cel.estimate.call_costs import ONE, Operand, Priced, Range
from auditor.cel.function import PLAIN, UNIT, Code, Costs, Function, Overload
from auditor.cel.library.ip import IP, IpAddress, to_ip
from auditor.cel.library.prices import read_text, size_bound
from auditor.cel.operations.cost import TEXT, size, text_cost
from auditor.golang.go_text import quote
from auditor.golang.net import GoNetError, Prefix, parse_prefix
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.emit.bounds import Bound
    from auditor.cel.emit.value import Value


CIDR = opaque("net.CIDR")


@dataclass(frozen=True, slots=True)
class Cidr:
    """A range.

    Attributes:
        prefix: The address is not a mapped one.
    """

    cel_type: ClassVar[Type] = CIDR
    go_type: ClassVar[str] = "cel.CIDR"

    prefix: Prefix

    def cel_plain(self) -> CelError:
        """Return the error of servers that read a CIDR from an optional as a Go value."""
        return CelError(f"unsupported conversion to ref.Val: (netip.Prefix){self}")

    def __str__(self) -> str:
        return str(self.prefix)

    def cel_size(self) -> int:
        """Return the number of bytes that the prefix covers, by which costs are counted."""
        return -(-self.prefix.bits // 8)


def to_cidr(text: str) -> Cidr:
    """Return the range in a text.

    Raises:
        CelError: It is not a range. The server's message repeats its prefix.
    """
    doing = "network address parse error during conversion from string: "
    try:
        prefix = parse_prefix(text)
    except GoNetError as error:
        raise CelError(f"{doing}{doing}{error}") from None
    if prefix.address.is_mapped:
        raise CelError(f"{doing}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Cidr(prefix)


def _is_cidr(text: str) -> bool:
    try:
        to_cidr(text)
    except CelError:
        return False
    return True


def _contains_ip(cidr: Cidr, ip: IpAddress) -> bool:
    return cidr.prefix.contains(ip.address)


def _contains_ip_text(cidr: Cidr, text: str) -> bool:
    try:
        ip = to_ip(text)
    except CelError:
        raise CelError("no such overload") from None  # the server drops the reason here, but not in containsCIDR
    return _contains_ip(cidr, ip)


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    return cidr.prefix.overlaps(other.prefix) and cidr.prefix.bits <= other.prefix.bits


_ADDRESS = Range(4, 16)
"""Bytes of an IP address."""


def _containing(further: int, further_worst: Range, by_text: str) -> Costs:
    """Return the cost of testing whether a range contains an address or range.

    Args:
        further: How many more times the range is read at run time.
        further_worst: Cost of these reads in the estimate.
        by_text: The overload that parses a text.
    """

    def runtime(args: Sequence[Any], _result: Any, overload: str) -> int:
        own = size(args[0])
        cost = text_cost(own * 2) + (text_cost(own) + 1) * further
        return cost + text_cost(size(args[1])) if overload == by_text else cost

    def worst(_target: Operand | None, args: Sequence[Operand], overload: str) -> Priced:
        cost = (_ADDRESS + _ADDRESS).scaled(TEXT) + further_worst
        return Priced(cost + args[0].bound.scaled(TEXT) if overload == by_text else cost)

    def bound(values: list[Value]) -> Bound:
        return tenth(size_bound(values[0]), 3 * TEXT) + tenth(size_bound(values[1])) + constant(3)

    return Costs(runtime, worst, bound)


_AT_ONCE = Costs(lambda _args, _result, _overload: 1, lambda _target, _args, _overload: Priced(ONE))
"""Cost of taking the address of a range, which is lower than that of parsing one."""
_CONTAINS_ADDRESS = _containing(0, Range(0, 0), "cidr_contains_ip_string")
_CONTAINS_RANGE = _containing(1, _ADDRESS.scaled(TEXT) + ONE, "cidr_contains_cidr_string")


def _member(
    name: str,
    *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., object]],
    costs: Costs = UNIT,
    code: Code = PLAIN,
) -> Function:
    made = tuple([Overload(key, (CIDR, *more), result, call) for key, more, result, call in overloads])
    return Function(name, member=True, overloads=made, costs=costs, code=code)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library; ``string`` adds an overload to a standard function."""
    return (
        Function(
            "cidr",
            member=False,
            overloads=(Overload("string_to_cidr", (STRING,), CIDR, to_cidr),),
            costs=read_text(),
            code=Code(extent=same_extent, is_remembered=True),
        ),
        Function(
            "isCIDR",
            member=False,
            overloads=(Overload("is_cidr", (STRING,), BOOL, _is_cidr),),
            costs=read_text(),
            code=Code(is_remembered=True, is_total=True),
        ),
        Function(
            "string",
            member=False,
            overloads=(Overload("cidr_to_string", (CIDR,), STRING, lambda it: str(it.prefix)),),
        ),
        _member(
            "containsIP",
            ("cidr_contains_ip_string", (STRING,), BOOL, _contains_ip_text),
            ("cidr_contains_ip_ip", (IP,), BOOL, _contains_ip),
            costs=_CONTAINS_ADDRESS,
        ),
        _member(
            "containsCIDR",
            ("cidr_contains_cidr_string", (STRING,), BOOL, lambda it, text: _contains_cidr(it, to_cidr(text))),
            ("cidr_contains_cidr", (CIDR,), BOOL, _contains_cidr),
            costs=_CONTAINS_RANGE,
        ),
        Function(
            "ip",
            member=True,
            overloads=(Overload("cidr_ip", (CIDR,), IP, lambda it: IpAddress(it.prefix.address), _AT_ONCE),),
        ),
        _member("prefixLength", ("cidr_prefix_length", (), INT, lambda it: it.prefix.bits)),
        _member(
            "masked", ("cidr_masked", (), CIDR, lambda it: Cidr(it.prefix.masked())), code=Code(extent=same_extent)
        ),
        replace(
            _member("isMask", ("cidr_is_mask", (), BOOL, lambda it: it.prefix == it.prefix.masked())),
            since=changes.CIDR_MASK.version,
        ),
    )
