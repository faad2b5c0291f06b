"""The grammar of field and label selectors, with the server's texts."""

import pytest

from auditor.base.errors import SelectorError
from auditor.selectors.grammar import FieldRequirement, parse_field_selector, parse_label_selector

FIELDS = [
    ("", ()),
    (",", ()),
    ("a=b,c!=d", (FieldRequirement("a", "b"), FieldRequirement("c", "d", True))),
    ("c!=d,a=b", (FieldRequirement("a", "b"), FieldRequirement("c", "d", True))),
    (r"a=b\,c", (FieldRequirement("a", "b,c"),)),
    (" a = b ", (FieldRequirement(" a ", " b "),)),
    ("a=", (FieldRequirement("a", ""),)),
    ("=b", (FieldRequirement("", "b"),)),
    ("!=", ()),
    ("a!b=c", (FieldRequirement("a!b", "c"),)),
    ("a==b", (FieldRequirement("a", "b"),)),
    ("b=\udcff,a=b", (FieldRequirement("a", "b"), FieldRequirement("b", "\udcff"))),
]


@pytest.mark.parametrize(("text", "expected"), FIELDS)
def test_field_selector_parses(text, expected):
    assert parse_field_selector(text) == expected


FIELD_ERRORS = [
    ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ("a===b", "invalid field selector: unescaped character in value: 61"),
    ("a", "invalid selector: 'a'; can't understand 'a'"),
    ("a>b", "invalid selector: 'a>b'; can't understand 'a>b'"),
    (r"a=\c", r"invalid field selector: invalid escape sequence: \c"),
    ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
]


@pytest.mark.parametrize(("text", "message"), FIELD_ERRORS)
def test_field_selector_is_refused_in_the_servers_words(text, message):
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert caught.value.found == message


def test_absent_field_is_the_empty_string():
    (absent,) = parse_field_selector("x=")
    (other,) = parse_field_selector("x!=v")
    assert absent.matches({})
    assert other.matches({})
    assert not other.matches({"x": "v"})


LABEL_ERRORS = [
    ("a=b,", "found '', expected: identifier after ','"),
    (",a", "found ',', expected: !, identifier, or 'end of string'"),
    ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("a===b", "unable to parse requirement: found '=', expected: identifier"),
    ("a>=1", "unable to parse requirement: found '=', expected: identifier"),
    ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    ("a in", "unable to parse requirement: found '' expected: '('"),
    ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
    ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
    ("a!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
    ("a!b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
    ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
    ("a in (b))", "found ')', expected: ',' or 'end of string'"),
    ("a\0b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("a>\0)", "unable to parse requirement: found ')', expected: identifier"),
]


@pytest.mark.parametrize(("text", "message"), LABEL_ERRORS)
def test_label_selector_is_refused_in_the_servers_words(text, message):
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert caught.value.found == message


MATCHES = [
    ("a=b", {"a": "b"}, True),
    ("a=b", {}, False),
    ("a!=b", {}, True),
    ("a in (x,y)", {"a": "y"}, True),
    ("a in ()", {"a": ""}, True),
    ("a notin (x)", {}, True),
    ("a", {"a": ""}, True),
    ("!a", {"a": ""}, False),
    ("in in (in)", {"in": "in"}, True),
    ("in", {"in": "x"}, True),
    ("a>1", {"a": "2"}, True),
    ("a>1", {"a": "x"}, False),
    ("a<1", {"a": "0"}, True),
    ("a>5", {"a": "1" * 5000}, False),
    ("a>5", {"a": "0" * 5000 + "7"}, True),
    ("b\0=", {"b": ""}, True),
    ("a \0=x", {"a": ""}, True),
    ("a=,b", {"a": "", "b": "1"}, True),
    ("", {}, True),
]


@pytest.mark.parametrize(("text", "labels", "selected"), MATCHES)
def test_label_selector_matches(text, labels, selected):
    assert all(requirement.matches(labels) for requirement in parse_label_selector(text)) is selected


@pytest.mark.parametrize("text", ["a>-1", "a>x", "a=-b", "a_=b/c", "A/b=c"])
def test_label_values_and_keys_are_checked(text):
    with pytest.raises(SelectorError, match="Invalid value"):
        parse_label_selector(text)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ('a"b=c', 'unable to parse requirement: <nil>: Invalid value: "a\\"b": name part must consist'),
        (
            "a=b\\",
            'unable to parse requirement: values[0][a]: Invalid value: "b\\\\": a valid label must be an empty string',
        ),
        (
            "a>\\",
            "unable to parse requirement: [values[0]: Invalid value: \"\\\\\": for 'Gt', 'Lt' operators, the value must be",
        ),
        (f"a>{'1' * 5000}", 'unable to parse requirement: [values[0]: Invalid value: "1111'),
        ("a=\udcff", 'unable to parse requirement: values[0][a]: Invalid value: "\\xff": a valid label must be'),
        ("\udcff", 'unable to parse requirement: <nil>: Invalid value: "\\xff": name part must consist'),
        (f"a in ({'x' * 64}, b,)", 'unable to parse requirement: values[2][a]: Invalid value: "xxxxx'),
        ("a in (b,!c)", "unable to parse requirement: found '!', expected: ',', or identifier"),
        ("a in (!c)", "unable to parse requirement: found '!', expected: ',', ')' or identifier"),
    ],
)
def test_what_is_wrong_with_labels_is_said_in_the_servers_words(text, start):
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert caught.value.found.startswith(start)
