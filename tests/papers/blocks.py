"""Commands in Markdown: blocks of ```sh hold commands, blocks of ```console transcripts (`$ command`, then its output).

Blocks without a language hold commands of other programs, and are not run.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from tests.command import auditor, unset
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PAGES", "Command", "blocks_of", "commands_of", "fill_transcripts", "is_plain", "run", "without_ages"]

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
"""Every page whose commands are run."""

_BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT_CODE = re.compile(r"\s# (?:exit code )?(\d+)\b[^\n]*$")
_AGE = re.compile(r"(?<=\s)\d+d$", re.MULTILINE)
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d UTC\b")
_DURATION = re.compile(r"\b\d+\.\d s$", re.MULTILINE)
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*"|\s\#.*$""")
_OF_A_SHELL = re.compile(r"[^\w\s./:=,%@+-]")
_SECONDS = 120


class Command(NamedTuple):
    """A command of a page and the exit codes that the page allows it: 0 and 1, or the one that its comment names."""

    text: str
    codes: tuple[int, ...]


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return language and text of every block of a page."""
    return _BLOCK.findall(page.read_text())


def commands_of(page: Path) -> list[Command]:
    """Return the commands of a page's ```sh blocks, in order."""
    commands = []
    for language, text in blocks_of(page):
        if language == "sh":
            for line in text.splitlines():
                code = _EXIT_CODE.search(line)
                commands.append(Command(line, (int(code[1]),) if code else (0, 1)))
    return commands


def run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a line of a page: one of the auditor alone in this process, one with a pipe or a pattern in a shell."""
    if is_plain(command):
        words = shlex.split(command, comments=True)[1:]
        ended = auditor(*words, cwd=folder, env={**unset(), **environment})
        return subprocess.CompletedProcess(command, ended.code, ended.stdout, ended.stderr)
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


def is_plain(command: str) -> bool:
    """Return whether a line is a command of the auditor in which a shell has nothing to do but to split it."""
    return command.startswith("auditor ") and not _OF_A_SHELL.search(_QUOTED.sub("", command))


def without_ages(text: str) -> str:
    """Return text whose last column AGE says 0d, and whose times and durations of runs are equal."""
    return _DURATION.sub("0.1 s", _TIME.sub("2026-01-01 00:00 UTC", _AGE.sub("0d", text)))


def fill_transcripts(text: str, folder: Path, environment: dict[str, str]) -> str:
    """Return a page whose ```console blocks hold what their commands print today; where only times differ they remain."""

    def filled(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        command, _, before = match[2].partition("\n")
        assert command.startswith("$ "), f"the first line of a transcript is a command: {command}"
        done = run(command.removeprefix("$ "), folder, environment)
        assert done.returncode in (0, 1), done.stderr
        same = without_ages(done.stdout) == without_ages(before)
        return f"```console\n{command}\n{before if same else done.stdout}```"

    return _BLOCK.sub(filled, text)
