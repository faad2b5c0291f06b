"""Signals that end an audit: its exit code, and nothing that it leaves behind."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from pipelines.cli import main
from pipelines.exit_codes import Ended
from tests.documents import definition_of
from tests.processes.program import start
from tests.signals import heeded

if TYPE_CHECKING:
    from pathlib import Path

GUARD = 120
"""Seconds after which a wait is given up."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGINT, signal.SIGINT], 130),
        ([signal.SIGTERM, signal.SIGTERM], 143),
        ([signal.SIGHUP, signal.SIGHUP], 129),
    ],
)
def test_interrupt_leaves_no_process_and_no_half_report(tmp_path: Path, signals: list[int], code: int) -> None:
    head = '{"apiVersion":"x.example.com/v1","kind":"X","metadata":{"namespace":"d","name":"x'
    (tmp_path / "many.ndjson").write_text("".join(f'{head}{number}"}}}}\n' for number in range(60_000)))
    (tmp_path / "crd.json").write_text(json.dumps(definition_of({"type": "object"})))
    out = tmp_path / "out"
    out.mkdir()
    words = ("--crds", tmp_path / "crd.json", "--report", out / "r", "--tables", out / "t", "--jobs", 2)
    with heeded(*signals):
        process = start("audit", tmp_path / "many.ndjson", *words, start_new_session=True)
    deadline = time.monotonic() + GUARD
    while not any(out.glob(".r.*/report/objects/*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signals[0])
    while signals[1:] and process.poll() is None:  # while it cleans up and ends; its threads may take them as well
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signals[1])
    _, error = process.communicate(timeout=GUARD)
    assert process.returncode == code, error
    assert "Traceback" not in error
    assert list(out.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(0.05)


def test_the_first_signal_decides_and_no_other_interrupts_the_clean_up() -> None:
    with heeded(*main._ENDING):
        with pytest.raises(Ended):
            main._end(signal.SIGHUP, None)
        atexit.unregister(main._ignore)  # this process goes on
        for number in main._ENDING:
            signal.raise_signal(number)


@pytest.mark.slow
def test_signals_that_arrive_while_the_process_ends_do_not_change_its_exit_code(tmp_path: Path) -> None:
    with heeded(signal.SIGHUP, signal.SIGTERM):
        process = start("audit", "-", "--report", tmp_path / "r", env={"AUDITOR_AUDIT_QUIET": ""})
    assert process.stderr is not None
    assert process.stdin is not None
    assert "audit of" in process.stderr.readline()  # it waits for standard input
    process.send_signal(signal.SIGHUP)
    assert process.stderr.readline() == "stopped by SIGHUP; nothing was written\n"
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=GUARD)
    assert process.returncode == 129
