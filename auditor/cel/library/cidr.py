"""Address ranges, ``10.0.0.0/8``; the bits beyond the prefix are kept and count in comparisons.

Source: k8s.io/apiserver pkg/cel/library/cidr.go, pkg/cel/cidr.go; Go net/netip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from auditor.cel.errors import CelError
from auditor.cel.function import Function, Overload
from auditor.cel.library.ip import IP, IpAddress, to_ip
from auditor.cel.types import BOOL, INT, STRING, Type, opaque
from auditor.golang.net import GoNetError, Prefix, parse_prefix
from auditor.golang.text import quote

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CIDR", "Cidr", "functions", "to_cidr"]

CIDR = opaque("net.CIDR")


@dataclass(frozen=True, slots=True)
class Cidr:
    """A range.

    Attributes:
        prefix: Not of a mapped address.
    """

    cel_type: ClassVar[Type] = CIDR
    go_type: ClassVar[str] = "cel.CIDR"

    prefix: Prefix

    def __str__(self) -> str:
        return str(self.prefix)

    def cel_size(self) -> int:
        """Bytes that the prefix touches, which is what costs go by."""
        return -(-self.prefix.bits // 8)

    def cel_equal(self, other: object) -> bool | CelError:
        """Return whether CEL's ``==`` with `other` on the right holds; an error if `other` is no range."""
        if not isinstance(other, Cidr):
            return CelError("no such overload")
        return self == other


def to_cidr(text: str) -> Cidr:
    """Return the range that a text is.

    Raises:
        CelError: It is none. The server says twice what it was doing.
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
        raise CelError("no such overload") from None  # the server loses the reason here, not in containsCIDR
    return _contains_ip(cidr, ip)


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    return cidr.prefix.overlaps(other.prefix) and cidr.prefix.bits <= other.prefix.bits


def _member(name: str, *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., object]]) -> Function:
    made = tuple([Overload(key, (CIDR, *more), result, call) for key, more, result, call in overloads])
    return Function(name, member=True, overloads=made)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library; ``string`` adds an overload to a standard function."""
    return (
        Function("cidr", member=False, overloads=(Overload("string_to_cidr", (STRING,), CIDR, to_cidr),)),
        Function("isCIDR", member=False, overloads=(Overload("is_cidr", (STRING,), BOOL, _is_cidr),)),
        Function(
            "string",
            member=False,
            overloads=(Overload("cidr_to_string", (CIDR,), STRING, lambda it: str(it.prefix)),),
        ),
        _member(
            "containsIP",
            ("cidr_contains_ip_string", (STRING,), BOOL, _contains_ip_text),
            ("cidr_contains_ip_ip", (IP,), BOOL, _contains_ip),
        ),
        _member(
            "containsCIDR",
            ("cidr_contains_cidr_string", (STRING,), BOOL, lambda it, text: _contains_cidr(it, to_cidr(text))),
            ("cidr_contains_cidr", (CIDR,), BOOL, _contains_cidr),
        ),
        _member("ip", ("cidr_ip", (), IP, lambda it: IpAddress(it.prefix.address))),
        _member("prefixLength", ("cidr_prefix_length", (), INT, lambda it: it.prefix.bits)),
        _member("masked", ("cidr_masked", (), CIDR, lambda it: Cidr(it.prefix.masked()))),
    )
