"""The libraries of other releases, and what is kept of their answers."""

import json
import subprocess

import pytest

from tests.reference import make
from tests.reference.libraries import LIBRARIES, applied, difference, library

FOUND = [{"field": name, "type": "t", "message": name, "badValue": None} for name in "abd"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ({"a": 1, "b": {"c": [1, 2], "d": None}}, {"a": 1.0, "b": {"d": 0, "c": [1]}, "e": None}),
        ({"findings": FOUND}, {"findings": [FOUND[0], {**FOUND[1], "message": "c"}, {**FOUND[2], "field": "z"}]}),
        ({"findings": FOUND}, {"findings": []}),
        ({"findings": []}, {"findings": FOUND}),
        ({"findings": [FOUND[0], FOUND[0]]}, {"findings": [FOUND[0]]}),
        ({"unreadable": "x", "findings": []}, {"findings": [], "object": {"a": [{"b": None}]}}),
        ({"value": None}, {"value": False}),
    ],
)
def test_an_answer_is_made_of_another_one_and_the_difference(was, now):
    change = difference(was, now)
    assert json.dumps(applied(was, json.loads(json.dumps(change))), sort_keys=True) == json.dumps(now, sort_keys=True)
    assert difference(now, now) is None
    assert applied(now, None) == now


def test_what_is_kept_of_findings_is_what_changed():
    now = [FOUND[0], {**FOUND[1], "message": "c"}, FOUND[2]]
    assert difference({"findings": FOUND}, {"findings": now}) == {"~": {"findings": {"-": [1], "+": [now[1]]}}}


def test_a_release_is_named_as_people_do():
    assert library("1.34") == library("v0.34.x") == library("v0.34.13") == ("1.34", LIBRARIES["1.34"])
    assert library("v0.38.0-alpha.2") == ("1.38", LIBRARIES["1.38"])
    name, older = library("v0.34.2")
    assert (name, older.version, older == LIBRARIES["1.34"]) == ("1.34", "v0.34.2", False)
    with pytest.raises(SystemExit, match=r"no libraries of '1.99' are known; known are 1.32, "):
        library("1.99")


def test_a_module_asks_for_the_libraries_of_the_release_alone(tmp_path, monkeypatch):
    run = []
    monkeypatch.setattr(subprocess, "run", lambda words, **more: run.append((words, more["env"].get("GOTOOLCHAIN"))))
    make._write_module(tmp_path, "some/name", LIBRARIES["1.38"])
    text = (tmp_path / "go.mod").read_text()
    assert text.splitlines()[:2] == ["module some/name", "go 1.27.4"]
    assert text.count("require k8s.io/") == 3 == text.count(" v0.38.0-alpha.2\n")
    assert "replace k8s.io/kube-openapi => k8s.io/kube-openapi v0.0.0-20261014044854-ca3452a79603\n" in text
    assert run == [(["nice", "-n", "19", "go", "mod", "tidy"], "go1.27.4")]
    make._write_module(tmp_path, "some/name", LIBRARIES["1.38"])
    assert len(run) == 1, "asked again what was answered"
    make._write_module(tmp_path, "some/name", LIBRARIES["1.34"])
    assert (tmp_path / "go.mod").read_text().splitlines()[1] == "go 1.23.0"
    assert "replace" not in (tmp_path / "go.mod").read_text()
    assert len(run) == 2


def test_new_and_lost_differences_change_the_exit_code(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make, "ANSWERS", tmp_path / "answers")
    monkeypatch.setattr(make, "build", lambda _: tmp_path / "program")
    monkeypatch.setattr(make, "build_beside", lambda _: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 0, "version\n"))
    replaced = {"findings": [], "object": {}}

    def answered(_, path):
        suite = json.loads(path.read_text(encoding="utf-8"))
        suite["cases"][0]["expect"] = replaced
        return json.dumps(suite)

    monkeypatch.setattr(make, "answered", answered)
    assert make.answer_as("1.34", "v0.34.13") == 0, "the first time nothing is known that could have changed"
    assert "bakery.json: 153 cases, 1 answered differently" in capsys.readouterr().out
    kept = make.recorded_answers("1.34")
    case = json.loads((make.VECTORS / "bakery.json").read_text())["cases"][0]
    assert kept["release"] == "v0.34.13"
    assert applied(case["expect"], kept["bakery.json"][case["name"]]) == replaced
    assert make.answer_as("1.34", "v0.34.13") == 0
    replaced["findings"] = FOUND
    assert make.answer_as("1.34", "v0.34.13") > 0
