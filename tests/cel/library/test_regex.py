"""find and findAll. Answers are the server's."""

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.library.regex import functions
from tests.cel.library.calling import outcome

LIBRARY = functions()


@pytest.mark.parametrize(
    ("text", "pattern", "first", "all_of_them"),
    [
        ("abc 123", "[0-9]+", "123", ["123"]),
        ("abc", "x", "", []),
        ("é1é2", "é[0-9]", "é1", ["é1", "é2"]),
        ("ab", "x*", "", ["", "", ""]),
        ("baac", "a*", "", ["", "aa", ""]),
        ("é", "", "", ["", ""]),
        ("a\nb", "(?m)^.", "a", ["a", "b"]),
        ("aXbx", "(?i)x", "X", ["X", "x"]),
    ],
)
def test_finds_are_gos(text, pattern, first, all_of_them):
    assert outcome(LIBRARY, "string_find_string", text, pattern) == first
    assert outcome(LIBRARY, "string_find_all_string", text, pattern) == all_of_them
    assert outcome(LIBRARY, "string_find_all_string_int", text, pattern, -7) == all_of_them
    assert outcome(LIBRARY, "string_find_all_string_int", text, pattern, 1) == all_of_them[:1]
    assert outcome(LIBRARY, "string_find_all_string_int", text, pattern, 0) == []


@pytest.mark.parametrize("overload_id", ["string_find_string", "string_find_all_string"])
def test_a_malformed_pattern_is_an_error(overload_id):
    complaint = "Illegal regex: error parsing regexp: missing closing ]: `[`"
    assert outcome(LIBRARY, overload_id, "a", "[") == CelError(complaint)


def test_constant_patterns_are_known_to_the_planner():
    assert [function.regex_argument for function in LIBRARY] == [1, 1]
