"""The dumps of sample-data are those that its modules write, and `make audit` shows with them what it should."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from auditor.causes.table import read_rows
from tests.papers.blocks import run
from tests.papers.sandbox import environment_of, make_sandbox
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data"
NIGHTS = sorted(SAMPLE.glob("*day/*.db.gz"))
MOST_BYTES = 1 << 20
_RECIPE = re.compile(r"^audit:.*\n((?:\t.*\n)+)", re.MULTILINE)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Run what `make audit` runs; return the folder, and what each command printed."""
    folder = tmp_path_factory.mktemp("sample") / "sandbox"
    folder.mkdir()
    make_sandbox(folder)
    found = _RECIPE.search((ROOT / "Makefile").read_text())
    assert found is not None
    printed = []
    for line in found[1].splitlines():
        if "auditor " in line:
            done = run(line.strip().replace("$(BIN)/", ""), folder, environment_of(folder))
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
    return folder, printed


def test_the_dumps_are_what_the_modules_write(tmp_path: Path) -> None:
    made = subprocess.run([sys.executable, SAMPLE / "make.py", "--to", tmp_path], capture_output=True, check=True)
    assert len(made.stdout.splitlines()) == len(NIGHTS) == 4
    for dump in NIGHTS:
        again = tmp_path / dump.relative_to(SAMPLE)
        assert gzip.decompress(again.read_bytes()) == gzip.decompress(dump.read_bytes()), "run sample-data/make.py"


def test_the_command_that_writes_them_prints_its_help() -> None:
    asked = subprocess.run([sys.executable, SAMPLE / "make.py", "--help"], capture_output=True, text=True, check=True)
    assert "--snapshot" in asked.stdout


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) < MOST_BYTES


def test_something_is_new_and_something_is_fixed(audited: tuple[Path, list[str]]) -> None:
    rows = read_rows(audited[0] / "out" / "tuesday")
    assert rows is not None
    assert sorted((row["cluster"], row["kind"], row["impact"] or row["field"], row["change"]) for row in rows) == [
        ("east", "Loaf", "spec", "new"),
        ("east", "Order", "spec", "same"),
        ("east", "Oven", "spec.serviced", "fixed"),
        ("east", "Recipe", "needs-webhook", "same"),
        ("west", "Order", "spec", "fixed"),
        ("west", "Recipe", "breaks-list", "new"),
        ("west", "Recipe", "needs-webhook", "not-rechecked"),
    ]


def test_the_summary_is_short_and_each_question_is_answered(audited: tuple[Path, list[str]]) -> None:
    quiet, summary, *answers = audited[1]
    assert quiet == ""
    assert summary.startswith("BROKEN  east, west")
    assert "+2 new, 1 fixed" in summary
    assert len(summary.splitlines()) <= 24
    assert len(answers) == 3
    assert all(len(answer.splitlines()) > 1 for answer in answers)
