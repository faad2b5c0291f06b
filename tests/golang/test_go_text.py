"""%q, %v and floats as Go prints them."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.golang.go_text import display, float_json, float_v, quote, type_name

QUOTED = [
    ("", '""'),
    ("plain", '"plain"'),
    ('say "hi"', '"say \\"hi\\""'),
    ("back\\slash", '"back\\\\slash"'),
    ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
    ("\x00\x1b\x7f", '"\\x00\\x1b\\x7f"'),
    ("it's", '"it\'s"'),
    ("é ü 日本", '"é ü 日本"'),
    ("\u00a0", '"\\u00a0"'),
    ("\u0085\u200b\u2028\ufeff", '"\\u0085\\u200b\\u2028\\ufeff"'),
    ("\u00ad", '"\\u00ad"'),
    ("\ue000", '"\\ue000"'),
    ("\ufffd", '"\ufffd"'),
    ("\uffff", '"\\uffff"'),
    ("😀", '"😀"'),
    ("\U000e0001\U0010ffff", '"\\U000e0001\\U0010ffff"'),
    ("\U00031350", '"\U00031350"'),
    ("\U0001fa75", '"\U0001fa75"'),
    ("\u0cf3", '"\u0cf3"'),
    ("\u1c89", '"\\u1c89"'),
    ("\udcff", '"\\xff"'),
    ("\ud800", '"\\xed\\xa0\\x80"'),
]


@pytest.mark.parametrize(("text", "quoted"), QUOTED, ids=[ascii(case[0]) for case in QUOTED])
def test_quotes_what_is_not_printable(text, quoted):
    assert quote(text) == quoted


FLOATS = [
    (0.0, "0", "0"),
    (-0.0, "-0", "-0"),
    (1.0, "1", "1"),
    (4.5, "4.5", "4.5"),
    (100000.0, "100000", "100000"),
    (999999.5, "999999.5", "999999.5"),
    (1000000.0, "1e+06", "1000000"),
    (1234567.0, "1.234567e+06", "1234567"),
    (223456789.5, "2.234567895e+08", "223456789.5"),
    (1e20, "1e+20", "100000000000000000000"),
    (1e21, "1e+21", "1e+21"),
    (2e21, "2e+21", "2e+21"),
    (0.0001, "0.0001", "0.0001"),
    (0.00001, "1e-05", "0.00001"),
    (1e-6, "1e-06", "0.000001"),
    (9.5e-7, "9.5e-07", "9.5e-7"),
    (1e-7, "1e-07", "1e-7"),
    (1e-10, "1e-10", "1e-10"),
    (5e-324, "5e-324", "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308"),
    (-12345678901234567890.0, "-1.2345678901234567e+19", "-12345678901234567000"),
    (9007199254740993.0, "9.007199254740992e+15", "9007199254740992"),
    (float("inf"), "+Inf", "+Inf"),
    (float("-inf"), "-Inf", "-Inf"),
    (float("nan"), "NaN", "NaN"),
]


@pytest.mark.parametrize(("number", "plain", "in_json"), FLOATS, ids=[case[1] for case in FLOATS])
def test_floats_change_form_where_go_does(number, plain, in_json):
    assert (float_v(number), float_json(number)) == (plain, in_json)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_both_forms_of_a_float_read_back_as_the_same_float(number):
    for text in (float_v(number), float_json(number)):
        assert struct.pack(">d", float(text)) == struct.pack(">d", number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_forms_of_a_float_have_the_same_digits(number):
    def digits(text):
        return text.lstrip("-").partition("e")[0].replace(".", "").strip("0")

    assert digits(float_v(number)) == digits(float_json(number))
    exponent = math.floor(math.log10(abs(number))) if number else 0
    if abs(exponent) < 300 and abs(abs(number) / 10**exponent - 10) > 1e-9:
        assert ("e" in float_v(number)) == (exponent < -4 or exponent >= 6 + (abs(number) < 10**exponent) * 0)


VALUES = [
    ("a b", "a b", "string"),
    (7, "7", "int64"),
    (1e6, "1e+06", "float64"),
    (True, "true", "bool"),
    (None, "<nil>", "<nil>"),
    ([], "[]", "[]interface {}"),
    ([1, "x", None, 2.5], "[1 x <nil> 2.5]", "[]interface {}"),
    ({}, "map[]", "map[string]interface {}"),
    ({"b": [1, {"z": False}], "a": {}}, "map[a:map[] b:[1 map[z:false]]]", "map[string]interface {}"),
]


@pytest.mark.parametrize(("value", "text", "name"), VALUES, ids=[case[1] for case in VALUES])
def test_values_print_as_go_holds_them(value, text, name):
    assert (display(value), type_name(value)) == (text, name)
