"""Errors for texts that are not expressions, as recorded from the server's libraries (cel-go v0.29.2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from auditor.cel.environment import display_issues
from auditor.cel.syntax.parse import parse

LINES = (Path(__file__).parent / "broken.jsonl").read_text(encoding="utf-8").split("\n")
BROKEN = [json.loads(line) for line in LINES if line]


def complaints(text: str) -> list[str]:
    return [f"{each.line}:{each.column}: {each.text}" for each in parse(text)[1]]


@pytest.mark.parametrize("case", BROKEN, ids=[repr(case["text"]) for case in BROKEN])
def test_complaints_about_broken_texts_are_those_of_the_server(case: dict[str, str]) -> None:
    _, issues = parse(case["text"])
    assert display_issues(case["text"], issues) == case["error"]


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


def test_a_text_that_is_broken_and_too_deep_is_both() -> None:
    found = complaints("1+" * 300 + ")")
    assert [each.partition(" ")[0] for each in found] == ["1:601:", "-1:0:"]
    assert found[1] == "-1:0: max recursion depth exceeded"


def test_after_a_hundred_complaints_it_is_enough() -> None:
    found = complaints("@" * 150)
    assert len(found) == 101
    assert found[-1] == "1:101: Syntax error: More than 100 syntax errors"
    assert display_issues("@" * 150, parse("@" * 150)[1]).endswith("\n1 more errors were truncated")


def test_recovery_is_tried_thirty_times() -> None:
    assert complaints("[" * 100)[-1] == "1:101: Syntax error: error recovery attempt limit exceeded: 30"


def test_no_more_than_256_tokens_are_skipped_at_a_time() -> None:
    assert complaints(", " * 300)[-1] == "-1:0: error recovery token lookahead limit exceeded: 256"


def test_a_long_broken_text_takes_no_long_time() -> None:
    assert complaints(f"{'a.b(c) == [1, 2] && ' * 500})")[-1].startswith("1:10001: Syntax error: ")
