"""The helper that runs commands in this process: what it gives, and that the process is as it was."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.log import LOG
from tests.command import auditor
from tests.documents import definition_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def state() -> dict[str, Any]:
    """Return what of this process a command may change."""
    return {
        "streams": (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__),
        "environment": {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "folder": Path.cwd(),
        "log": LOG.settings,
        "limits": (sys.getrecursionlimit(), resource.getrlimit(resource.RLIMIT_STACK)),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        "collector": (gc.isenabled(), gc.get_threshold()),
        "path": list(sys.path),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0,
    }


@pytest.fixture(autouse=True)
def process_as_it_was() -> Iterator[None]:
    auditor("version")
    before = state()
    yield
    assert state() == before


def test_help_ends_with_0() -> None:
    ended = auditor("--help")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Usage: auditor [OPTIONS] COMMAND")


def test_a_usage_error_ends_with_2() -> None:
    ended = auditor("audit", "--no-such-option")
    assert (ended.code, ended.stdout) == (2, "")
    assert "Error: No such option" in ended.stderr
    assert ended.output == ended.stderr


def test_input_that_cannot_be_read_ends_with_its_code(tmp_path: Path) -> None:
    ended = auditor("query", "none.db", "things", cwd=tmp_path)
    assert ended.code == 2
    assert "error: none.db: " in ended.stderr
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "crd.json").write_text(json.dumps(definition_of({"type": "object"})))
    (tmp_path / "dump" / "torn.json.gz").write_bytes(b"\x1f\x8b\x08")
    assert auditor("kinds", "dump", cwd=tmp_path).code == 3


def test_an_internal_error_ends_with_70(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("what now")

    monkeypatch.setattr("pipelines.run.validate.run_validate", fail)
    ended = auditor("validate", "-")
    assert ended.code == 70
    assert "    ZeroDivisionError: what now\n" in ended.stderr
    assert ended.stderr.endswith("internal error (ZeroDivisionError); please report it with the lines above\n")


def test_a_run_that_is_interrupted_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipelines.run.validate.run_validate", interrupt)
    ended = auditor("validate", "-")
    assert (ended.code, ended.stderr.strip()) == (130, "interrupted; nothing was written")


def test_a_run_that_is_interrupted_after_its_report_does_not_say_that_nothing_was_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipelines.run.report.findings.print_end", interrupt)
    (tmp_path / "dump.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}')
    options = ("--report-root", "out", "--report-name", "night", "--jobs", 1)
    ended = auditor("audit", "dump.json", *options, cwd=tmp_path)
    assert (ended.code, ended.stderr.splitlines()[-1]) == (130, "interrupted after the report was written")
    record = json.loads((tmp_path / "out" / "last-run.json").read_text())
    assert (record["exit_code"], record["report"], record["reports"]) == (130, "out/night", ["night"])


def test_an_audit_writes_into_its_folder_and_logs_as_it_was_asked(tmp_path: Path) -> None:
    words = ("audit", SAMPLE, "--report", "r", "--jobs", 1, "--log-format", "json", "-o", "markdown=r.md")
    ended = auditor(*words, cwd=tmp_path, env={"AUDITOR_AUDIT_QUIET": None, "AUDITOR_AUDIT_FAIL_ON": "never"})
    assert ended.code == 0
    assert [json.loads(line)["event"] for line in ended.stderr.splitlines()][-1] == "result"
    assert ended.folder == tmp_path
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert ended.files() == sorted(["r.md", "r/manifest.json", *(f"r/{name}" for name in manifest["files"])])


def test_standard_input_is_what_is_given() -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    for given in (json.dumps(made), json.dumps(made).encode()):
        assert "1 object: 1 builtin" in auditor("validate", "-", stdin=given).output
    assert "no object found" in auditor("validate", "-").output


def test_standard_output_may_be_a_descriptor(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        ended = auditor("version", stdout=file.fileno())
    assert (ended.code, ended.stdout) == (0, "")
    assert (tmp_path / "out").read_text() == auditor("version").stdout


def test_streams_of_another_encoding_are_those_of_a_process(tmp_path: Path) -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "мука"}}
    (tmp_path / "x.json").write_text(json.dumps(made))
    ended = auditor("validate", "x.json", "-o", "json", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert "мука" in ended.stdout


def test_a_variable_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITOR_VERSOIN", "1")
    assert "AUDITOR_VERSOIN" in auditor("version").stderr
    assert auditor("version", env={"AUDITOR_VERSOIN": None}).stderr == ""
    assert os.environ["AUDITOR_VERSOIN"] == "1"
    monkeypatch.undo()
