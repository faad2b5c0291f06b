"""Completion: what click knows, and the kinds and namespaces of the report or dump on the line; in a real bash too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.run.names import names_of
from tests.pipelines.job.conftest import SAMPLE
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ["loaves.bakery.example.com", "orders.bakery.example.com", "ovens.bakery.example.com"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def answers(*words: str, incomplete: str = "") -> list[str]:
    line = " ".join(["auditor", *words, incomplete])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_AUDITOR_COMPLETE": "bash_complete", "COMP_WORDS": line}
    env |= {"COMP_CWORD": str(len(words) + 1), "AUDITOR_PROG_NAME": "auditor"}
    done = subprocess.run(
        [sys.executable, "-m", "pipelines"], capture_output=True, text=True, env=env, check=False
    )  # fmt: skip
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_and_options(cache: Path) -> None:
    assert answers(incomplete="comp") == ["completion"]
    assert "--keep-reports" in answers("audit", incomplete="--keep")


def test_kinds_and_namespaces_of_a_dump_and_of_a_report(cache: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pipelines", "audit", str(SAMPLE), "--report", str(tmp_path / "r"), "--jobs", "1"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    for target in (str(SAMPLE), str(tmp_path / "r")):
        assert set(KINDS) <= set(answers("query", target))
        assert answers("query", target, incomplete="lo") == KINDS[:1]
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


@pytest.mark.parametrize("content", [b"", b"garbage", b"{"])
def test_what_is_no_dump_has_no_names(cache: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert names_of(str(tmp_path / "x")).kinds == []
    assert names_of(str(tmp_path / "missing")).kinds == []


def test_names_that_a_shell_would_evaluate_are_not_offered(cache: Path, tmp_path: Path) -> None:
    report = tmp_path / "r"
    report.mkdir()
    command = [sys.executable, "-m", "pipelines", "audit", str(SAMPLE), "--report", str(report), "--jobs", "1"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    manifest = report / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"plural": "loaves"', '"plural": "$(touch x)"'))
    assert names_of(str(report)).kinds == KINDS[1:]


def test_kubectl_asks_for_completions(cache: Path) -> None:
    def asked(*words: str) -> list[str]:
        code = "from pipelines.cli.completion import complete_kubectl; complete_kubectl()"
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=env, check=True)
        return done.stdout.splitlines()

    assert asked("query", str(SAMPLE), "ov") == ["ovens.bakery.example.com", ":4"]
    assert asked("comp") == ["completion\tPrint the completion script of a shell.", ":4"]
    assert asked("audit", "")[-1] == ":0"  # files


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash_completes(cache: Path, tmp_path: Path) -> None:
    program = tmp_path / "auditor"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} AUDITOR_PROG_NAME=auditor exec {sys.executable} -m pipelines "$@"\n'
    )
    program.chmod(0o755)
    script = (
        'source <(auditor completion bash); COMP_WORDS=(auditor query "$1" or); COMP_CWORD=3; COMP_LINE="${COMP_WORDS[*]}"; '
        'COMP_POINT=${#COMP_LINE}; _auditor_completion auditor; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(SAMPLE)], capture_output=True, text=True, env=env, check=True
    )
    assert done.stdout.split() == ["orders.bakery.example.com"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_the_command(shell: str) -> None:
    command = [sys.executable, "-m", "pipelines", "completion", shell]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
    )
    assert "_AUDITOR_COMPLETE" in done.stdout
