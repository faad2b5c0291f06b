"""IP addresses, without zones and without IPv4 inside of IPv6.

Source: k8s.io/apiserver pkg/cel/library/ip.go, pkg/cel/ip.go; Go net/netip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, INT, STRING, Type, opaque
from auditor.cel.emit.functions import same_extent
from auditor.cel.function import PLAIN, UNIT, Code, Costs, Function, Overload
from auditor.cel.library.prices import read_text
from auditor.golang.go_text import quote
from auditor.golang.net import Address, GoNetError, parse_addr

if TYPE_CHECKING:
    from collections.abc import Callable


IP = opaque("net.IP")


@dataclass(frozen=True, slots=True)
class IpAddress:
    """An address.

    Attributes:
        address: Without a zone, not a mapped one.
    """

    cel_type: ClassVar[Type] = IP
    go_type: ClassVar[str] = "cel.IP"

    address: Address

    def cel_plain(self) -> CelError:
        """Return the error of servers that read an IP from an optional as a Go value."""
        return CelError(f"unsupported conversion to ref.Val: (netip.Addr){self}")

    def __str__(self) -> str:
        return str(self.address)

    def cel_size(self) -> int:
        """Return the number of bytes of the address, by which costs are counted."""
        return self.address.width // 8


def to_ip(text: str) -> IpAddress:
    """Return the address in a text.

    Raises:
        CelError: It is not an address, or of a kind that Kubernetes does not accept.
    """
    try:
        address = parse_addr(text)
    except GoNetError as error:
        raise CelError(f"IP Address {quote(text)} parse error during conversion from string: {error}") from None
    if address.zone:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if address.is_mapped:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IpAddress(address)


def _is_ip(text: str) -> bool:
    try:
        to_ip(text)
    except CelError:
        return False
    return True


def _free(
    name: str,
    key: str,
    argument: Type,
    result: Type,
    call: Callable[..., object],
    costs: Costs = UNIT,
    code: Code = PLAIN,
) -> Function:
    return Function(name, member=False, overloads=(Overload(key, (argument,), result, call),), costs=costs, code=code)


def _member(name: str, key: str, result: Type, call: Callable[[IpAddress], object]) -> Function:
    return Function(name, member=True, overloads=(Overload(key, (IP,), result, call),))


def functions() -> tuple[Function, ...]:
    """Return the functions of the library; ``string`` adds an overload to a standard function."""
    return (
        _free("ip", "string_to_ip", STRING, IP, to_ip, read_text(), Code(extent=same_extent, is_remembered=True)),
        _free("isIP", "is_ip", STRING, BOOL, _is_ip, read_text(), Code(is_remembered=True, is_total=True)),
        _free(
            "ip.isCanonical",
            "ip_is_canonical",
            STRING,
            BOOL,
            lambda text: str(to_ip(text).address) == text,
            read_text(2),
            Code(is_remembered=True),
        ),
        _free("string", "ip_to_string", IP, STRING, lambda it: str(it.address)),
        _member("family", "ip_family", INT, lambda it: 4 if it.address.width == 32 else 6),
        _member("isUnspecified", "ip_is_unspecified", BOOL, lambda it: it.address.is_unspecified),
        _member("isLoopback", "ip_is_loopback", BOOL, lambda it: it.address.is_loopback),
        _member(
            "isLinkLocalMulticast", "ip_is_link_local_multicast", BOOL, lambda it: it.address.is_link_local_multicast
        ),
        _member("isLinkLocalUnicast", "ip_is_link_local_unicast", BOOL, lambda it: it.address.is_link_local_unicast),
        _member("isGlobalUnicast", "ip_is_global_unicast", BOOL, lambda it: it.address.is_global_unicast),
    )
