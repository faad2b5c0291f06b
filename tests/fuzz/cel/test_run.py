"""A small part of the differential run, where the oracle is there; and that what is drawn covers everything."""

import shutil
from collections import Counter
from random import Random

import pytest

from auditor.cel.cel_errors import CompileError
from auditor.cel.kubernetes import kubernetes_libraries
from tests.fuzz.cel import drawn, run
from tests.fuzz.cel.expressions import Drawer
from tests.shared import shared


def test_every_function_has_its_turn_in_expressions_that_compile():
    drawer = Drawer(Random(2), drawn.variables())
    used, compiled = Counter(), 0
    for turn in range(len(drawer.turns) * 8):
        text, _ = drawer.root(turn)
        try:
            program = drawn.environment().compile(text)
        except CompileError:
            continue
        compiled += 1
        used.update({one.name for one in program.checked.references.values() if one.overloads})
    assert compiled > len(drawer.turns) * 6
    assert set(kubernetes_libraries().functions) - set(used) == {"@sortByAssociatedKeys"} - set(used)


def test_without_the_oracle_the_command_says_so_and_stops(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(run, "SHARED", tmp_path)
    assert run.main([]) == 0
    assert "SKIPPED" in capsys.readouterr().err
    (tmp_path / "oracle").mkdir()
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert run.main([]) == 0
    assert "Go is needed" in capsys.readouterr().err


@pytest.mark.slow
def test_drawn_rules_are_judged_as_the_real_libraries_judge_them(capsys):
    shared("oracle/README.md")
    if shutil.which("go") is None:
        pytest.skip("Go is needed to build the oracle")
    code = run.main(["--evaluations", "4000", "--sorts", "drawn", "--seed", "11"])
    assert code == 0, capsys.readouterr().out
