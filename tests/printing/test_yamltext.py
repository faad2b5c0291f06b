"""Texts that are printed as few are; each answer is that of the server's YAML library."""

import pytest

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
