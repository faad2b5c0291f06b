"""Standard streams of a process: closed, without a reader, on a full disk, a terminal, or in another encoding."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shlex
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from tests.pipelines.test_promises import SAMPLE, xs
from tests.processes.program import LOUD, run, start, without_log
from tests.shared import ROOT

ENVIRONMENT = {**os.environ, **LOUD, "PYTHONPATH": str(ROOT)}


def in_bash(cwd: Path, command: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which AUDITOR is a command of the auditor."""
    call = shlex.join([sys.executable, "-m", "pipelines", *map(str, words)])
    line = ["bash", "-c", command.replace("AUDITOR", call)]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=ENVIRONMENT, check=False)


@pytest.mark.parametrize(("level", "code"), [pytest.param("never", 0, marks=pytest.mark.slow), ("invalid", 1)])
def test_a_shell_sees_the_exit_code_of_a_command_whose_reader_is_gone(tmp_path: Path, level: str, code: int) -> None:
    words = ("audit", SAMPLE, "--report", "r", "--fail-on", level, "--jobs", 1)
    done = in_bash(tmp_path, "AUDITOR | true; exit ${PIPESTATUS[0]}", *words)
    assert (done.returncode, without_log(done.stderr)) == (code, "")


def test_help_without_a_reader_is_no_error(tmp_path: Path) -> None:
    done = in_bash(tmp_path, "AUDITOR | true; exit ${PIPESTATUS[0]}", "--help")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "closed", [*(pytest.param(closed, marks=pytest.mark.slow) for closed in ("<&-", "2>&-")), ">&-", "<&- >&- 2>&-"]
)
def test_closed_streams_are_no_hindrance(tmp_path: Path, closed: str) -> None:
    done = in_bash(tmp_path, f"AUDITOR {closed}", "audit", SAMPLE, "--report", "r", "--jobs", 1)
    assert (done.returncode, without_log(done.stderr)) == (1, "")
    assert (tmp_path / "r" / "manifest.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_the_output_is_reported() -> None:
    with Path("/dev/full").open("w") as full:
        done = run("query", SAMPLE, "loaves", "-o", "json", stdout=full)
    assert (done.returncode, done.stderr) == (
        4,
        "error: No space left on device; free disk space, or write elsewhere (--report, $TMPDIR)\n",
    )


def test_progress_is_for_terminals_alone_and_leaves_nothing(tmp_path: Path) -> None:
    words = ("audit", SAMPLE, "--jobs", 1, "--report")  # exit code 1: the summary is printed with --quiet too
    assert run(*words, "r", cwd=tmp_path).stderr == ""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    with start(*words, "s", stderr=theirs, cwd=tmp_path, env={"NO_COLOR": "1"}) as process:
        printed, _ = process.communicate(timeout=120)
    os.close(theirs)
    shown = ""
    with suppress(OSError):  # the end of what was written to a terminal
        while block := os.read(ours, 65536):
            shown += block.decode()
    os.close(ours)
    assert shown.rpartition("\r\x1b[K")[2] == "", "what was drawn is removed"
    assert "\x1b[3" not in shown, "no colour"
    assert "\x1b" not in printed
    assert "CRITICAL 1 cause" in printed


@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_output_is_utf8_whatever_the_locale_says(tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "xs.json").write_text(json.dumps(xs()))
    document = {"apiVersion": "x.example.com/v1", "kind": "Xx", "metadata": {"name": "мука", "namespace": "d"}}
    (tmp_path / "x.json").write_text(json.dumps(document))
    words = ("validate", "x.json", "--crds", "xs.json", "-o", "json")
    done = run(*words, cwd=tmp_path, env=variables, encoding="utf-8")
    assert (done.returncode, done.stderr) == (1, "")
    assert "мука" in done.stdout
