"""string.format: clauses, the types that they accept, how numbers print for en-US. Answers are the server's."""

import math

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import Duration, MapValue, Optional_, Timestamp, TypeValue, UInt
from auditor.cel.library.formatting import clause_at, format_string
from auditor.cel.library.ip import to_ip
from auditor.cel.library.quantity import parse_quantity

STRING_ONLY = (
    "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps, was given "
)
INVALID_BYTES = (
    'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string'
)
PRECISION = "could not parse formatting clause: error while parsing precision: "


def printed(template, *values):
    try:
        return format_string(template, list(values))
    except CelError as error:
        return [error.text]


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("%s", "h\n", "h\n"),
        ("%s", 5, "5"),
        ("%s", UInt(5), "5"),
        ("%s", 1.5, "1.5"),
        ("%s", 1e21, "1e+21"),
        ("%s", math.inf, "+Inf"),
        ("%s", math.nan, "NaN"),
        ("%s", True, "true"),
        ("%s", None, "null"),
        ("%s", b"ab", "ab"),
        ("%s", Duration(60 * 10**9), "60s"),
        ("%s", Timestamp(0), "1970-01-01T00:00:00Z"),
        ("%s", TypeValue("int"), "int"),
        ("%.3s", "abcdef", "abcdef"),
        ("%s", [], "[]"),
        ("%s", ["a\x00é", 1, 2.5, True, None, [UInt(1)]], '["a\\x00é", 1, 2.500000, true, null, [1]]'),
        ("%s", [math.inf, -math.inf, math.nan], '["+Inf", "-Inf", "NaN"]'),
        ("%s", [b"a\n"], '[b"a\\n"]'),
        ("%s", [Duration(0), Timestamp(0)], '[duration("0s"), timestamp("1970-01-01T00:00:00Z")]'),
        ("%s", [TypeValue("int")], "[int]"),
        ("%s", {}, "{}"),
        ("%s", {"b": 1, "a": [1.0], "é": {"x": None}}, '{"a":[1.000000], "b":1, "é":{"x":null}}'),
        ("%s", MapValue.of([(10, 1), (9, 2), (True, 3)]), "{10:1, 9:2, true:3}"),
        ("%d", -(2**63), "-9223372036854775808"),
        ("%d", UInt(2**64 - 1), "18446744073709551615"),
        ("%b", -5, "-101"),
        ("%b", True, "1"),
        ("%b", False, "0"),
        ("%o", -8, "-10"),
        ("%x", -255, "-ff"),
        ("%X", 255, "FF"),
        ("%X", "hé<", "68C3A93C"),
        ("%x", b"\xff\x00", "ff00"),
        ("%%", "left over", "%"),
        ("100%% %s", "a", "100% a"),
    ],
)
def test_clauses_print_values(template, value, text):
    assert printed(template, value) == text


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("%f", 1234567.891, "1,234,567.891000"),
        ("%.2f", -1234.565, "-1,234.57"),
        ("%.0f", 0.5, "0"),
        ("%.0f", 2.5, "2"),
        ("%.0f", -0.4, "-0"),
        ("%f", -1e-8, "-0.000000"),
        ("%f", -0.0, "0.000000"),
        ("%.1f", 999999.96, "1,000,000.0"),
        ("%.20f", 0.1, "0.10000000000000000555"),
        ("%f", 1e21, "1,000,000,000,000,000,000,000.000000"),
        ("%f", math.inf, "∞"),
        ("%f", -math.inf, "-∞"),
        ("%f", math.nan, "NaN"),
        ("%f", "NaN", "NaN"),
        ("%f", "Infinity", "∞"),
        ("%.1f", "-Infinity", "-∞"),
        # The least number of decimals is kept in 8 bits, the most in 16, a very large number not at all.
        ("%.300f", 0.1, "0.1000000000000000055511151231257827021181583404541015625"),
        ("%.256f", 1.0, "1"),
        ("%.65536f", 2.5, "2"),
        ("%.65542f", 2.5, "2.500000"),
        ("%.33000f", 0.1, "0.1" + "0" * 231),
        ("%.10000005f", 1.5, "1.5" + "0" * 132),
        ("%.10000010f", 1.5, "%!(NOVERB)"),
        ("%.99999999f|", 1.5, "%!(NOVERB)|"),
        ("%e", 1234.5, "1.234500×10⁰³"),
        ("%e", -0.000123, "-1.230000×10⁻⁰⁴"),
        ("%e", 0.0, "0.000000×10⁰⁰"),
        ("%e", -0.0, "0.000000×10⁰⁰"),
        ("%e", 5e-324, "4.940656×10⁻³²⁴"),
        ("%e", 9.9999999e99, "1.000000×10¹⁰⁰"),
        # With %e the number is the width of the field, and there are always six decimals.
        ("%e", math.inf, "     ∞"),
        ("%e", "-Infinity", "    -∞"),
        ("%.2e", math.nan, "NaN"),
        ("%.0e", 1.0, "1.000000×10⁰⁰"),
        ("%.15e", -1.0, " -1.000000×10⁰⁰"),
        ("%.65560e|", 2.5, "           2.500000×10⁰⁰|"),
        ("%.20000000e", 2.5, "%!(NOVERB)"),
    ],
)
def test_doubles_print_as_in_american_english(template, value, text):
    assert printed(template, value) == text


