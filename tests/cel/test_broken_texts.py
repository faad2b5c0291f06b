"""The first error of texts that are not expressions, as recorded from the server's libraries (cel-go v0.29.2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from auditor.cel.environment import display_issues
from auditor.cel.syntax.parse import parse
from auditor.releases import running_as

FOLDER = Path(__file__).parent
BROKEN, BROKEN_BEFORE = (
    [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").split("\n") if line]
    for name in ("broken.jsonl", "broken_before.jsonl")
)


MADE_UP = ("invalid argument to has() macro", "argument must be a simple name", "unsupported ident kind")
MADE_UP_COLON = "a{`b` 1}"  # the server of 1.36 reads the field before a colon that is missing


def complaints(text: str) -> list[str]:
    return [f"{each.line}:{each.column}: {each.text}" for each in parse(text)[1]]


def first_error(printed: str) -> str:
    """Return what the server prints first of a text with a syntax error, and all that it prints of another text.

    What it says of macros and fields whose parts it made up is left out.
    """
    if "Syntax error: " not in printed:
        return printed
    errors = [f"ERROR: {part}".rstrip("\n") for part in printed.split("ERROR: ")[1:]]
    return next(error for error in errors if not any(made_up in error for made_up in MADE_UP))


@pytest.mark.parametrize("case", BROKEN, ids=[repr(case["text"]) for case in BROKEN])
def test_the_first_error_of_a_broken_text_is_that_of_the_server(case: dict[str, str]) -> None:
    tree, issues = parse(case["text"])
    assert display_issues(case["text"], issues) == first_error(case["error"])
    assert tree is None or "Syntax error: " not in case["error"]


@pytest.mark.parametrize(
    "case",
    [case for case in BROKEN_BEFORE if case["text"] != MADE_UP_COLON],
    ids=lambda case: f"{case['release']} {case['text']!r}",
)
def test_the_first_error_under_an_older_release_is_that_of_its_server(case: dict[str, str]) -> None:
    with running_as(case["release"]):
        _, issues = parse(case["text"])
        assert display_issues(case["text"], issues) == first_error(case["error"])


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (f"x{'.y' * 240}{' + 1' * 10}", 250),
        (f"x{'.y' * 240}{' + 1' * 11}", 251),
        (f"x{'[0]' * 250}", 250),
        (f"x{'[0]' * 251}", 251),
        (f"{'a && ' * 300}x{'.y' * 250}", 250),
        (f"{'a ? b : ' * 100}x{'.y' * 151}", 251),
        (f"{'x.all(y, ' * 10}1{' + 1' * 241}{')' * 10}", 251),
        (f"{'f(' * 100}x{'.y' * 100}{')' * 100}{' + 1' * 100}", 200),
    ],
)
def test_operators_may_be_nested_so_deep(text: str, depth: int) -> None:
    assert complaints(text) == ([] if depth <= 250 else ["-1:0: max recursion depth exceeded"])


def test_a_text_that_is_broken_and_too_deep_is_broken() -> None:
    assert complaints("1+" * 300 + ")")[0].startswith("1:601: Syntax error: mismatched input ')'")


def test_expressions_in_parentheses_may_be_nested_so_deep() -> None:
    assert complaints("(" * 249 + "1" + ")" * 249) == []
    assert complaints("(" * 250 + "1" + ")" * 250) == ["-1:0: expression recursion limit exceeded: 250"]


def test_of_text_that_is_no_token_the_first_is_reported() -> None:
    assert complaints("@" * 150) == ["1:1: Syntax error: token recognition error at: '@'"]
    assert complaints("a # b") == complaints("a # b # c")


def test_errors_of_names_and_literals_are_all_reported_where_the_grammar_fits() -> None:
    assert complaints("if + 99999999999999999999") == ["1:1: reserved identifier: if", "1:6: invalid int literal"]
