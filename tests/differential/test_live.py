"""A small run against the real libraries, where they and Go are beside the project."""

import shutil
import sys

import pytest

from tests.differential import run, upgrade
from tests.shared import shared


@pytest.mark.slow
def test_a_sample_is_judged_as_the_real_libraries_judge_it(monkeypatch, capsys):
    shared("oracle")
    if not shutil.which("go"):
        pytest.skip("Go is missing: the real libraries cannot be built")
    monkeypatch.setattr(sys, "argv", ["run", "--objects", "400", "--definitions", "150", "--seed", "3"])
    code = run.main()
    said = capsys.readouterr().out
    assert code == 0, said
    assert "real definitions: " in said
    assert "drawn definitions: " in said


@pytest.mark.slow
def test_what_a_scan_says_changes_is_what_the_real_libraries_read_differently(monkeypatch, capsys):
    shared("oracle")
    if not shutil.which("go"):
        pytest.skip("Go is missing: the real libraries cannot be built")
    monkeypatch.setattr(sys, "argv", ["upgrade", "--objects", "600", "--seed", "3"])
    code = upgrade.main()
    said = capsys.readouterr().out
    assert code == 0, said
    assert "upgrade scans: " in said


@pytest.mark.parametrize("program", [run, upgrade])
def test_where_the_reference_data_are_missing_it_says_so(monkeypatch, capsys, tmp_path, program):
    monkeypatch.setattr(sys, "argv", ["program"])
    monkeypatch.setattr(program, "SHARED", tmp_path / "shared")
    assert program.main() == 0
    assert capsys.readouterr().out.startswith("skipped: ../shared")
