"""The command line in this process: what a command prints, and the code that it ends with.

A process is started only where the process is the subject: `tests/processes`.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self
from unittest import mock

from pipelines.cli.main import main
from pipelines.log import LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Ended", "auditor", "unset"]

QUIET = "AUDITOR_AUDIT_QUIET"
_LIMITS = (resource.RLIMIT_STACK, resource.RLIMIT_DATA)
"""Limits that a command sets for its process."""


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    code: int
    stdout: str
    """What is not UTF-8 in it is available by the error handler `surrogateescape`."""
    stderr: str
    folder: Path
    """The current folder of the command."""

    @property
    def output(self) -> str:
        """What it printed: standard output, then standard error."""
        return self.stdout + self.stderr

    def files(self) -> list[str]:
        """Return the files below its folder, as paths from there, in order."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())


def unset() -> dict[str, None]:
    """Return the variables of the auditor that are set here, as `env` of a command takes them away."""
    return dict.fromkeys(name for name in os.environ if name.startswith("AUDITOR_"))


def auditor(
    *words: object,
    cwd: Path | str | None = None,
    env: Mapping[str, str | None] | None = None,
    stdin: bytes | str = b"",
    stdout: int | None = None,
) -> Ended:
    """Run a command of the auditor as its program does, except for signals and for settings of the whole process.

    Args:
        *words: Arguments; anything else than text is made text.
        cwd: Its current folder; None for that of the test.
        env: Variables that it has beside those of the test; None takes a variable away. PYTHONIOENCODING is the
        encoding
            of its standard streams, as it is at the start of a process.
        stdin: What it reads from standard input.
        stdout: A descriptor that it writes to, such as a pipe that has no reader; None for `Ended.stdout`.
    """
    before, recursion, log = Path.cwd(), sys.getrecursionlimit(), LOG.settings
    limits, collects = [(one, resource.getrlimit(one)) for one in _LIMITS], gc.isenabled()
    folder = Path(cwd) if cwd is not None else before
    # `tests/conftest.py` leaves the log out by --quiet, which leaves out the summary too.
    with_log = QUIET in (env or {}) or not os.environ.get(QUIET)
    variables = {"AUDITOR_PROG_NAME": "auditor", QUIET: None, **(env or {})}
    given = stdin.encode() if isinstance(stdin, str) else stdin
    encoding, _, errors = (variables.get("PYTHONIOENCODING") or "utf-8").partition(":")
    with (
        _Stream(given, encoding=encoding, errors=errors or "strict") as read,
        _Stream(descriptor=stdout, encoding=encoding, errors=errors or "strict") as out,
        _Stream(encoding=encoding, errors="backslashreplace") as err,
    ):
        with (
            mock.patch.multiple(sys, stdin=read.text, stdout=out.text, stderr=err.text),
            mock.patch.object(sys, "__stdout__", out.text if stdout is not None else sys.__stdout__),
            mock.patch.dict(os.environ),
            nullcontext() if with_log else mock.patch.object(LOG, "configure", partial(_without_log, LOG.configure)),
        ):
            for name in [name for name, value in variables.items() if value is None]:
                os.environ.pop(name, None)
            os.environ.update({name: value for name, value in variables.items() if value is not None})
            os.chdir(folder)
            try:
                main([str(word) for word in words])
                code = 0
            except SystemExit as stop:
                code = int(stop.code or 0)
            finally:
                sys.stdout.flush()
                os.chdir(before)
                sys.setrecursionlimit(recursion)
                for limit, amounts in limits:
                    resource.setrlimit(limit, amounts)
                if collects:
                    gc.enable()
                LOG.restore(log)
        return Ended(code, out.read(), err.read(), folder)


def _without_log(configure: Callable[..., None], **settings: bool) -> None:
    configure(**{**settings, "quiet": True})


class _Stream:
    """A standard stream that is a file, as that of a process may be, so that it has a descriptor."""

    def __init__(
        self, content: bytes | None = None, *, descriptor: int | None = None, encoding: str, errors: str
    ) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by __exit__
        if content:
            self._file.write(content)
            self._file.seek(0)
        copy = os.dup(self._file.fileno() if descriptor is None else descriptor)
        mode = "w" if content is None else "r"
        self.text: Any = open(copy, mode, encoding=encoding, errors=errors, newline="")  # noqa: PTH123, SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.text.close()
        self._file.close()

    def read(self) -> str:
        """Return what was written."""
        self.text.flush()
        self._file.seek(0)
        return self._file.read().decode("utf-8", "surrogateescape")
