"""A small run against the real libraries, where they and Go are beside the project."""

import copy
import json
import shutil
import sys
from random import Random

import pytest

from tests.differential import fast_vs_exact, run, upgrade
from tests.differential.test_fast_vs_exact import DEFINITION
from tests.shared import shared


@pytest.mark.parametrize(
    ("objects", "definitions"),
    [pytest.param(200, 60, marks=pytest.mark.slow), pytest.param(400, 150, marks=pytest.mark.nightly)],
)
def test_a_sample_is_judged_as_the_real_libraries_judge_it(monkeypatch, capsys, objects, definitions):
    shared("oracle")
    if not shutil.which("go"):
        pytest.skip("Go is missing: the real libraries cannot be built")
    monkeypatch.setattr(
        sys, "argv", ["run", "--objects", str(objects), "--definitions", str(definitions), "--seed", "3"]
    )
    code = run.main()
    said = capsys.readouterr().out
    assert code == 0, said
    assert "real definitions: " in said
    assert "drawn definitions: " in said


@pytest.mark.parametrize(
    "objects", [pytest.param(200, marks=pytest.mark.slow), pytest.param(600, marks=pytest.mark.nightly)]
)
def test_what_a_scan_says_changes_is_what_the_real_libraries_read_differently(monkeypatch, capsys, objects):
    shared("oracle")
    if not shutil.which("go"):
        pytest.skip("Go is missing: the real libraries cannot be built")
    monkeypatch.setattr(sys, "argv", ["upgrade", "--objects", str(objects), "--seed", "3"])
    code = upgrade.main()
    said = capsys.readouterr().out
    assert code == 0, said
    assert "upgrade scans: " in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "words", "reported"),
    [
        (run, ["--definitions", "1"], "real definitions: 40 answers compared, 0 differ"),
        (upgrade, [], "upgrade scans: 40 objects compared, 0 differ"),
        (fast_vs_exact, ["--jobs", "1"], "40 comparisons of 1 versions"),
    ],
)
def test_other_definitions_are_compared_where_they_are_given(monkeypatch, capsys, tmp_path, program, words, reported):
    shared("oracle")
    if not shutil.which("go"):
        pytest.skip("Go is missing: the real libraries cannot be built")
    (tmp_path / "foos.json").write_text(json.dumps(DEFINITION))
    monkeypatch.setattr(sys, "argv", ["program", "--objects", "40", "--crds", str(tmp_path), *words])
    assert program.main() == 0
    assert reported in capsys.readouterr().out


def test_a_schema_with_null_in_place_of_its_properties_is_changed_like_one_without():
    schema = DEFINITION["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    nothing = {**copy.deepcopy(schema), "properties": None, "required": None}
    for seed in range(60):  # some of them change something
        changed = [copy.deepcopy(one) for one in (nothing, {"type": "object"})]
        for one in changed:
            upgrade.change_schema(one, Random(seed))
            if one.get("properties", 0) is None:
                del one["properties"]
        assert changed[0] == changed[1]


@pytest.mark.parametrize("program", [run, upgrade])
def test_where_the_reference_data_are_missing_it_says_so(monkeypatch, capsys, tmp_path, program):
    monkeypatch.setattr(sys, "argv", ["program"])
    monkeypatch.setattr(program, "SHARED", tmp_path / "shared")
    assert program.main() == 0
    assert capsys.readouterr().out.startswith("skipped: ../shared")
