"""The program in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOUD", "run", "start", "without_log"]

LOUD = {"AUDITOR_AUDIT_QUIET": ""}
"""Variables with which an audit prints its summary whatever its exit code is, and its log."""
_LOGGED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ")


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


def without_log(errors: str) -> str:
    """Return what a command wrote to standard error without the lines of the log, which begin with a time."""
    return "".join(line for line in errors.splitlines(keepends=True) if not _LOGGED.match(line))
