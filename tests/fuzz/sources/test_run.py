"""The fuzzer as tests run it: some hundreds of inputs each time, some thousands of them in CI."""

from __future__ import annotations

import pytest

from tests.fuzz.sources.run import SHARE, STAGES, Outcome, parsed, run, run_all


def judge(outcome: Outcome) -> None:
    assert outcome.failures == []
    assert outcome.repaired >= SHARE * outcome.inputs
    reached = {stage for _, stage in outcome.stages}
    assert {STAGES[0], STAGES[1], STAGES[4], STAGES[5]} <= reached
    assert outcome.rows


def test_some_hundred_broken_dumps_end_in_rows_or_an_error() -> None:
    judge(run_all(parsed(["--inputs", "300", "--seed", "tests", "--quiet"])))


@pytest.mark.slow
def test_thousands_of_broken_dumps_end_in_rows_or_an_error() -> None:
    outcome = run_all(parsed(["--inputs", "3000", "--seed", "slow", "--quiet"]))
    assert outcome.inputs == 3000
    judge(outcome)


def test_an_input_is_the_same_each_time() -> None:
    one, two = (run(parsed(["--inputs", "40", "--seed", "again", "--quiet"])) for _ in range(2))
    assert (one.stages, one.rows) == (two.stages, two.rows)
