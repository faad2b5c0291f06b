"""Figures are computed from measurements: medians of ratios turn by turn, limits, generated tables."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks import harness
from tests.benchmarks.harness import Figure, Results, in_turns, ratios, timed


@pytest.mark.parametrize(
    ("runs", "limits", "holds", "asked"),
    [
        ((1.0, 9.0, 5.0), {}, None, ""),
        ((1.0, 9.0, 5.0), {"at_least": 5}, True, "at least 5"),
        ((1.0, 9.0, 5.0), {"at_least": 5.1}, False, "at least 5.1"),
        ((1.0, 9.0, 5.0), {"at_most": 5}, True, "at most 5"),
        ((1.0, 9.0, 5.0), {"at_most": 4.9}, False, "at most 4.9"),
        ((1.0, 9.0, 5.0), {"at_least": 1, "at_most": 6}, True, "at least 1 and at most 6"),
    ],
)
def test_the_median_is_held_against_the_limit(runs, limits, holds, asked):
    figure = Figure("row", "column", runs, **limits)
    assert (figure.median, figure.holds, figure.asked) == (5.0, holds, asked)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ((2.0,), "2"),
        ((2.5,), "2.50"),
        ((12345.6, 12000.0, 13000.0), "12,346 (12,000 to 13,000)"),
        ((0.0,), "0"),
        ((0.123456, 0.1, 0.2), "0.12 (0.10 to 0.20)"),
        ((31.44, 30.0, 99.96), "31.4 (30.0 to 100.0)"),
        ((-250.0,), "-250"),
    ],
)
def test_a_figure_shows_its_median_and_its_spread(runs, text):
    assert str(Figure("row", "column", runs)) == text


def test_ratios_are_made_of_the_runs_of_one_turn():
    slow_minute = ([10.0, 1.0, 10.0], [5.0, 0.5, 5.0])
    assert ratios(*slow_minute) == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0], [1.0, 2.0])


def test_sides_are_run_in_turns():
    order = []

    def side(name):
        return lambda: order.append(name) or float(len(order))

    assert in_turns(3, {"ours": side("ours"), "theirs": side("theirs")}) == {
        "ours": [1.0, 3.0, 5.0],
        "theirs": [2.0, 4.0, 6.0],
    }
    assert order == ["ours", "theirs"] * 3


@pytest.fixture
def results():
    made = Results("run", "Beside the oracle", {"objects": 10}, machine={"python": "CPython 3"})
    made.add("bench-30", "ours", [1.0, 3.0, 2.0])
    made.add("bench-30", "ratio", [6.0, 7.0, 8.0], at_least=6)
    made.add("bench-2", "ratio", [1.0, 2.0, 3.0], at_least=9, at_most=12)
    made.note("A note.")
    return made


def test_the_table_has_a_row_for_each_thing_and_says_what_was_missed(results):
    lines = results.table().splitlines()
    assert len({len(line) for line in lines}) == 1
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert set("".join(cells.pop(1))) == {"-"}
    assert cells == [
        ["", "ours", "ratio"],
        ["bench-30", "2.00 (1.00 to 3.00)", "7.00 (6.00 to 8.00), at least 6"],
        ["bench-2", "", "2.00 (1.00 to 3.00), **missed: at least 9 and at most 12**"],
    ]
    assert [figure.row for figure in results.missed] == ["bench-2"]


def test_what_is_written_is_read_again(results):
    again = Results.from_json(json.loads(json.dumps(results.to_json())))
    assert again == results
    assert again.table() == results.table()


def test_json_has_runs_and_what_readers_want(results):
    first, second, third = results.to_json()["figures"]
    assert first == {
        "row": "bench-30",
        "column": "ours",
        "median": 2.0,
        "min": 1.0,
        "max": 3.0,
        "runs": [1.0, 3.0, 2.0],
    }
    assert (second["holds"], second["at_least"]) == (True, 6)
    assert (third["holds"], third["at_least"], third["at_most"]) == (False, 9, 12)


def test_another_document_is_no_result():
    with pytest.raises(KeyError):
        Results.from_json({"1": {"all": [1.0]}})


def test_finish_prints_writes_and_fails_nothing(results, tmp_path, capsys):
    options = harness.arguments("doc").parse_args(["--json", str(tmp_path / "deep" / "run.json")])
    assert results.finish(options) == 0
    out = capsys.readouterr().out
    assert results.table() in out
    assert "A note." in out
    assert "objects 10" in out
    assert Results.from_json(json.loads((tmp_path / "deep" / "run.json").read_text())) == results
    results.figures.pop()
    assert results.finish(harness.arguments("doc").parse_args([])) == 0


def test_a_command_is_timed_with_all_processes_below_it(tmp_path, monkeypatch):
    """Those that it leaves behind are waited for; their time is not that of the command."""
    spent, clock = iter((1.0, 3.0, 7.0)), iter((10.0, 15.0))
    monkeypatch.setattr(harness, "_used", lambda: next(spent))
    monkeypatch.setattr(harness.time, "perf_counter", lambda: next(clock))
    written = tmp_path / "written"
    left = f"import sys, time; sys.stdin.read(); time.sleep(0.05); open({str(written)!r}, 'w').close()"
    child = (
        "import subprocess, sys\n"
        f"left = subprocess.Popen([sys.executable, '-Sc', {left!r}], stdin=subprocess.PIPE,"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "print('done')"
    )
    run = timed([sys.executable, "-Sc", child])
    assert written.exists()
    assert run == harness.Run(wall=5.0, processor=2.0, output="done\n", everywhere=6.0)


def test_a_command_that_fails_is_no_figure():
    failing = [sys.executable, "-c", "raise SystemExit(4)"]
    with pytest.raises(subprocess.CalledProcessError):
        timed(failing)
    assert timed(failing, codes=(0, 4)).output == ""


def test_the_machine_and_the_versions_are_recorded():
    found = harness.this_machine()
    assert found["processors"] >= 1
    assert found["memory_gb"] > 0
    assert found["python"].startswith("CPython 3.")
    assert set(found["packages"]) == {"pyarrow", "orjson", "msgspec", "numpy", "google-re2"}
    assert all(found["packages"].values())
    assert not any(str(harness.ROOT) in str(value) for value in found.values())
