"""Texts that are printed as few are; each answer is that of the server's YAML library."""

import pytest
import yaml

from auditor.printing.yamltext import to_yaml


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
def test_keys_stand_as_the_library_orders_them(keys):
    assert list(yaml.safe_load(to_yaml(dict.fromkeys(keys, 1)))) == keys
