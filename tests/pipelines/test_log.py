"""The log of an audit on standard error: its lines, its JSON, and what each option leaves out."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from pipelines import log as module
from pipelines.log import RunLog
from tests.command import auditor
from tests.pipelines.job.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


def audited(folder: Path, *options: object, dump: object = SAMPLE) -> list[str]:
    """Run an audit whose log is not left out; return the lines of standard error."""
    words = ("audit", dump, "--jobs", 1, *options)
    return auditor(*words, cwd=folder, env={"AUDITOR_AUDIT_QUIET": ""}).stderr.splitlines()


STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ")


def test_a_run_without_a_terminal_writes_its_start_and_its_end(tmp_path: Path) -> None:
    lines = audited(tmp_path, "--report", "r")
    assert [bool(STAMP.match(line)) for line in lines] == [True, True]
    assert lines[0].endswith(" into r")
    assert re.search(r" 46 keys in [\d.]+ s, exit code 1, report r$", lines[1])


def test_quiet_writes_nothing_and_verbose_each_source(tmp_path: Path) -> None:
    assert audited(tmp_path, "--report", "r", "-q") == []
    lines = audited(tmp_path, "--report", "s", "-v")
    assert len([line for line in lines if line.endswith(": etcd-snapshot, revision 50")]) == 1


@pytest.mark.parametrize(("level", "code"), [("never", 0), ("invalid", 1)])
def test_quiet_prints_the_summary_only_of_a_run_that_does_not_end_well(tmp_path: Path, level: str, code: int) -> None:
    ended = auditor("audit", SAMPLE, "--jobs", 1, "--report", "r", "-q", "--fail-on", level, cwd=tmp_path)
    assert (ended.code, bool(ended.stdout), ended.stderr) == (code, bool(code), "")
    words = ("--report", "s", "-q", "-o", "csv", "--fail-on", level)  # what was asked for is printed
    assert auditor("audit", SAMPLE, "--jobs", 1, *words, cwd=tmp_path).stdout.startswith("cluster,")


def test_json_has_the_fields_of_each_event(tmp_path: Path) -> None:
    events = [json.loads(line) for line in audited(tmp_path, "--report", "r", "--log-format", "json")]
    assert [one["event"] for one in events] == ["start", "source", "phase", "result"]
    assert {"time", "level", "message"} <= events[0].keys()
    assert (events[1]["format"], events[1]["revision"]) == ("etcd-snapshot", 50)
    assert (events[3]["exit_code"], events[3]["keys"], events[3]["statuses"]["invalid"]) == (1, 46, 5)


def test_progress_has_percent_and_rate_and_comes_every_30_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    events = RunLog()
    events.configure(as_json=False, quiet=False, verbose=False)
    for second in range(0, 95, 5):
        now[0] = 1000.0 + second
        events.progress(second * 100, 10_000, float(second or 1))
    lines = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == [f"{percent} % of 10,000 objects judged, 100 a second" for percent in (30, 60, 90)]


def test_content_cannot_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    events = RunLog()
    events.configure(as_json=False, quiet=False, verbose=False)
    events.warning("damage", "a\nb\x1b[31m")
    events.configure(as_json=True, quiet=False, verbose=False)
    events.warning("damage", "a\nb\x1b[31m")
    text, as_json = capsys.readouterr().err.splitlines()
    assert "\x1b" not in text + as_json
    assert json.loads(as_json)["message"] == "a\nb\x1b[31m"


def test_an_error_is_an_event_too(tmp_path: Path) -> None:
    lines = audited(tmp_path, "--report", "r", "--log-format", "json", dump="no-such.db")
    events = [json.loads(line) for line in lines]
    assert [one["event"] for one in events] == ["start", "error"]
    assert (events[1]["exit_code"], events[1]["level"]) == (2, "error")
    assert "no-such.db" in events[1]["message"]
