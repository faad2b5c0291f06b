"""Nights of one and of five clusters that are drawn: no format and no view says less than what is true, or all is clear.

Dumps are missing, damaged, cut short or those of the night before; faults come and go, definitions become stricter, go
or are being deleted, webhooks lose their Service, Secrets are sealed. The truth is what an audit of whole dumps finds.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from auditor.causes.model import FindingsModel
from auditor.causes.severity import SEVERITIES
from auditor.output.formats.problems import of_model
from auditor.output.views.message import message_data
from tests.command import auditor
from tests.output.nights import DAMAGE, Cluster, Truth, audit_night, damaged, lines_of, samples_of, truth_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NIGHTS = 3
"""Nights that are drawn after the first one, which is whole."""
SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 0)) for seed in range(10)]
UNREADABLE = 2
"""Exit code if nothing could be judged."""


@dataclass
class Night:
    """A night: what is true, which clusters are whole, and what was written."""

    number: int
    folder: Path
    truth: dict[str, Truth]
    events: dict[str, str]
    stdout: str
    code: int
    before: dict[tuple[str, ...], float]
    after: dict[tuple[str, ...], float] = field(default_factory=dict)

    @property
    def report(self) -> Path:
        return self.folder / f"report-{self.number}"

    @property
    def unread(self) -> set[str]:
        return {name for name, event in self.events.items() if event != "whole"}

    def text(self, ending: str) -> str:
        return (self.folder / f"{self.number}.{ending}").read_text()

    def total(self, severity: str) -> int:
        return sum(truth.problems[severity] for truth in self.truth.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_nights_say_no_less_than_the_truth(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    names = ["c1"] if seed % 2 else ["c1", "c2", "c3", "c4", "c5"]
    clusters = [Cluster(name) for name in names]
    last_good, runs = "", []
    for number in range(NIGHTS + 1):
        night = _night(tmp_path, number, clusters, draw, last_good, runs[-1] if runs else None)
        print(f"seed {seed}, night {number}: {night.events}")  # noqa: T201 - a failure shows what was drawn
        runs.append(night)
        _check_metrics(night)
        if not night.report.exists():
            assert night.unread
            assert night.code == UNREADABLE, night.stdout
            continue
        last_good = night.report.name
        _check_views(night)
        _check_numbers(night)
        _check_entries(night)
    _check_trend(tmp_path, [night for night in runs if night.report.exists()])


def _night(
    folder: Path, number: int, clusters: Iterable[Cluster], draw: random.Random, diff: str, last: Night | None
) -> Night:
    """Draw a day and what happens to the dumps of its night, and audit them."""
    whole, given, events = {}, {}, {}
    for cluster in clusters:
        cluster.change(draw)
        name, data = cluster.name, cluster.snapshot(number)
        whole[name], events[name] = data, "whole"
        if number and draw.random() < 0.5:
            events[name] = draw.choice(DAMAGE)
        if events[name] == "stale" and (last is None or last.events[name] != "whole" or not last.report.exists()):
            events[name] = "missing"
        if events[name] == "stale":
            given[name] = (folder / f"whole-{number - 1}" / f"{name}.db").read_bytes()
        elif events[name] != "missing":
            given[name] = data if events[name] == "whole" else damaged(data, events[name], draw)
    metrics = folder / "metrics.prom"
    before = samples_of(metrics.read_text()) if metrics.exists() else {}
    truth = truth_of(folder, number, whole)
    ended = audit_night(folder, number, given, *(("--diff", diff) if diff else ()))
    night = Night(number, folder, truth, events, ended.output, ended.code, before)
    night.after = samples_of(metrics.read_text()) if metrics.exists() else {}
    return night


def _check_metrics(night: Night) -> None:
    """A whole cluster has what is true; another one no less than the last night, and no zero."""
    for name, truth in night.truth.items():
        is_whole = name not in night.unread and night.report.exists()
        assert night.after.get(("auditor_cluster_known", name)) in ({1} if is_whole else {0, None}), name
        for severity in SEVERITIES:
            value = night.after.get(("auditor_causes", name, severity))
            problems = [n for place, n in night.after.items() if place[:3] == ("auditor_problems", name, severity)]
            if is_whole:
                assert (value, sum(problems)) == (truth.causes[severity], truth.problems[severity]), (name, severity)
            else:
                last = night.before.get(("auditor_causes", name, severity), 0)
                assert (value or 0) >= last, (name, severity)
                assert night.report.exists() is False or (value != 0 and 0 not in problems), (name, severity)
                of_last = [n for place, n in night.before.items() if place[:3] == ("auditor_problems", name, severity)]
                assert sum(problems) >= sum(of_last), (name, severity)


def _check_views(night: Night) -> None:
    """The table and the JSON of clusters, and what the summary says is to do."""
    summary = auditor("summary", night.report, "--lines", "0").stdout
    said = json.loads(auditor("summary", night.report, "-o", "json").stdout)
    written = json.loads(night.text("json"))
    assert (written["clusters"], written["unread"]) == (said["clusters"], said["unread"])
    assert {part["cluster"] for part in said["unread"]} == night.unread
    if night.unread:
        assert "NOT JUDGED 0" not in summary
        assert "Next: nothing to do." not in summary
        assert said["not_judged"]
        assert "Next: nothing to do." not in night.text("md") + night.text("html")
    lines = lines_of(summary, list(night.truth))
    rows = {row["cluster"]: row for row in said["clusters"]}
    assert bool(rows) == bool(lines) == (len(night.truth) > 1)
    for name, row in rows.items():
        truth = night.truth[name]
        assert row["complete"] == (name not in night.unread)
        for column, severity in enumerate(("critical", "high"), 2):
            cell = lines[name][column]
            if row["complete"]:
                assert row[severity] == truth.causes[severity] == int(cell)
            else:
                assert row[severity] != 0
                number = (
                    row[severity] if night.events[name] == "stale" else row[severity] and f"at-least-{row[severity]}"
                )
                assert cell == str(number or "-")
        if not row["complete"]:
            assert 0 not in (row["new"], row["fixed"])


def _check_numbers(night: Night) -> None:
    """The message, Markdown and the page: each number is the truth, or how many at least; no zero is made up."""
    message = message_data(of_model(FindingsModel.open(night.report)))
    (page,) = re.findall(r"Problems: (.*)</p>", night.text("html"))
    (line,) = re.findall(r"problems: (.*)", night.text("md"))
    for severity in SEVERITIES:
        number = message["problems"][severity]
        found = re.search(rf"(\d+) {severity}", line)
        of_page = re.search(rf"(\d+) {severity}", page)
        assert (of_page and of_page[1]) == (found and found[1])
        if not night.unread:
            assert number == night.total(severity)
            assert int(found[1] if found else 0) == number
        else:
            assert number != 0
            assert (int(found[1]) if found else None) == number
    if night.unread:
        assert "not everything was read" in line
        assert message["not_read"]
        assert "not everything was read" in message["text"]
        assert "No cause that is not accepted" not in night.text("html")


def _check_entries(night: Night) -> None:
    """Each format that a machine reads has an entry for each cluster that was not read, and all problems that were."""
    rows = [json.loads(line) for line in night.text("ndjson").splitlines()]
    unread = [row for row in rows if row["check"] == "not-read"]
    assert {row["cluster"] for row in unread} == night.unread
    cells = csv.DictReader(io.StringIO(night.text("csv")))
    assert [(row["check"], row["severity"]) for row in cells] == [(row["check"], row["severity"]) for row in rows]
    for name in night.truth.keys() - night.unread:
        own = Counter(row["severity"] for row in rows if row["cluster"] == name)
        assert own == +night.truth[name].problems
    issues = json.loads(night.text("cq"))
    assert Counter(issue["fingerprint"] for issue in issues) == Counter(row["fingerprint"] for row in rows)
    suites = ET.fromstring(night.text("xml"))
    errors = [case for suite in suites for case in suite if case.find("error") is not None]
    assert sum(case.get("classname") in ("Dump", "Cluster") for case in errors) == len(unread)
    (run,) = json.loads(night.text("sarif"))["runs"]
    assert Counter(one["ruleId"] for one in run["results"]) == Counter(row["cause"] for row in rows)
    results = [one for part in night.text("or").split("---\n")[1:] for one in json.loads(part)["results"]]
    assert sum(one["policy"] == "not-read" and one["result"] == "error" for one in results) == len(unread)
    shown = [line for line in night.text("gh").splitlines() if line.startswith("::error ")]
    assert not night.unread or shown


def _check_trend(folder: Path, nights: list[Night]) -> None:
    """A run that did not read a cluster whole is unknown; the others have what is true."""
    data = json.loads(auditor("trend", folder / "days", "-o", "json").stdout)
    assert len(data["runs"]) == len(nights)
    found = {(row["cause"], row["cluster"]): row["counts"] for row in data["causes"]}
    true = {
        (cause, name)
        for night in nights
        for name in night.truth.keys() - night.unread
        for cause in night.truth[name].objects
    }
    assert true <= found.keys()
    for (cause, name), counts in found.items():
        assert counts == [
            None if name in night.unread else night.truth[name].objects.get(cause, 0) for night in nights
        ], (cause, name)
