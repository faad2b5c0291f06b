"""Quantities: valid texts, integers, sums and comparisons. Answers are the server's."""

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.library.quantity import Quantity, QuantityError, functions, parse_quantity
from tests.cel.library.calling import outcome

FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"
NUMBER = "unable to parse numeric part of quantity"
NO_INTEGER = CelError("cannot convert value to integer")
LIBRARY = functions()


def ask(overload_id, text, *more):
    return outcome(LIBRARY, overload_id, parse_quantity(text), *more)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", FORM),
        ("abc", FORM),
        ("1.5 Gi", FORM),
        (" 1", FORM),
        ("1 ", FORM),
        ("1Zi", FORM),
        ("1e1.5", FORM),
        ("1.2.3", FORM),
        ("١", FORM),
        ("e", SUFFIX),
        ("1e", SUFFIX),
        ("1K", SUFFIX),
        ("1i", SUFFIX),
        ("1mi", SUFFIX),
        ("1EE5", SUFFIX),
        ("5-3", SUFFIX),
        ("5-", SUFFIX),
        ("--5", SUFFIX),
        ("1T5", SUFFIX),
        ("1E-", SUFFIX),
        ("1e99999999999999999999", SUFFIX),
        ("e-20", NUMBER),
        (".e-20", NUMBER),
    ],
)
def test_what_is_no_quantity_is_refused_in_the_servers_words(text, complaint):
    with pytest.raises(QuantityError) as refused:
        parse_quantity(text)
    assert str(refused.value) == complaint
    assert outcome(LIBRARY, "string_to_quantity", text) == CelError(complaint)
    assert outcome(LIBRARY, "is_quantity_string", text) is False


@pytest.mark.parametrize(
    ("text", "integer", "number"),
    [
        ("-", 0, 0.0),
        ("+", 0, 0.0),
        (".", 0, 0.0),
        ("Mi", 0, 0.0),
        ("E", 0, 0.0),
        ("00", 0, 0.0),
        ("-0", 0, 0.0),
        ("1.", 1, 1.0),
        ("+.5", NO_INTEGER, 0.5),
        ("1E", 10**18, 1e18),
        ("1k", 1000, 1000.0),
        ("1E3", 1000, 1000.0),
        ("1e+3", 1000, 1000.0),
        ("1e4294967297", 10, 10.0),
        ("1P", 10**15, 1e15),
        ("1Ki", 1024, 1024.0),
        ("999999999999999999", 10**18 - 1, 1e18),
        # Nineteen digits, a fraction, or a big binary suffix: no integer, whatever the value.
        ("1000000000000000000", NO_INTEGER, 1.0000000000000001e18),
        ("9223372036854775807", NO_INTEGER, 2.0**63),
        ("1.0", NO_INTEGER, 1.0),
        ("1000m", NO_INTEGER, 1.0),
        ("0.5Ki", NO_INTEGER, 512.0),
        ("7Ei", NO_INTEGER, 7 * 2.0**60),
        # Binary ones end at 2^63-1, decimal ones do not.
        ("9Ei", NO_INTEGER, 2.0**63),
        ("-9Ei", NO_INTEGER, -(2.0**63)),
        ("10000000000000000000", NO_INTEGER, 1e19),
        ("1e30", NO_INTEGER, 1e30),
        ("1e400", NO_INTEGER, float("inf")),
        # What is cut after nine decimals rounds away from zero.
        ("0.1n", NO_INTEGER, 1e-9),
        ("-0.00000000001", NO_INTEGER, -1e-9),
        ("1.e-20", NO_INTEGER, 1e-9),
        ("100n", NO_INTEGER, 1.0000000000000001e-07),
        ("-1e-400", NO_INTEGER, -1e-9),
    ],
)
def test_integer_and_float_of_a_quantity(text, integer, number):
    assert ask("quantity_get_int", text) == integer
    assert ask("quantity_is_integer", text) is (integer is not NO_INTEGER)
    assert ask("quantity_get_float", text) == number
    assert outcome(LIBRARY, "is_quantity_string", text) is True


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("500m", "0.5", 0),
        ("1Ki", "1024", 0),
        ("1Gi", "1G", 1),
        ("-1", "1n", -1),
        ("0", "-0.0", 0),
        ("1e2000000000", "1", 1),
        ("-1e2000000000", "1e2000000000", -1),
        ("16e400", "661606931376223915M", 1),
        ("017754865e-10", "1Gi", -1),
        ("9Ei", "9223372036854775807", 0),
        ("9" * 5000, "9" * 5000, 0),
        ("9" * 5000, "1" + "0" * 5000, -1),
    ],
)
def test_quantities_compare_by_value(left, right, order):
    one, other = parse_quantity(left), parse_quantity(right)
    assert outcome(LIBRARY, "quantity_compare_to", one, other) == order
    assert outcome(LIBRARY, "quantity_is_less_than", one, other) is (order < 0)
    assert outcome(LIBRARY, "quantity_is_greater_than", one, other) is (order > 0)
    assert one.cel_equal(other) is (order == 0)
    assert (one == other) is (order == 0)
    assert order or hash(one) == hash(other)


