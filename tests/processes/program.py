"""The program in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["run", "start"]


def start(*words: object, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Start a command of the auditor; its output, its errors and its input are pipes unless options say otherwise."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    command = [sys.executable, "-m", "pipelines", *map(str, words)]
    return subprocess.Popen(command, env=variables, text=True, **{**pipes, **options})


def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of the auditor to its end, without input."""
    with start(*words, stdin=subprocess.DEVNULL, **options) as process:
        out, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