@pytest.mark.parametrize(
    ("template", "values", "complaint"),
    [
        ("%s", (), "index 0 out of range"),
        ("%s%s", (1,), "index 1 out of range"),
        ("%", (), "index 0 out of range"),
        ("%", (1,), "unexpected end of string"),
        ("%q", (1,), 'could not parse formatting clause: unrecognized formatting clause "q"'),
        ("%é", (1,), 'could not parse formatting clause: unrecognized formatting clause "Ã"'),
        ("%5d", (1,), 'could not parse formatting clause: unrecognized formatting clause "5"'),
        ("%.3%", (1,), 'could not parse formatting clause: unrecognized formatting clause "%"'),
        (
            "%.5",
            (1,),
            PRECISION + "could not find end of precision specifier",
        ),
        (
            "%.d",
            (1,),
            PRECISION + 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
        ),
        (
            "%.99999999999999999999f",
            (1.0,),
            PRECISION
            + 'error while converting precision to integer: strconv.Atoi: parsing "99999999999999999999": '
            + "value out of range",
        ),
        ("%d", ("x",), "error during formatting: decimal clause can only be used on integers, was given string"),
        ("%d", (None,), "error during formatting: decimal clause can only be used on integers, was given null_type"),
        ("%d", (1.0,), "error during formatting: decimal clause can only be used on integers, was given double"),
        ("%f", (1,), "error during formatting: fixed-point clause can only be used on doubles, was given int"),
        ("%f", ("1",), "error during formatting: fixed-point clause can only be used on doubles, was given string"),
        ("%e", ("1",), "error during formatting: scientific clause can only be used on doubles, was given string"),
        ("%b", (1.5,), "error during formatting: only integers and bools can be formatted as binary, was given double"),
        ("%o", ("a",), "error during formatting: octal clause can only be used on integers, was given string"),
        (
            "%x",
            (True,),
            "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given bool",
        ),
        (
            "%s",
            (b"\xff",),
            INVALID_BYTES,
        ),
        (
            "%s",
            (MapValue.of([(1.5, 1)]),),
            "error during formatting: no formatting function for map key of type double",
        ),
        ("%s", ([parse_quantity("1")],), "error during formatting: no formatting function for kubernetes.Quantity"),
        ("%s", (parse_quantity("1"),), STRING_ONLY + "kubernetes.Quantity"),
        ("%s", (to_ip("::1"),), STRING_ONLY + "net.IP"),
        ("%s", (Optional_.of(1),), STRING_ONLY + "optional_type"),
        ("%s", ([CelError("no such key: x")],), "error during formatting: no such key: x"),
    ],
)
def test_what_cannot_be_printed_is_an_error_in_the_servers_words(template, values, complaint):
    assert printed(template, *values) == [complaint]


def test_a_clause_is_read_without_its_argument():
    assert clause_at("a%.03fb", 2) == ("f", 3, 6)
    assert clause_at("%s", 1) == ("s", None, 2)
