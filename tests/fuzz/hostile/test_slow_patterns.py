"""Patterns that RE2 takes seconds to match: the object is named, not audited, and no other is lost."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

import pytest

from auditor.base.errors import PatternTooSlow
from auditor.golang.regex import compiled
from auditor.golang.regex.compiled import MATCH_TIME, MatchTime, Pattern
from auditor.validation.rules import RuleProgram
from tests.command import auditor
from tests.fuzz.hostile.bounded import bounded, dump
from tests.fuzz.hostile.test_ratio import _program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLOW = "|".join(f".*{number}.*x" for number in range(20_000))
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "pattern": SLOW}, "b": {"type": "string"}}}


@pytest.fixture
def no_time() -> Iterator[None]:
    MATCH_TIME.begin(0.0)
    yield
    MATCH_TIME.begin(float("inf"))


def test_what_may_take_longer_than_what_is_left_does_not_begin() -> None:
    time = MatchTime()
    assert time.may_take(1e9, 1e9)
    time.begin(2.0)
    assert time.may_take(1.9, 50.0)
    assert not time.may_take(2.1, 0.0)
    time.took(2.1)
    assert time.may_take(0.09, 0.0)
    assert not time.may_take(0.09, 0.2)
    time.took(1.0)
    assert not time.may_take(0.001, 0.0)


@pytest.mark.usefixtures("no_time")
def test_many_texts_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a tenth of a second by this clock."""
    pattern = Pattern("|".join(f".*{number}.*x" for number in range(2000)))
    MATCH_TIME.begin(4.05)
    clock = count(0.0, 0.1)
    monkeypatch.setattr(compiled, "thread_time", lambda: next(clock))
    refused = 0
    for number in range(60):
        try:
            assert not pattern.search(f"{number:05d}" * 40)
        except PatternTooSlow:
            refused += 1
    assert refused == 19


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("text", ["a" * 20_000, "a" * 200_000])
def test_quick_patterns_match_whatever_slow_ones_took(text: str) -> None:
    pattern = Pattern("^(a|b)*[ab]c?$")
    assert pattern.search(text)
    assert not pattern.search(text + "d")
    assert Pattern("a\\Bb").find(text + "b") == "ab"
    with pytest.raises(
        PatternTooSlow, match="a pattern of 208,889 characters takes too long on a text of 20,000 bytes"
    ):
        Pattern(SLOW).search("a" * 20_000)


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("rule", ["!self.a.matches(self.p)", "self.a.find(self.p) == ''"])
def test_a_rule_that_matches_slowly_is_given_up(rule: str) -> None:
    properties = {"a": {"type": "string"}, "p": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule}]}
    program = RuleProgram.of(_program(schema).version.structural)
    assert program is not None
    short = "|".join(f".*{number}.*x" for number in range(2000))
    assert not program.run({"spec": {"a": "a", "p": short}})
    assert program.unevaluated() == 0
    assert not program.run({"spec": {"a": "a" * 50_000, "p": short}})
    assert program.unevaluated() == 1


@pytest.mark.parametrize("command", ["audit", "upgrade", "validate"])
def test_an_object_is_named_and_its_neighbours_are_judged(command: str, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump.ndjson", SCHEMA, {"a": "a" * 20_000}, {"a": "7x"}, {"b": 5})
    report = ("--report", str(tmp_path / "report"))
    options = {"audit": (*report, "--fail-on", "never"), "upgrade": (*report, "--new-crds", str(path)), "validate": ()}
    jobs = () if command == "validate" else ("--jobs", 1)
    with bounded(1200):
        ended = auditor(command, path, *options[command], *jobs)
    assert ended.code == (1 if command == "validate" else 3)
    assert "takes too long on a text of 20,000 bytes: .*0.*x|.*1.*x" in " ".join(
        ended.output.split()
    )  # it may be wrapped
    assert "d/a0" in ended.output or "dump.ndjson:2" in ended.output
    if command == "audit":
        assert "NOT JUDGED  keys given up: see 1 line of LOST" in ended.output
        manifest = json.loads((tmp_path / "report" / "manifest.json").read_bytes())
        assert next(row["statuses"] for row in manifest["kinds"] if row["kind"] == "W") == {
            "valid": 1,
            "invalid": 1,
            "unreadable": 1,
        }
