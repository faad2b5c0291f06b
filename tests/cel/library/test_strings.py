"""Functions on strings: positions in code points, Go's edges. Answers are the server's."""

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import NONE, Duration, Optional_, Timestamp, TypeValue, UInt
from auditor.cel.library import functions as every_function
from auditor.cel.library.strings import functions
from tests.cel.library.calling import outcome

LIBRARY = functions()
LEAST = -(2**63)


@pytest.mark.parametrize(
    ("overload_id", "arguments", "answer"),
    [
        ("string_char_at_int", ("héllo", 1), "é"),
        ("string_char_at_int", ("abc", 3), ""),
        ("string_char_at_int", ("abc", 4), CelError("index out of range: 4")),
        ("string_char_at_int", ("abc", -1), CelError("index out of range: -1")),
        ("string_index_of_string", ("a😀b", "b"), 2),
        ("string_index_of_string", ("abc", "zz"), -1),
        ("string_index_of_string", ("", ""), 0),
        ("string_index_of_string_int", ("abcabc", "a", 1), 3),
        ("string_index_of_string_int", ("abc", "a", 99), -1),
        ("string_index_of_string_int", ("abc", "", 99), 3),
        ("string_index_of_string_int", ("abc", "", 2), 2),
        ("string_index_of_string_int", ("", "", 5), 0),
        ("string_index_of_string_int", ("abc", "", -1), CelError("index out of range: -1")),
        ("string_index_of_string_int", ("abc", "a", LEAST), CelError(f"index out of range: {LEAST}")),
        ("string_last_index_of_string", ("abab", "b"), 3),
        ("string_last_index_of_string", ("abc", ""), 3),
        ("string_last_index_of_string", ("", "a"), -1),
        ("string_last_index_of_string_int", ("abcabc", "abc", 2), 0),
        ("string_last_index_of_string_int", ("abcabc", "abc", 3), 3),
        ("string_last_index_of_string_int", ("abc", "bc", 1), 1),
        ("string_last_index_of_string_int", ("abc", "c", 9), -1),
        ("string_last_index_of_string_int", ("abc", "", 9), 3),
        ("string_last_index_of_string_int", ("abc", "", 1), 1),
        ("string_last_index_of_string_int", ("abc", "abcd", 1), -1),
        ("string_last_index_of_string_int", ("abc", "a", -1), CelError("index out of range: -1")),
        ("string_lower_ascii", ("AZÆİ\u212a",), "azÆİ\u212a"),
        ("string_upper_ascii", ("azæßﬀ",), "AZæßﬀ"),
        ("string_replace_string_string", ("aaa", "a", "bb"), "bbbbbb"),
        ("string_replace_string_string", ("é", "", "-"), "-é-"),
        ("string_replace_string_string_int", ("aaa", "a", "b", 2), "bba"),
        ("string_replace_string_string_int", ("aaa", "a", "b", 0), "aaa"),
        ("string_replace_string_string_int", ("aaa", "a", "b", -3), "bbb"),
        ("string_replace_string_string_int", ("abc", "", "-", 2), "-a-bc"),
        ("string_replace_string_string_int", ("", "", "-", 1), "-"),
        ("string_split_string", ("a,b", ","), ["a", "b"]),
        ("string_split_string", ("", ","), [""]),
        ("string_split_string", ("", ""), []),
        ("string_split_string", ("aé😀", ""), ["a", "é", "😀"]),
        ("string_split_string_int", ("a,b,c", ",", 2), ["a", "b,c"]),
        ("string_split_string_int", ("a,b,c", ",", 1), ["a,b,c"]),
        ("string_split_string_int", ("a,b,c", ",", 0), []),
        ("string_split_string_int", ("a,b,c", ",", -5), ["a", "b", "c"]),
        ("string_split_string_int", ("abc", "", 2), ["a", "bc"]),
        ("string_split_string_int", ("abc", "", 1), ["abc"]),
        ("string_split_string_int", ("abc", "", 9), ["a", "b", "c"]),
        ("string_substring_int", ("héllo", 1), "éllo"),
        ("string_substring_int", ("abc", 3), ""),
        ("string_substring_int", ("abc", 4), CelError("index out of range: 4")),
        ("string_substring_int_int", ("abc", 1, 2), "b"),
        ("string_substring_int_int", ("abc", 3, 1), CelError("invalid substring range. start: 3, end: 1")),
        ("string_substring_int_int", ("abc", -1, 1), CelError("index out of range: -1")),
        ("string_substring_int_int", ("abc", 1, 9), CelError("index out of range: 9")),
        ("string_substring_int_int", ("abc", -5, -7), CelError("invalid substring range. start: -5, end: -7")),
        ("string_trim", (" \t\n\v\f\r\u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000x ",), "x"),
        ("string_trim", ("\x1cx\x1f\u200b",), "\x1cx\x1f\u200b"),
        ("list_join", ([],), ""),
        ("list_join", (["a", "b"],), "ab"),
        ("list_join_string", (["a", "b"], "-"), "a-b"),
        ("strings_quote", ('a"\\\a\b\f\n\r\t\v',), '"a\\"\\\\\\a\\b\\f\\n\\r\\t\\v"'),
        ("strings_quote", ("é\x00\u2028",), '"é\x00\u2028"'),
    ],
)  # fmt: skip
def test_strings(overload_id, arguments, answer):
    assert outcome(LIBRARY, overload_id, *arguments) == answer


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"),
        (UInt(1), "1"),
        (1.5, "1.5"),
        (1e21, "1e+21"),
        (True, "true"),
        (b"ab", "[97 98]"),
        (["b", "c"], "[b, c]"),
        ({"a": 1.5}, "{a: 1.5}"),
        (Duration(5400 * 10**9 + 5 * 10**8), "1h30m0.5s"),
        (Timestamp(0, 7200), "1970-01-01 02:00:00 +0200 +0200"),
        (TypeValue("int"), "int"),
        (Optional_.of("a"), "optional(a)"),
        (NONE, "optional.none()"),
    ],
)
def test_what_is_no_string_cannot_be_joined(value, shown):
    assert outcome(LIBRARY, "list_join", ["a", value]) == CelError(f"join: invalid input: {shown}")


def test_format_and_quote_came_with_version_1():
    assert {each.name for each in functions() if each.since == (1, 29)} == {"format", "strings.quote"}
    assert {"format", "strings.quote"}.isdisjoint(each.name for each in every_function((1, 28)))
    assert {"format", "strings.quote"} <= {each.name for each in every_function((1, 29))}
