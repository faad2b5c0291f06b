"""The history: files of runs, first and last seen, and kinds that jumped; stationary histories give no alert."""

import datetime
import json
import time

import jsonschema
import numpy as np
import pytest

from auditor.history.files import run_file_name, write_run
from auditor.history.noise import LEAST_RUNS, noise_of
from auditor.history.runs import read_history
from auditor.output.views.layout import width_of
from auditor.output.views.trend import sparkline, trend_lines, trend_rows
from tests.causes.reports import audited, definition, export, widget
from tests.counting import calls_of
from tests.shared import ROOT

START = datetime.datetime(2026, 1, 1, 2, tzinfo=datetime.UTC)


def cause(number, objects, **more):
    return {
        "cluster": None, "digest": f"{number:064x}", "cause": f"{number:08x}", "severity": "medium",
        "group": "example.com", "kind": f"Kind{number}", "title": "spec.size: Required value", "objects": objects,
        "findings": objects, "new_objects": 0, "accepted_objects": 0, **more,
    }  # fmt: skip


def written(folder, *nights):
    """Write a run for each list of causes."""
    for number, rows in enumerate(nights):
        started = START + datetime.timedelta(days=number)
        manifest = {"inputs": [{"name": "a.db", "sha256": str(number)}]}
        write_run(rows, started, folder / run_file_name(manifest, started))
    return folder


def test_causes_have_first_and_last_seen_and_counts(tmp_path):
    written(tmp_path, [], [cause(1, 3)], [cause(1, 4), cause(2, 9, accepted_objects=9)], [cause(1, 0), cause(2, 5)])
    (tmp_path / "notes.txt").write_text("not of a history")
    data = trend_rows(read_history(tmp_path))
    assert len(data["runs"]) == 4
    second, first = data["causes"]
    assert (first["counts"], first["first_seen"][:10], first["last_seen"][:10]) == (
        [0, 3, 4, 0],
        "2026-01-02",
        "2026-01-03",
    )
    assert (first["age_days"], first["objects"]) == (1.0, 0)
    assert (second["counts"], second["objects"]) == ([0, 0, 0, 5], 5)
    assert data["noisy"] == []


@pytest.mark.parametrize("runs", [8, 15, 30, 60, 365])
def test_stationary_histories_give_no_alert(runs):
    draws = np.random.default_rng(20261123)
    for number in range(100):
        mean = float(draws.choice([0, 0.2, 3, 20, 200, 5000]))
        spread = float(draws.choice([0.05, 0.2, 0.5]))
        if number % 2:
            counts = draws.poisson(mean, runs)
        else:
            counts = np.maximum(0, draws.normal(mean, spread * mean, runs)).round().astype(int)
        noise = noise_of(counts)
        assert noise is not None
        assert not noise.is_noisy, (counts, noise)


def test_planted_jumps_are_found():
    draws = np.random.default_rng(20261124)
    found = 0
    for _ in range(20):
        mean = float(draws.choice([0, 3, 20, 200, 5000]))
        counts = draws.poisson(mean, int(draws.integers(LEAST_RUNS + 1, 120)))
        counts[-1] = 2 * mean + 40
        found += noise_of(counts).is_noisy
    assert found == 20


def test_a_fall_or_a_small_change_is_no_jump_and_short_histories_are_not_judged():
    assert not noise_of(np.array([50] * 10 + [0])).is_noisy
    assert not noise_of(np.array([0] * 10 + [4])).is_noisy
    assert noise_of(np.array([0] * 10 + [40])).is_noisy
    assert noise_of(np.array([1] * LEAST_RUNS)) is None


def test_the_arithmetic_is_that_of_the_score():
    noise = noise_of(np.array([10, 12, 9, 11, 10, 10, 13, 10, 90]))
    assert (noise.median, noise.mad, noise.runs) == (10.0, 0.5, 8)
    scale = max(1.4826 * 0.5, 10**0.5, 1) * (1 + 5 / 8)
    assert noise.score == pytest.approx((90 - 10) / scale)
    assert f"z = (90 - 10) / {scale:.2f} = {80 / scale:.1f}" in noise.arithmetic()


@pytest.mark.parametrize(("counts", "bars"), [([0, 1, 8], " ▁█"), ([5, 5], "██"), ([0, 0], "  "), ([], "")])
def test_sparklines(counts, bars):
    assert sparkline(np.array(counts, dtype=int)) == bars


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit_and_show_the_arithmetic(tmp_path, width):
    nights = [[cause(number, 10) for number in range(40)] for _ in range(9)]
    lines = trend_lines(read_history(written(tmp_path, *nights, [cause(1, 90), cause(2, 10)])), width, 25)
    texts = [line.text for line in lines]
    assert len(texts) <= 25
    assert all(width_of(text) <= width for text in texts)
    assert any(text.startswith("NOISY  Kind1.example.com  90 objects") for text in texts)
    assert any("z = (90 - 10) / 4.92 = 16.3" in text for text in texts)


def test_the_answer_has_the_form_of_its_schema(tmp_path):
    schema = json.loads((ROOT / "auditor/history/trend.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    nights = [[cause(1, 10)] for _ in range(9)]
    data = trend_rows(read_history(written(tmp_path, *nights, [cause(1, 90)])))
    assert len(data["noisy"]) == 1
    validator.validate(data)
    assert not validator.is_valid({**data, "schema": "auditor/trend/v2"})


def test_work_grows_with_nights_and_kinds_and_not_with_both(tmp_path):
    def work(nights, kinds):
        folder = tmp_path / f"{nights}-{kinds}"
        folder.mkdir()
        written(folder, *([cause(number, 5) for number in range(kinds)] for _ in range(nights)))
        data = []
        calls = calls_of(lambda: data.append(trend_rows(read_history(folder))))
        assert (len(data[0]["runs"]), len(data[0]["causes"])) == (nights, kinds)
        return calls

    work(9, 5)  # imports, and what is made once
    few, nights, kinds = work(10, 25), work(80, 25), work(10, 200)
    assert nights < 8 * few
    assert kinds < 8 * few
    assert work(80, 200) < nights + kinds  # 64 times as many rows as in few


def test_an_audit_adds_its_run(tmp_path):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    dump = export(tmp_path / "dump.ndjson", crd, widget("a", {"size": 9}))
    for number in range(3):
        audited(tmp_path / f"report-{number}", dump, history=str(tmp_path / "history"), keep_history=2)
        time.sleep(1.1) if number < 2 else None
    history = read_history(tmp_path / "history")
    assert len(history.times) == 2
    assert [counts.tolist() for counts in history.objects.values()] == [[1, 1]]
