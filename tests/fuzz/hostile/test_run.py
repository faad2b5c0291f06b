"""Some hundred cases of the fuzzer (`make nightly` tries 100,000), and what it found once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.hostile.cases import make_sound_report
from tests.fuzz.hostile.run import run_cases, run_command
from tests.fuzz.hostile.texts import faults_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_no_case_breaks_a_command() -> None:
    outcome = run_cases(7, 150, jobs=2)
    assert outcome.failures == []
    assert outcome.cases == 150
    assert len(outcome.families) >= 3


def test_cases_are_the_same_for_the_same_seed() -> None:
    first, second = (run_cases(3, 4) for _ in range(2))
    assert (first.families, first.codes, first.failures) == (second.families, second.codes, [])


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("definitions", "from_files"), 5),
        (("inputs",), [{"name": 7}]),
        (("inputs", 0, "name"), "other.ndjson"),
        (("index",), {"a": 1}),
        (("counts",), "x"),
        (("counts", "statuses"), 1.5),
        (("counts", "statuses", "valid"), {}),
        (("options",), []),
        (("missing",), ["a"]),
        (("missing",), 1.5),
        (("inputs", 0, "sha256"), {"a": 1}),
        (("started",), None),
        (("files",), ["x" * 5000]),
        (("files",), ["a\0b"]),
    ],
)
@pytest.mark.parametrize(
    "asked",
    [("query", "report", "ws"), ("show", "report", "d/o1"), ("explain", "report", "ws", "--values"), ("findings", "report", "--against", "report"), ("audit", "dump.ndjson", "--report", "out", "--jobs", "1", "--diff", "report")],
    ids=lambda asked: asked[0] + asked[-2],
)  # fmt: skip
def test_a_manifest_that_was_tampered_with_is_no_internal_error(
    where: tuple[str | int, ...], value: object, asked: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sound_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "report" / "manifest.json"
    manifest = json.loads(path.read_bytes())
    place = manifest
    for step in where[:-1]:
        place = place[step]
    place[where[-1]] = value
    path.write_text(json.dumps(manifest))
    code, _, err = run_command(asked)
    assert code in (0, 1, 2, 3), err.decode()
    assert b"Traceback" not in err
    assert faults_of(err) == []
