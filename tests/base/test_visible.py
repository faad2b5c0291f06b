"""Content escaped for terminals, shells and spreadsheets."""

from __future__ import annotations

import json
import subprocess

import pytest

from auditor.base.visible import csv_cell, label, shell_word, visible, visible_lines, visible_tree
from auditor.printing.jsonpath import compile_template
from auditor.printing.yamltext import to_yaml
from tests.fuzz.hostile.texts import TEXTS, faults_of

_HIDDEN = [
    *map(chr, (*range(0x20), *range(0x7F, 0xA0))),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ud800",
]


@pytest.mark.parametrize("text", _HIDDEN, ids=ascii)
def test_what_a_terminal_acts_on_prints_as_an_escape_of_json(text: str) -> None:
    shown = visible(f"a{text}b")
    assert shown.isprintable()
    assert json.loads(f'"{shown}"') == f"a{text}b"


def test_other_text_stays_as_it_is() -> None:
    for text in ("", "plain", "größe", "日本", "a\\nb", "\U0001f600", "'^\\d+$'"):
        assert visible(text) == text
    assert visible_lines("a\tb\nc\x1b") == "a    b\nc\\u001b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Loaf.bakery.example.com", "Loaf.bakery.example.com"),
        ("example.com/v1", "example.com/v1"),
        ("../dumps/größe.db", "../dumps/größe.db"),
        ("s3://bucket/x=1", "s3://bucket/x=1"),
        ("-", "-"),
        ("Next: nothing to do.", '"Next: nothing to do."'),
        ("Next:", '"Next:"'),
        ("a\nb", '"a\\nb"'),
    ],
)
def test_content_that_begins_a_line_is_quoted_unless_it_is_a_name(text: str, shown: str) -> None:
    assert label(text) == shown


@pytest.mark.parametrize(
    "text", [*filter(str.isprintable, TEXTS), "a\nb", "a\x1b[2J'b", "; id", "$(id)", "`id`", "a'b\x07"]
)
def test_a_command_to_paste_holds_content_as_one_word(text: str) -> None:
    word = shell_word(text)
    assert word.isprintable()
    assert "\\" in text or subprocess.check_output(["bash", "-c", f"printf %s {word}"]).decode() == text


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1+1", "'-1+1"),
        ("-5", "-5"),
        ("-2.5", "-2.5"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\\t=1"),
        ("\r=1", "'\\r=1"),
        ("a\n=1", "a\\n=1"),
        ("a", "a"),
        ("", ""),
        (5, 5),
    ],
)
def test_cells_of_csv_are_no_formulas(cell: object, written: object) -> None:
    assert csv_cell(cell) == written


def test_a_tree_is_visible_in_all_its_texts_and_long_ones_are_cut() -> None:
    shown = visible_tree({"a\n": ["\x1b", {"b": 5}], "long": "x" * 5000}, longest=100)
    assert shown["a\\n"] == ["\\u001b", {"b": 5}]
    assert len(shown["long"]) < 120


def test_yaml_for_a_terminal_means_the_same() -> None:
    from auditor.sources.yaml import yaml_to_json

    value = {"a\u202eb": "x\u202ey", "l": ["\u2066", "plain", "two\nlines\u200f"], "plain": "größe"}
    text = to_yaml(value, for_terminal=True)
    assert faults_of(text.encode()) == []
    assert yaml_to_json(text.encode()) == value
    assert to_yaml({"a": "b c"}, for_terminal=True) == to_yaml({"a": "b c"})


def test_texts_of_a_template_stay_and_those_of_content_are_shown() -> None:
    template = compile_template('{range .l[*]}{@}{"\\n"}{end}')
    assert template.execute({"l": ["a\nb", "\n\n"]}, shown=visible) == "a\\nb\n\\n\\n\n"
