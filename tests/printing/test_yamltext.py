"""Texts that are printed as few are; each answer is that of the server's YAML library."""

import pytest
import yaml

from auditor.printing.yamltext import YamlTextError, to_yaml


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", '""'),
        ("\ufeffa é\n", '"\\uFEFF\\x61\\x20\\xE9\\n"'),
        ("\ufeff日本", '"\\uFEFF\\u65E5\\u672C"'),
        ("a\ufeff", '"a\\uFEFF"'),
        ("a \u2028", '"a \\L"'),
        ("a\u2028 b", '"a\\L b"'),
        ("a\u2028b", "'a\u2028  b'"),
        ("\u2028\n{", "|2-\n\u2028\n  {"),
        ("a\n\nb\n", "|\n  a\n\n  b"),
        ("2024-01-01  01:02:03", '"2024-01-01  01:02:03"'),
        ("b\u2028\n", "|+\n  b\u2028"),
        ("\x85 <", "' <'"),
        ("x \x85 \x85  y", "|-\n  x\n  y"),
        ("\x85\x85\x85", "|2+\n\n"),
    ],
)
def test_odd_texts_are_printed_as_the_library_prints_them(text, printed):
    assert to_yaml({"k": text}) == f"k: {printed}\n"


@pytest.mark.parametrize(
    "keys",
    [
        ["x9223372036854775808", "x1"],  # 64 bits make a negative number of it
        ["x2", "x12345678901234567890123"],
        ["9", "\u0663", "a"],
        ["a-", "a9", "a\U00031350"],  # the last is a letter, since Unicode 15.0
    ],
)
def test_keys_are_as_the_library_orders_them(keys):
    assert list(yaml.safe_load(to_yaml(dict.fromkeys(keys, 1)))) == keys


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ({"a": "b\n\u2029\u2029", "c": 1}, "a: |+\n  b\n\u2029\u2029c: 1\n"),
        ({"a": {"b": "x\ny\u2028"}, "c": {"d": 1}}, "a:\n  b: |\n    x\n    y\u2028c:\n  d: 1\n"),
        ({"a": ["b\n\u2028", "c"]}, "a:\n- |+\n  b\n\u2028- c\n"),
    ],
)
def test_a_literal_that_ends_in_another_break_gets_no_newline(value, printed):
    assert to_yaml(value) == printed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"k" * 1023: 1}, "yaml: did not find expected ',' or '}'"),
        ({"a": "\x85", "k" * 1023: 1}, "yaml: line 1: did not find expected ',' or '}'"),
        ({"b": "\x85", "a\x85\x85": 1}, "yaml: line 2: did not find expected ',' or '}'"),
        ({"a": "x\x85--- b"}, "yaml: line 2: found unexpected document indicator"),
        ({"a": "x\x85y\x85z", "b": "q\x85... \x85"}, "yaml: line 4: found unexpected document indicator"),
    ],
)
def test_what_cannot_be_read_again_is_refused_with_its_line(value, text):
    with pytest.raises(YamlTextError) as caught:
        to_yaml(value)
    assert str(caught.value) == text