def test_comparing_with_a_wide_quantity_makes_an_integer_wide():
    one = parse_quantity("1")
    assert one.as_integer() == 1
    assert one.cel_equal(parse_quantity("7Ei")) is False
    assert one.as_integer() == 1
    one.compare(parse_quantity("7Ei"))
    assert one.as_integer() is None


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("50k", "20k", 70000, 30000),
        ("0", "5", 5, -5),
        ("5", "0", 5, 5),
        ("1k", "1", 1001, 999),
        ("1.5", "0.5", NO_INTEGER, NO_INTEGER),
        ("9E", "1E", NO_INTEGER, 8 * 10**18),
        ("1e400", "1", NO_INTEGER, NO_INTEGER),
    ],
)
def test_sums_stay_integers_while_64_bits_hold_them(left, right, total, difference):
    other = parse_quantity(right)
    plus, minus = ask("quantity_add", left, other), ask("quantity_sub", left, other)
    assert outcome(LIBRARY, "quantity_get_int", plus) == total
    assert outcome(LIBRARY, "quantity_get_int", minus) == difference
    assert plus.compare(parse_quantity(left)) == other.sign
    assert minus.compare(parse_quantity(left)) == -other.sign


def test_integers_add_to_quantities():
    assert ask("quantity_add_int", "50k", 20).as_integer() == 50020
    assert ask("quantity_sub_int", "50k", 20000).as_integer() == 30000
    assert ask("quantity_sub_int", "0", -(2**63)).as_integer() == -(2**63)
    assert ask("quantity_add_int", "1", 2**63 - 1).as_integer() is None
    assert ask("quantity_add_int", "1", 2**63 - 1) == Quantity(2**63, 0)


def test_a_sum_may_be_on_the_left_of_equals_but_not_on_the_right():
    total = ask("quantity_add_int", "1", 1)
    assert total.cel_equal(parse_quantity("2")) is True
    assert parse_quantity("2").cel_equal(total) == CelError("no such overload")
    assert parse_quantity("2").cel_equal(2) == CelError("no such overload")
    assert parse_quantity("2") != 2


@pytest.mark.parametrize(("text", "sign"), [("-1n", -1), ("0", 0), ("-0.0", 0), ("1e99", 1)])
def test_sign_is_a_free_function(text, sign):
    assert ask("quantity_sign", text) == sign
    assert [function.member for function in LIBRARY if function.name == "sign"] == [False]


def test_numbers_too_far_apart_to_add_are_an_error_and_no_hang():
    with pytest.raises(CelError):
        parse_quantity("1e2000000000").plus(parse_quantity("1"))
