"""Addresses as Go reads them: net/netip, net.ParseIP, and the sloppy readers that Kubernetes has for old objects.

Python's ipaddress accepts zones, netmasks and other forms that Go refuses, and refuses leading zeros that Kubernetes
accepts; so the few rules are implemented here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from auditor.golang.go_text import quote

_BIG = 0xFFFFFF


class GoNetError(ValueError):
    """A text that Go does not accept as an address; the message is Go's: ``ParseAddr("x"): unable to parse IP``."""


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address as netip.Addr holds it.

    Attributes:
        width: 32 for IPv4, 128 for IPv6; an IPv4 address inside of IPv6 is IPv6.
        value: The address as one number.
        zone: The zone of IPv6, without the ``%``; mostly empty.
    """

    width: int
    value: int
    zone: str = ""

    @property
    def is_mapped(self) -> bool:
        """Whether this is IPv6 that holds an IPv4 address, ``::ffff:1.2.3.4``."""
        return self.width == 128 and self.value >> 32 == 0xFFFF

    def unmap(self) -> Address:
        """Return the IPv4 address inside of this one, or this one."""
        return Address(32, self.value & 0xFFFFFFFF) if self.is_mapped else self

    @property
    def is_unspecified(self) -> bool:
        """Whether this is ``0.0.0.0`` or ``::``."""
        return self.value == 0 and not self.zone

    @property
    def is_loopback(self) -> bool:
        """Whether this is in ``127.0.0.0/8`` or is ``::1``."""
        plain = self.unmap()
        return plain.value >> 24 == 127 if plain.width == 32 else plain.value == 1

    @property
    def is_multicast(self) -> bool:
        """Whether this is in ``224.0.0.0/4`` or ``ff00::/8``."""
        plain = self.unmap()
        return plain.value >> 28 == 0xE if plain.width == 32 else plain.value >> 120 == 0xFF

    @property
    def is_link_local_unicast(self) -> bool:
        """Whether this is in ``169.254.0.0/16`` or ``fe80::/10``."""
        plain = self.unmap()
        return plain.value >> 16 == 0xA9FE if plain.width == 32 else plain.value >> 118 == 0xFE80 >> 6

    @property
    def is_link_local_multicast(self) -> bool:
        """Whether this is in ``224.0.0.0/24`` or ``ff02::/16``, with any flags."""
        plain = self.unmap()
        return plain.value >> 8 == 0xE00000 if plain.width == 32 else (plain.value >> 112) & 0xFF0F == 0xFF02

    @property
    def is_global_unicast(self) -> bool:
        """Whether this is a unicast address that is not link-local; private ones count."""
        plain = self.unmap()
        if plain.width == 32 and plain.value in (0, 0xFFFFFFFF):
            return False
        unspecified = plain.width == 128 and plain.is_unspecified
        return not (unspecified or plain.is_loopback or plain.is_multicast or plain.is_link_local_unicast)

    def __str__(self) -> str:
        if self.width == 32:
            return _dotted(self.value)
        zone = f"%{self.zone}" if self.zone else ""
        if self.is_mapped:
            return f"::ffff:{_dotted(self.value & 0xFFFFFFFF)}{zone}"
        return _colons([(self.value >> shift) & 0xFFFF for shift in range(112, -1, -16)]) + zone


def _dotted(value: int) -> str:
    return ".".join([str((value >> shift) & 0xFF) for shift in (24, 16, 8, 0)])


def _colons(groups: list[int]) -> str:
    """Print eight groups; the first of the longest runs of two or more zeros becomes ``::``."""
    start, length = 0, 1
    for first in range(8):
        last = first
        while last < 8 and groups[last] == 0:
            last += 1
        if last - first > length:
            start, length = first, last - first
    if length < 2:
        return ":".join([f"{group:x}" for group in groups])
    before = ":".join([f"{group:x}" for group in groups[:start]])
    after = ":".join([f"{group:x}" for group in groups[start + length :]])
    return f"{before}::{after}"


@dataclass(frozen=True, slots=True)
class Prefix:
    """An address and the number of its leading bits that count, as in netip.Prefix; the other bits may be set."""

    address: Address
    bits: int

    def masked(self) -> Prefix:
        """Return the prefix with all other bits set to 0."""
        rest = self.address.width - self.bits
        return Prefix(Address(self.address.width, self.address.value >> rest << rest), self.bits)

    def contains(self, address: Address) -> bool:
        """Whether an address is in this range; never for one of the other family or with a zone."""
        rest = self.address.width - self.bits
        return (
            address.width == self.address.width
            and not address.zone
            and address.value >> rest == self.address.value >> rest
        )

    def overlaps(self, other: Prefix) -> bool:
        """Whether two ranges share an address."""
        rest = self.address.width - min(self.bits, other.bits)
        same_width = self.address.width == other.address.width
        return same_width and self.address.value >> rest == other.address.value >> rest

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


# -- net/netip ---------------------------------------------------------------------------------------------------------

_DIGITS = re.compile(r"[0-9]+")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]*")
_FIRST_OF = re.compile(r"[.:%]")


def parse_addr(text: str) -> Address:
    """Return the address in a text: no leading zeros, no brackets; zones of IPv6 are preserved.

    Raises:
        GoNetError: ``ParseAddr("abc"): unable to parse IP`` and the like.

    Source: netip.ParseAddr.
    """
    match = _FIRST_OF.search(text)
    if match is None:
        raise _address_error(text, "unable to parse IP")
    if match[0] == "%":
        raise _address_error(text, "missing IPv6 address")
    return Address(32, _ipv4(text, text)) if match[0] == "." else _ipv6(text)


def _address_error(text: str, message: str, at: str = "") -> GoNetError:
    return GoNetError(f"ParseAddr({quote(text)}): {message}" + (f" (at {quote(at)})" if at else ""))


def _ipv4(whole: str, text: str) -> int:
    """Read four numbers in `text`, the end of `whole`."""
    value = number = fields = digits = 0
    for position, character in enumerate(text):
        if "0" <= character <= "9":
            if digits == 1 and number == 0:
                raise _address_error(whole, "IPv4 field has octet with leading zero")
            number = number * 10 + int(character)
            digits += 1
            if number > 255:
                raise _address_error(whole, "IPv4 field has value >255")
        elif character == ".":
            if position == 0 or position == len(text) - 1 or text[position - 1] == ".":
                raise _address_error(whole, "IPv4 field must have at least one digit", text[position:])
            if fields == 3:
                raise _address_error(whole, "IPv4 address too long")
            value = value << 8 | number
            fields += 1
            number = digits = 0
        else:
            raise _address_error(whole, "unexpected character", text[position:])
    if fields < 3:
        raise _address_error(whole, "IPv4 address too short")
    return value << 8 | number


def _ipv6(whole: str) -> Address:
    rest, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _address_error(whole, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis: int | None = None
    if rest.startswith("::"):
        ellipsis = 0
        rest = rest[2:]
        if not rest:
            return Address(128, 0, zone)
    while len(groups) < 8:
        group = _group(whole, rest)
        if rest[len(group) : len(group) + 1] == ".":
            if ellipsis is None and len(groups) != 6:
                message = "embedded IPv4 address must replace the final 2 fields of the address"
                raise _address_error(whole, message, rest)
            if len(groups) > 6:
                message = "too many hex fields to fit an embedded IPv4 at the end of the address"
                raise _address_error(whole, message, rest)
            groups += divmod(_ipv4(whole, rest), 0x10000)
            rest = ""
            break
        groups.append(int(group, 16))
        rest = rest[len(group) :]
        if not rest:
            break
        if rest[0] != ":":
            raise _address_error(whole, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _address_error(whole, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis is not None:
                raise _address_error(whole, "multiple :: in address", rest)
            ellipsis = len(groups)
            rest = rest[1:]
            if not rest:
                break
    if rest:
        raise _address_error(whole, "trailing garbage after address", rest)
    if len(groups) < 8 and ellipsis is None:
        raise _address_error(whole, "address string too short")
    if len(groups) == 8 and ellipsis is not None:
        raise _address_error(whole, "the :: must expand to at least one field of zeros")
    return Address(128, _value(groups, ellipsis), zone)


def _group(whole: str, rest: str) -> str:
    """Return the hexadecimal digits at the start of `rest`, at most four."""
    match = _HEXADECIMAL.match(rest)
    group = match[0] if match else ""
    if not group:
        raise _address_error(whole, "each colon-separated field must have at least one digit", rest)
    # Five digits are too many even if the first are zeros.
    if len(group) > 4:
        raise _address_error(whole, "each group must have 4 or less digits", rest)
    return group


def _value(groups: list[int], ellipsis: int | None) -> int:
    if ellipsis is not None:
        groups = [*groups[:ellipsis], *[0] * (8 - len(groups)), *groups[ellipsis:]]
    value = 0
    for group in groups:
        value = value << 16 | group
    return value


_BITS = re.compile(r"[1-9][0-9]*|[0-9]")


def parse_prefix(text: str) -> Prefix:
    """Return the address and its bits in a text such as ``10.1.2.3/8``; bits beyond the prefix are preserved.

    Raises:
        GoNetError: ``netip.ParsePrefix("x"): no '/'`` and the like.

    Source: netip.ParsePrefix.
    """
    before, slash, after = text.rpartition("/")
    problem = f"netip.ParsePrefix({quote(text)}): "
    if not slash:
        raise GoNetError(problem + "no '/'")
    try:
        address = parse_addr(before)
    except GoNetError as error:
        raise GoNetError(problem + str(error)) from None
    if address.zone:
        raise GoNetError(problem + "IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(after) or len(after) > 19 or int(after) >= 1 << 63:
        raise GoNetError(problem + "bad bits after slash: " + quote(after))
    if int(after) > address.width:
        raise GoNetError(problem + "prefix length out of range")
    return Prefix(address, int(after))


# -- net and the readers that Kubernetes keeps -------------------------------------------------------------------------


def parse_ip(text: str) -> Address | None:
    """Return the address in a text, or None: as `parse_addr`, but no zones.

    Source: net.ParseIP.
    """
    try:
        address = parse_addr(text)
    except GoNetError:
        return None
    return None if address.zone else address


def parse_ip_sloppy(text: str) -> Address | None:
    """Return the address in a text, or None. Leading zeros of IPv4 numbers are ignored.

    Source: k8s.io/utils/net ParseIPSloppy, which is net.ParseIP of Go 1.16.
    """
    for character in text:
        if character == ".":
            return _sloppy_ipv4(text)
        if character == ":":
            return _sloppy_ipv6(text)
    return None


def parse_cidr_sloppy(text: str) -> Prefix | None:
    """Return the address and its bits in a text, or None. Leading zeros are ignored, also in the number of bits.

    Source: k8s.io/utils/net ParseCIDRSloppy, which is net.ParseCIDR of Go 1.16.
    """
    before, slash, after = text.partition("/")
    if not slash:
        return None
    address = _sloppy_ipv4(before) or _sloppy_ipv6(before)
    bits = _sloppy_number(after, _DIGITS, 10)
    if address is None or bits is None or bits[1] != len(after) or bits[0] > address.width:
        return None
    return Prefix(address, bits[0])


def _sloppy_number(text: str, digits: re.Pattern[str], base: int) -> tuple[int, int] | None:
    """Return the number at the start of a text and its length in digits; None if there is none, or too many digits."""
    match = digits.match(text)
    if match is None or not match[0] or len(match[0].lstrip("0")) > len(str(_BIG)):
        return None
    number = int(match[0].lstrip("0") or "0", base)
    return None if number >= _BIG else (number, match.end())


def _sloppy_ipv4(text: str) -> Address | None:
    value = 0
    for position in range(4):
        if position:
            if not text.startswith("."):
                return None
            text = text[1:]
        number = _sloppy_number(text, _DIGITS, 10)
        if number is None or number[0] > 0xFF:
            return None
        value = value << 8 | number[0]
        text = text[number[1] :]
    return None if text else Address(32, value)


def _sloppy_ipv6(text: str) -> Address | None:
    groups: list[int] = []
    ellipsis: int | None = None
    if text.startswith("::"):
        ellipsis = 0
        text = text[2:]
        if not text:
            return Address(128, 0)
    while len(groups) < 8:
        number = _sloppy_number(text, _HEXADECIMAL, 16)
        if number is None or number[0] > 0xFFFF:
            return None
        if text[number[1] : number[1] + 1] == ".":
            embedded = _sloppy_ipv4(text)
            if embedded is None or len(groups) > 6 or (ellipsis is None and len(groups) != 6):
                return None
            groups += divmod(embedded.value, 0x10000)
            text = ""
            break
        groups.append(number[0])
        text = text[number[1] :]
        if not text:
            break
        if text[0] != ":" or len(text) == 1:
            return None
        text = text[1:]
        if text[0] == ":":
            if ellipsis is not None:
                return None
            ellipsis = len(groups)
            text = text[1:]
            if not text:
                break
    # Either all eight groups are there, or the :: stands for at least one.
    if text or (len(groups) == 8) == (ellipsis is not None):
        return None
    return Address(128, _value(groups, ellipsis))


_MAC = re.compile(
    r"[0-9a-fA-F]{2}(?:(:[0-9a-fA-F]{2})+|(-[0-9a-fA-F]{2})+)|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+|(?:[0-9a-fA-F]{2})+"
)


def parse_mac(text: str) -> bytes | None:
    """Return the 6, 8 or 20 bytes of a hardware address, or None: pairs with ``:`` or ``-``, fours with ``.``, or bare.

    Source: net.ParseMAC.
    """
    if not _MAC.fullmatch(text):
        return None
    address = bytes.fromhex(re.sub("[-:.]", "", text))
    return address if len(address) in (6, 8, 20) else None
