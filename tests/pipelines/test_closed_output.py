"""A reader that closes the output (`| head`) changes no exit code, and is no error."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.pipelines.test_promises import SAMPLE, xs
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Ended


def into_closed_pipe(cwd: Path, *words: object) -> Ended:
    """Run a command whose reader is gone before it writes."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return auditor(*words, cwd=cwd, stdout=writing)
    finally:
        os.close(writing)


@pytest.mark.parametrize(("level", "code"), [("never", 0), ("invalid", 1)])
def test_a_reader_that_closes_the_pipe_changes_no_exit_code(tmp_path: Path, level: str, code: int) -> None:
    done = into_closed_pipe(tmp_path, "audit", SAMPLE, "--report", "r", "--fail-on", level, "--jobs", 1)
    assert (done.code, done.stderr) == (code, "")
    assert (tmp_path / "r" / "manifest.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        "validate x.json --crds xs.json",
        "validate x.json --crds xs.json -o ndjson",
        "crds check wrong.json",
        "crds check wrong.json -o json",
        "findings r --against none --fail-on invalid",
        "findings r --against none --fail-on invalid -o ndjson",
        f"upgrade {SAMPLE} --new-crds {ROOT}/sample-data/next-crds.yaml --report u --jobs 1",
    ],
)
def test_what_was_found_wrong_is_reported_by_the_code_when_no_reader_is_left(tmp_path: Path, words: str) -> None:
    (tmp_path / "xs.json").write_text(json.dumps(xs()))
    (tmp_path / "wrong.json").write_text(json.dumps({**xs(), "metadata": {"name": "ys.x.example.com"}}))
    document = {"apiVersion": "x.example.com/v1", "kind": "Xx", "metadata": {"name": "a", "namespace": "d"}, "size": 9}
    (tmp_path / "x.json").write_text(json.dumps(document))
    if words.startswith("findings"):
        for report, scope in (("none", ("--include", "Order")), ("r", ())):
            auditor("audit", SAMPLE, "--report", report, "--jobs", 1, *scope, cwd=tmp_path)
    done = into_closed_pipe(tmp_path, *words.split())
    assert done.code == 1, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", ["-h", "--version", "audit -h", "version"])
def test_help_into_a_closed_pipe_is_no_error(tmp_path: Path, words: str) -> None:
    done = into_closed_pipe(tmp_path, *words.split())
    assert (done.code, done.stderr) == (0, "")


def test_a_query_into_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    assert auditor("audit", SAMPLE, "--report", "r", "--fail-on", "never", "--jobs", 1, cwd=tmp_path).code == 0
    done = into_closed_pipe(tmp_path, "query", "r", "loaves", "-o", "json")
    assert (done.code, done.stderr) == (0, "")
