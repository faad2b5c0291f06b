"""Runs a command on a terminal of its own and returns all that it shows."""

from __future__ import annotations

import io
import os
import pty
import select
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["on_terminal"]


def on_terminal(arguments: list[str], folder: Path, *, seconds: float = 120) -> tuple[int, bytes]:
    """Run `auditor ARGUMENTS` in a folder, its three streams a terminal; return exit code and output.

    The process is a fork of this one, which spares the start of an interpreter; its commands need `--jobs 1`, since the
    fork server that an earlier test may have started is no child of it.
    """
    from pipelines.cli import main as cli

    sys.stdout.flush()
    process, terminal = pty.fork()
    if process == 0:
        code = 99
        try:
            os.chdir(folder)
            os.environ["NO_COLOR"] = "1"  # our own colours are no fault
            os.environ["TERM"] = "dumb"  # nor is our own bar, which only commands of some length have
            sys.argv = ["auditor", *arguments]
            sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
            sys.stdout, sys.stderr = (
                io.TextIOWrapper(io.FileIO(number, "w", closefd=False), encoding="utf-8", write_through=True)
                for number in (1, 2)
            )
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 98
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(code)
    output, until = bytearray(), time.monotonic() + seconds
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            block = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        output += block
    else:
        os.kill(process, 9)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), bytes(output)
