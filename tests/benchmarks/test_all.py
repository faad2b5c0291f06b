"""Every benchmark runs and writes the data of its tables; no figure in README.md is written by hand."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import all as everything
from tests.benchmarks.harness import ROOT, Results

FILES = {path.stem for path in (ROOT / "tests" / "benchmarks").glob("*.py") if not path.stem.startswith("test_")}
SHARED_PARTS = {"all", "drawn", "harness", "yardstick"}
OF_COMMITS = {"quick"}
"""Benchmarks whose figure is in the message of a commit, and in no table."""
NAMES = [benchmark.name for benchmark in everything.BENCHMARKS]


def test_every_file_is_a_benchmark_that_all_runs_or_a_part_they_share():
    assert {benchmark.name for benchmark in everything.BENCHMARKS} >= FILES - SHARED_PARTS - OF_COMMITS


@pytest.mark.parametrize("name", sorted(FILES - SHARED_PARTS))
def test_every_benchmark_is_named_in_the_readme(name):
    assert f"`{name}.py`" in (ROOT / "tests" / "benchmarks" / "README.md").read_text()


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_folder_of_a_benchmark_hides_no_module_of_pythons_own(name):
    """As scripts they put the project's folder in the place of their own."""
    tree = ast.parse((ROOT / "tests" / "benchmarks" / f"{name}.py").read_text())
    is_script = any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in tree.body)
    moves = any(isinstance(node, ast.If) and "__package__" in ast.unparse(node.test) for node in tree.body)
    assert is_script == moves


def results(name, *, at_least=None, machine=None):
    made = Results(name, f"Title of {name}", {"objects": 1000}, machine=machine or this_machine("A"))
    made.add("row", "ours", [1.0, 2.0, 3.0], at_least=at_least)
    made.note(f"A note of {name}.")
    return made


