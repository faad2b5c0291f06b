"""Completion: what click knows, and the kinds and namespaces of the report or dump on the line."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.cli.main import complete_kubectl
from pipelines.run.names import names_of
from tests.command import auditor
from tests.counting import calls_of
from tests.pipelines.job.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ["loaves.bakery.example.com", "orders.bakery.example.com", "ovens.bakery.example.com"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def answers(*words: str, incomplete: str = "", cwd: Path | None = None) -> list[str]:
    line = " ".join(["auditor", *words, incomplete])
    env = {"_AUDITOR_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) + 1)}
    return [line.partition(",")[2] for line in auditor(cwd=cwd, env=env).stdout.splitlines()]


def test_commands_and_options(cache: Path) -> None:
    assert answers(incomplete="comp") == ["completion"]
    assert "--keep-reports" in answers("audit", incomplete="--keep")


def test_kinds_and_namespaces_of_a_dump_and_of_a_report(cache: Path, tmp_path: Path) -> None:
    auditor("audit", SAMPLE, "--report", tmp_path / "r", "--jobs", 1)
    for target in (str(SAMPLE), str(tmp_path / "r")):
        assert set(KINDS) <= set(answers("query", target))
        assert answers("query", target, incomplete="lo") == answers("get", target, incomplete="lo") == KINDS[:1]
        assert {"north", "south"} <= set(answers("query", target, "-n"))
    assert KINDS[0] in answers("audit", str(SAMPLE), "--include", incomplete="loa")


def test_what_was_found_is_kept_until_the_dump_changes(cache: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump.gz"
    shutil.copy(SAMPLE, dump)
    first = names_of(str(dump))
    (kept,) = (cache / "auditor" / "names").iterdir()
    kept.write_text(kept.read_text().replace("ovens", "other"))
    assert "other.bakery.example.com" in names_of(str(dump)).kinds
    os.utime(dump, ns=(1, 1))
    assert names_of(str(dump)) == first
    kept.write_text("no JSON")
    assert names_of(str(dump)) == first


@pytest.mark.parametrize("content", [b"", b"garbage", b"{", b'{"apiVersion": "v1", "kind": "Pod"}\n'])
def test_what_has_no_keys_has_no_names(cache: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert names_of(str(tmp_path / "x")).kinds == []
    assert names_of(str(tmp_path / "missing")).kinds == []


def test_names_that_a_shell_would_evaluate_are_not_offered(cache: Path, tmp_path: Path) -> None:
    report = tmp_path / "r"
    auditor("audit", SAMPLE, "--report", report, "--jobs", 1)
    manifest = report / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"plural": "loaves"', '"plural": "$(touch x)"'))
    assert names_of(str(report)).kinds == KINDS[1:]


def test_kubectl_asks_for_completions(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(*words: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["kubectl_complete-audit_dump", *words])
        complete_kubectl()
        return capsys.readouterr().out.splitlines()

    assert asked("query", str(SAMPLE), "ov") == ["ovens.bakery.example.com", ":4"]
    assert asked("comp") == ["completion\tPrint the completion script of a shell.", ":4"]
    assert asked("audit", "")[-1] == ":0"  # files


MOST_CALLS = {"command": 5_000, "report": 5_000, "dump": 13_000}
"""About twice of what each takes; a module more that is loaded is thousands."""
ANSWERS = {"command": ("au",), "report": ("query", "r", "lo"), "dump": ("query", str(SAMPLE), "lo")}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_is_little_work(cache: Path, tmp_path: Path, kind: str) -> None:
    """What it costs is counted in calls; which modules it loads, `tests/processes/test_start.py` checks."""
    auditor("audit", SAMPLE, "--report", "r", "--jobs", 1, cwd=tmp_path)
    *words, incomplete = ANSWERS[kind]
    answers(*words, incomplete=incomplete, cwd=tmp_path)  # what is loaded and kept is no part of it
    shutil.rmtree(cache, ignore_errors=True)
    got: list[str] = []
    calls = calls_of(lambda: got.extend(answers(*words, incomplete=incomplete, cwd=tmp_path)))
    assert got == (["audit"] if kind == "command" else KINDS[:1])
    assert calls < MOST_CALLS[kind]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_the_command(shell: str) -> None:
    assert "_AUDITOR_COMPLETE" in auditor("completion", shell).stdout
