"""A small run against the real libraries, where they and Go are beside the project."""

import shutil
import sys

import pytest

from tests.differential import run
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


def test_where_the_reference_data_are_missing_it_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["run"])
    monkeypatch.setattr(run, "SHARED", tmp_path / "shared")
    assert run.main() == 0
    assert capsys.readouterr().out.startswith("skipped: ../shared")
