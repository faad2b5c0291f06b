"""Completion: what click knows, and the kinds and namespaces of the report or dump on the line; in a real bash too."""

from __future__ import annotations

import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from pipelines.run.names import names_of
from tests.pipelines.job.conftest import SAMPLE
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
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


def processor_time(call: Callable[[], object]) -> float:
    """Return the seconds of processor time of the processes that a call starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
        code = "from pipelines.cli.main import complete_kubectl; complete_kubectl()"
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=env, check=True)
        return done.stdout.splitlines()

    assert asked("query", str(SAMPLE), "ov") == ["ovens.bakery.example.com", ":4"]
    assert asked("comp") == ["completion\tPrint the completion script of a shell.", ":4"]
    assert asked("audit", "")[-1] == ":0"  # files


@pytest.fixture
def shell_environment(cache: Path, tmp_path: Path) -> dict[str, str]:
    """An environment with the programs of an installation on its path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    kubectl = "from pipelines.cli.main import complete_kubectl; complete_kubectl()"
    for name, call in (
        ("auditor", "-m pipelines"),
        ("kubectl-audit_dump", "-m pipelines"),
        ("kubectl_complete-audit_dump", f"-c '{kubectl}'"),
    ):
        text = f'#!/bin/sh\nPYTHONPATH={ROOT} AUDITOR_PROG_NAME=auditor exec {sys.executable} {call} "$@"\n'
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def test_a_real_bash_completes(shell_environment: dict[str, str]) -> None:
    script = (
        'source <(auditor completion bash); COMP_WORDS=(auditor query "$1" or); COMP_CWORD=3; COMP_LINE="${COMP_WORDS[*]}"; '
        'COMP_POINT=${#COMP_LINE}; _auditor_completion auditor; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [needs("bash"), "-c", script, "bash", str(SAMPLE)],
        capture_output=True, text=True, env=shell_environment, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["orders.bakery.example.com"]


def test_a_real_fish_completes(shell_environment: dict[str, str]) -> None:
    script = f"auditor completion fish | source; complete -C 'auditor query {SAMPLE} or'; complete -C 'auditor comp'"
    command = [needs("fish"), "--no-config", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=shell_environment, check=True)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["orders.bakery.example.com", "completion"]


def test_a_real_zsh_completes(shell_environment: dict[str, str]) -> None:
    """Types a line on a terminal and presses Tab."""
    zsh = needs("zsh")
    process, terminal = pty.fork()
    if process == 0:
        os.execve(zsh, [zsh, "-f", "-i"], shell_environment)
    try:
        os.write(
            terminal, b"autoload -U compinit; compinit -D -u; source <(auditor completion zsh); print ready-$((1+1))\n"
        )
        read_until(terminal, b"ready-2")
        os.write(terminal, f"auditor query {SAMPLE} or\t".encode())
        read_until(terminal, b"orders.bakery.example.com")
        os.write(terminal, b"\x15auditor comp\t")
        read_until(terminal, b"completion")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def read_until(terminal: int, text: bytes) -> None:
    """Read from a terminal until a text came, however it was wrapped."""
    got, end = b"", time.monotonic() + 60
    while text not in re.sub(rb"[\r\n\x08]|\x1b\[[0-9;?]*[A-Za-z]", b"", got):
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        assert ready, got
        got += os.read(terminal, 4096)


def test_a_real_kubectl_completes(shell_environment: dict[str, str]) -> None:
    kubectl = os.environ.get("KUBECTL") or needs("kubectl")
    command = [kubectl, "__complete", "audit-dump", "query", str(SAMPLE), "or"]
    done = subprocess.run(command, capture_output=True, text=True, env=shell_environment, check=True)
    assert done.stdout.splitlines() == ["orders.bakery.example.com", ":4"]


@pytest.mark.parametrize("kind", ["command", "report", "dump"])
def test_an_answer_takes_at_most_150_ms(cache: Path, tmp_path: Path, kind: str) -> None:
    """Processor time of the fastest of some; where Python and click alone take over 50 ms, three times theirs."""
    words = {"command": ("au",), "report": ("query", str(tmp_path / "r"), "lo"), "dump": ("query", str(SAMPLE), "lo")}
    if kind == "report":
        command = [
            sys.executable,
            "-m",
            "pipelines",
            "audit",
            str(SAMPLE),
            "--report",
            str(tmp_path / "r"),
            "--jobs",
            "1",
        ]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    took, peer = [], []
    for _ in range(6):
        took.append(processor_time(lambda: answers(*words[kind][:-1], incomplete=words[kind][-1])))
        peer.append(processor_time(lambda: subprocess.run([sys.executable, "-c", "import click"], check=True)))
    assert min(took) < max(0.15, 3 * min(peer))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_the_command(shell: str) -> None:
    command = [sys.executable, "-m", "pipelines", "completion", shell]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
    )
    assert "_AUDITOR_COMPLETE" in done.stdout