def this_machine(processor):
    return {
        "date": "2026-01-01", "processor": processor, "processors": 2, "memory_gb": 8.0, "system": "Linux 6 x86_64",
        "python": "CPython 3.11.2", "packages": {"orjson": "3.10"}, "go": "go1.26", "commit": "abc1234", "load_before": 0.1,
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for one in (results("peers", machine=this_machine("B")), results("run", at_least=9)):
        (tmp_path / f"{one.name}.json").write_text(json.dumps(one.to_json()))
    return tmp_path


def test_tables_are_made_of_the_results_in_the_order_of_the_benchmarks(folder):
    text = everything.rendered(everything.load(folder))
    run, peers = text.index("### Title of run"), text.index("### Title of peers")
    assert 0 < run < peers
    assert results("run", at_least=9).table() in text
    assert "A note of peers." in text
    assert "objects 1,000, 2026-01-01, commit abc1234, load before 0.1." in text


def test_figures_of_another_machine_say_so(folder):
    text = everything.rendered(everything.load(folder))
    assert text.startswith("Measured on A, 2 processors, 8.0 GB")
    assert text.count("Measured on B") == 1
    assert text.index("### Title of peers") < text.index("Measured on B")
    (folder / "large.json").write_text(json.dumps(results("large", machine=this_machine("B")).to_json()))
    text = everything.rendered(everything.load(folder))
    assert text.startswith("Measured on B"), "most of them are of that one"
    assert text.count("Measured on A") == 1
    assert text.index("### Title of run") < text.index("Measured on A") < text.index("### Title of peers")


def test_missed_limits_are_listed(folder):
    text = everything.rendered(everything.load(folder))
    assert text[text.index("### Limits that are missed") :].split("\n\n")[1].strip() == "- run: row, ours"
    (folder / "run.json").unlink()
    assert "None." in everything.rendered(everything.load(folder))


def test_only_what_is_between_the_marks_is_replaced(folder):
    readme = folder / "README.md"
    readme.write_text(f"before\n{everything.BEGIN}\nold\n{everything.END}\nafter\n")
    everything.render(folder, readme)
    once = readme.read_text()
    everything.render(folder, readme)
    assert readme.read_text() == once
    assert once.startswith(f"before\n{everything.BEGIN}\n")
    assert once.endswith(f"{everything.END}\nafter\n")
    assert "old" not in once
    assert "Title of run" in once


def test_a_readme_without_marks_is_left_alone(folder):
    readme = folder / "README.md"
    readme.write_text("nothing\n")
    with pytest.raises(ValueError, match="has no"):
        everything.render(folder, readme)
    assert readme.read_text() == "nothing\n"


def test_the_readme_holds_the_tables_of_its_results_and_no_others(tmp_path):
    readme = tmp_path / "README.md"
    shutil.copyfile(ROOT / "tests" / "benchmarks" / "README.md", readme)
    everything.render(ROOT / "tests" / "benchmarks" / "results", readme)
    assert readme.read_text() == (ROOT / "tests" / "benchmarks" / "README.md").read_text()


def run_all(*words):
    return subprocess.run(
        [sys.executable, ROOT / "tests" / "benchmarks" / "all.py", *map(str, words)],
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip


def test_one_benchmark_is_run_alone_and_its_results_stay_when_others_are(folder, monkeypatch, capsys):
    """Each program is replaced by one that writes a figure that misses its limit: that fails nothing."""
    readme = folder / "README.md"
    readme.write_text(f"{everything.BEGIN}\n{everything.END}\n")
    before = (folder / "run.json").read_bytes()
    asked = []

    def run(command, **_):
        asked.append(command)
        made = json.dumps(results("query", at_least=9).to_json())
        Path(command[-1]).write_text(made)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(everything.subprocess, "run", run)
    places = ("--results", folder, "--readme", readme, "--cache", folder / "cache")
    words = [str(word) for word in ("all.py", "--tiny", "--only", "query", *places)]
    monkeypatch.setattr(sys, "argv", words)
    assert everything.main() == 0
    out = capsys.readouterr().out
    assert "# query --repeats 1 --rows 2000" in out
    assert "with limits that are missed: run, query" in out
    assert (folder / "run.json").read_bytes() == before
    assert "Title of query" in readme.read_text()
    monkeypatch.setattr(sys, "argv", [*words, "--missing"])
    assert everything.main() == 0
    [command] = asked
    assert command[1].endswith("query.py")
    assert "# query" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("print('skipped: no network')", "without figures"),
        ("raise SystemExit(3)", "failed"),
        ("import sys; open(sys.argv[-1], 'w').write('{}')", "failed"),
        ("import sys; open(sys.argv[-1], 'w').write('[')", "failed"),
    ],
)
def test_what_has_no_figures_keeps_none_of_another_day(script, what, folder, monkeypatch):
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.py").write_text(script)
    monkeypatch.setattr(everything, "FOLDER", folder / "scripts")
    benchmark = everything.Benchmark("run", "", "", "")
    assert everything.measure(benchmark, "", folder, folder / "cache") == what
    assert [found.name for found in everything.load(folder)] == ["peers"]


SMALL = "startup"
"""The benchmark that takes seconds."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == SMALL else pytest.mark.nightly) for name in NAMES],
)
def test_every_benchmark_runs_with_few_objects(name, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"{everything.BEGIN}\n{everything.END}\n")
    done = run_all("--tiny", "--only", name, "--results", tmp_path / "results", "--readme", readme)
    reported = done.stdout + done.stderr
    if "skipped: " in reported and f"without figures: {name}" in reported:
        pytest.skip(f"{name}: {reported[reported.index('skipped: ') + 9 :].splitlines()[0]}")
    found = Results.from_json(json.loads((tmp_path / "results" / f"{name}.json").read_text()))
    assert found.name == name
    assert found.figures
    assert found.title in readme.read_text()
    assert done.returncode == 0, reported
