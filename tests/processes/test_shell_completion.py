"""Completion in real shells, and in a real kubectl."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture
def shell_environment(tmp_path: Path) -> dict[str, str]:
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
    return {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "dumb",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


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
