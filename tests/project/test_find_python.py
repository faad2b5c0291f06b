"""Which interpreter `make setup` takes: python3, unless another one is clearly faster, whatever else runs meanwhile."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = (ROOT / ".ci" / "find-python").read_text()
OF_THE_MACHINE = " /usr/bin/python3 /usr/local/bin/python3"
"""Interpreters that a test cannot replace."""
NAMES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")


def chosen(folder: Path, **reported: str) -> str:
    """Return what is chosen where interpreters say how long they took: each turn one of their numbers; one without numbers is too old."""
    for name in NAMES:
        numbers = reported.get(name.replace(".", "_"), "")
        script = folder / name
        turns = folder / f"{name}.turns"
        turns.write_text("\n".join(numbers.split()))
        script.write_text(f'#!/bin/sh\nhead -n 1 "{turns}" | grep . && sed -i 1d "{turns}"\n')
        script.chmod(0o755)
    assert OF_THE_MACHINE in PROGRAM
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", PROGRAM.replace(OF_THE_MACHINE, "")],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("reported", "wanted"),
    [
        ({"python3": "20 20 20", "python3_12": "19 19 19"}, "python3"),  # not clearly
        ({"python3": "20 20 20", "python3_12": "17 17 17"}, "python3.12"),
        ({"python3": "20 20 20", "python3_12": "90 90 17"}, "python3.12"),  # slowed in two turns
        ({"python3": "90 20 90", "python3_12": "21 21 21"}, "python3"),
        ({"python3_13": "20 20 20", "python3_11": "20 20 20"}, "python3.13"),
    ],
)
def test_the_first_that_none_is_clearly_faster_than(tmp_path: Path, reported: dict[str, str], wanted: str) -> None:
    assert chosen(tmp_path, **reported) == wanted


def test_an_interpreter_says_how_long_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"<<'END'\n(.*?)^END$", PROGRAM, re.DOTALL | re.MULTILINE)
    assert "range(200)" in program
    exec(program.replace("range(200)", "range(1)"), {})
    assert re.fullmatch(r"\d+\n", capsys.readouterr().out)
