"""IP addresses and ranges: those that Kubernetes accepts, and its errors for others. Answers are the server's."""

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.library import cidr, ip
from auditor.cel.library.cidr import to_cidr
from auditor.cel.library.ip import to_ip
from auditor.cel.operations.equality import equal_not_null
from tests.cel.library.calling import outcome

IPS, CIDRS = ip.functions(), cidr.functions()
DOING_IP = "parse error during conversion from string: "
DOING_CIDR = "network address parse error during conversion from string: "


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", f'IP Address "" {DOING_IP}ParseAddr(""): unable to parse IP'),
        ("abc", f'IP Address "abc" {DOING_IP}ParseAddr("abc"): unable to parse IP'),
        ("1.2.3.04", f'IP Address "1.2.3.04" {DOING_IP}ParseAddr("1.2.3.04"): IPv4 field has octet with leading zero'),
        ("300.1.1.1", f'IP Address "300.1.1.1" {DOING_IP}ParseAddr("300.1.1.1"): IPv4 field has value >255'),
        ("é.1", f'IP Address "é.1" {DOING_IP}ParseAddr("é.1"): unexpected character (at "é.1")'),
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ],
)
def test_what_is_no_address_is_refused_in_the_servers_words(text, complaint):
    assert outcome(IPS, "string_to_ip", text) == CelError(complaint)
    assert outcome(IPS, "ip_is_canonical", text) == CelError(complaint)
    assert outcome(IPS, "is_ip", text) is False


@pytest.mark.parametrize(
    ("text", "canonical", "traits"),
    [
        ("0.0.0.0", "0.0.0.0", "unspecified"),
        ("127.0.0.1", "127.0.0.1", "loopback"),
        ("169.254.1.1", "169.254.1.1", "link_local_unicast"),
        ("224.0.0.1", "224.0.0.1", "link_local_multicast"),
        ("224.0.1.1", "224.0.1.1", ""),
        ("10.0.0.1", "10.0.0.1", "global_unicast"),
        ("255.255.255.255", "255.255.255.255", ""),
        ("::", "::", "unspecified"),
        ("0:0::0001", "::1", "loopback"),
        ("fe80::A", "fe80::a", "link_local_unicast"),
        ("ff02::1", "ff02::1", "link_local_multicast"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", "global_unicast"),
        ("::1.2.3.4", "::102:304", "global_unicast"),
    ],
)
def test_addresses_know_what_they_are(text, canonical, traits):
    address = to_ip(text)
    assert outcome(IPS, "ip_to_string", address) == canonical
    assert outcome(IPS, "ip_is_canonical", text) is (text == canonical)
    assert outcome(IPS, "ip_family", address) == (6 if ":" in text else 4)
    kinds = ("unspecified", "loopback", "link_local_multicast", "link_local_unicast", "global_unicast")
    assert [kind for kind in kinds if outcome(IPS, f"ip_is_{kind}", address)] == traits.split()
    assert address.cel_size() == (16 if ":" in text else 4)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("10.0.0.0", DOING_CIDR * 2 + "netip.ParsePrefix(\"10.0.0.0\"): no '/'"),
        ("10.0.0.0/33", DOING_CIDR * 2 + 'netip.ParsePrefix("10.0.0.0/33"): prefix length out of range'),
        ("10.0.0.0/016", DOING_CIDR * 2 + 'netip.ParsePrefix("10.0.0.0/016"): bad bits after slash: "016"'),
        (
            "fe80::1%a/64",
            DOING_CIDR * 2 + 'netip.ParsePrefix("fe80::1%a/64"): IPv6 zones cannot be present in a prefix',
        ),
        ("::ffff:1.2.3.4/120", DOING_CIDR + 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/120" is not allowed'),
    ],
)
def test_what_is_no_range_is_refused_in_the_servers_words(text, complaint):
    assert outcome(CIDRS, "string_to_cidr", text) == CelError(complaint)
    assert outcome(CIDRS, "is_cidr", text) is False
    assert outcome(CIDRS, "cidr_contains_cidr_string", to_cidr("::/0"), text) == CelError(complaint)


def test_parts_of_a_range():
    found = to_cidr("10.1.2.3/16")
    assert outcome(CIDRS, "cidr_to_string", found) == "10.1.2.3/16"
    assert outcome(CIDRS, "cidr_masked", found) == to_cidr("10.1.0.0/16")
    assert outcome(CIDRS, "cidr_ip", found) == to_ip("10.1.2.3")
    assert outcome(CIDRS, "cidr_prefix_length", found) == 16


@pytest.mark.parametrize(
    ("outer", "inner", "contained"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("0.0.0.0/0", "::1", False),
        ("::/0", "fe80::1", True),
        ("10.0.0.9/8", "10.255.255.255", True),
        ("10.0.0.0/8", "x", CelError("no such overload")),
        ("10.0.0.0/8", "::ffff:10.0.0.1", CelError("no such overload")),
    ],
)
def test_a_range_contains_addresses(outer, inner, contained):
    assert outcome(CIDRS, "cidr_contains_ip_string", to_cidr(outer), inner) == contained
    if isinstance(contained, bool):
        assert outcome(CIDRS, "cidr_contains_ip_ip", to_cidr(outer), to_ip(inner)) is contained


@pytest.mark.parametrize(
    ("outer", "inner", "contained"),
    [
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.1.0.0/16", "10.0.0.0/8", False),
        ("10.0.0.0/8", "10.0.0.1/8", True),
        ("10.0.0.0/8", "11.0.0.0/16", False),
        ("::/0", "0.0.0.0/0", False),
    ],
)
def test_a_range_contains_ranges(outer, inner, contained):
    assert outcome(CIDRS, "cidr_contains_cidr_string", to_cidr(outer), inner) is contained
    assert outcome(CIDRS, "cidr_contains_cidr", to_cidr(outer), to_cidr(inner)) is contained


def test_ranges_are_equal_with_all_their_bits():
    assert equal_not_null(to_cidr("10.0.0.0/8"), to_cidr("10.0.0.0/8")) is True
    assert equal_not_null(to_cidr("10.0.0.1/8"), to_cidr("10.0.0.0/8")) is False
    assert equal_not_null(to_cidr("10.0.0.1/8"), "10.0.0.1/8") == CelError("no such overload")
    assert equal_not_null(to_ip("::1"), to_ip("0::1")) is True
    assert equal_not_null(to_ip("::1"), to_cidr("::1/128")) == CelError("no such overload")


@pytest.mark.parametrize(
    ("text", "size"), [("::/0", 0), ("::/1", 1), ("10.0.0.0/8", 1), ("10.0.0.0/9", 2), ("::/128", 16)]
)
def test_size_of_a_range_is_that_of_its_prefix(text, size):
    assert to_cidr(text).cel_size() == size
