"""Patterns that Python's `re` decides say what RE2 says."""

from itertools import product

import pytest
import re2

from auditor.golang.regex.compiled import _NAMES, compile_pattern

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAMES = [
    *(f"^{LABEL}$", rf"^{LABEL}(\.{LABEL})*$", rf"^$|^{LABEL}(\.{LABEL})*$"),
    *("^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    rf"^({LABEL}(\.{LABEL})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
]


def test_all_patterns_of_names_are_tested():
    assert set(NAMES) == _NAMES.keys()


@pytest.mark.parametrize("pattern", NAMES)
def test_patterns_of_names_match_as_re2_does(pattern):
    ours, exact = compile_pattern(pattern), re2.compile(pattern)
    texts = ["".join(text) for size in range(6) for text in product("a0-.A_/", repeat=size)]
    texts += [f"{text}\n" for text in texts[:2000]]
    texts += [f"{text}\n" for text in ("a", "a.b", "")] + [
        "é",
        "a.é",
        "a_b",
        "٣",
        "K",
        "a\0",
        "a" * 300,
        "a-" * 150 + "b",
    ]
    assert len(texts) > 19_000
    assert [text for text in texts if ours.matches(text) != (exact.search(text) is not None)] == []


@pytest.mark.parametrize("pattern", NAMES)
def test_patterns_of_names_take_linear_time(pattern):
    assert not compile_pattern(pattern).matches("a" * 200_000 + "!")
    assert not compile_pattern(pattern).matches("a-" * 100_000)
    assert not compile_pattern(pattern).matches("a." * 100_000 + "/")
    assert not compile_pattern(pattern).matches("a" + "-" * 200_000)


CASES = [
    ("(?i)^[^\ufb05]$", "\ufb06", True),  # two cases of one letter from Unicode 15.1 on
    ("(?i)^\u0390$", "\u1fd3", False),
    ("(?i)^\u1c8a$", "\u1c89", False),  # new in Unicode 16.0
    (r"(?i)^[\P{L}]$", "\U0002ebf0", True),  # new in Unicode 15.1
    (r"(?i)^[\P{Lu}]$", "\U00010d50", True),
    (r"(?i)^\p{LC}$", "\u0345", False),  # another case of an iota, to all other classes
    (r"(?i)^\p{Ll}$", "\u0345", True),
    (r"(?i)^[^\p{LC}]$", "\u0345", True),
    (r"(?i)^\w\W$", "\u212a\u212b", True),
    (r"(?i)^[[:^alpha:]]$", "\u017f", False),
    ("(?i)^[j-l]$", "\u212a", True),
    (r"(?i)^\Qk\E+(?-i:k)k$", "K\u212akK", True),
    (r"(?i)^\Qk\E+(?-i:k)k$", "KKK", False),
    ("(?i-s)^a.(?i:b)(?-i)c$", "A\u00e9Bc", True),
    ("(?i-s)^a.(?i:b)(?-i)c$", "A\u00e9BC", False),
    (r"^[^\p{^Any}]$", "\U0010ffff", True),
    (r"^a[\P{Any}]?$", "a", True),
    (r"[\P{Any}]", "a", False),
]


@pytest.mark.parametrize(("pattern", "text", "found"), CASES)
def test_classes_and_letter_case_are_those_of_go(pattern, text, found):
    assert compile_pattern(pattern).matches(text) is found
