"""A dump is missing or damaged: no format and no view shows zero for what was not read, and no alert ends."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from auditor.history.runs import read_history
from auditor.output.formats.prometheus import after_no_report
from auditor.output.views.trend import trend_lines, trend_rows
from tests.command import auditor
from tests.output.nights import Cluster, audit_night, lines_of, samples_of

if TYPE_CHECKING:
    from pathlib import Path

CAUSES = "auditor_causes"


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nights of east, which is well, and west, which has two critical causes. Night 1: west is cut short."""
    folder = tmp_path_factory.mktemp("nights")
    east = Cluster("east", {"w1": "valid"})
    west = Cluster("west", {"w1": "torn", "w2": "stuck", "w3": "invalid"})
    for night in range(3):
        dumps = {one.name: one.snapshot(night) for one in (east, west)}
        dumps["west"] = dumps["west"][:2500] if night == 1 else dumps["west"]
        more = ("--diff", f"report-{night - 1}") if night else ()
        ended = audit_night(folder, night, dumps, *more)
        assert ended.code == (3 if night == 1 else 0), ended.output
        (folder / f"{night}.txt").write_text(ended.stdout)
        (folder / f"{night}.prom").write_bytes((folder / "metrics.prom").read_bytes())
    return folder


def test_the_table_has_no_zero_for_a_damaged_dump(nights: Path) -> None:
    words = lines_of((nights / "1.txt").read_text(), ("west", "east"))
    assert words["west"][:6] == ["west", "DAMAGED", "-", "-", "-", "-"]
    assert words["east"][2:4] == ["0", "0"]
    assert lines_of((nights / "0.txt").read_text(), ("west",))["west"][2] == "2"


def test_json_has_null(nights: Path) -> None:
    said = json.loads((nights / "1.json").read_text())
    assert [(row["cluster"], row["complete"], row["critical"], row["high"]) for row in said["clusters"]] == [
        ("west", False, None, None),
        ("east", True, 0, 0),
    ]
    assert {(part["what"], part["cluster"]) for part in said["unread"]} >= {("damaged", "west")}
    assert json.loads((nights / "0.json").read_text())["unread"] == []


@pytest.mark.parametrize("ending", ["md", "summary"])
def test_markdown_does_not_count_what_was_not_read(nights: Path, ending: str) -> None:
    text = (nights / f"1.{ending}").read_text()
    assert "problems: unknown; not everything was read" in text
    assert "Next: nothing to do." not in text


def test_each_format_of_a_machine_has_an_entry(nights: Path) -> None:
    def text(ending: str) -> str:
        return (nights / f"1.{ending}").read_text()

    suites = ET.fromstring(text("xml"))
    (dump,) = [suite for suite in suites if suite.get("name") == "Dump"]
    assert int(dump.get("errors", 0)) == len(dump.findall("testcase/error")) > 0
    issues = json.loads(text("cq"))
    assert {issue["severity"] for issue in issues if issue["check_name"] == "not-read/damaged"} == {"blocker"}
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert text("gh").startswith("::error file=west/Dump/")
    (run,) = json.loads(text("sarif"))["runs"]
    assert "not-read" in {result["ruleId"] for result in run["results"]}
    assert run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]["id"] == "not-read"
    results = [one for part in text("or").split("---\n")[1:] for one in json.loads(part)["results"]]
    assert {one["result"] for one in results if one["policy"] == "not-read"} == {"error"}
    rows: list[dict[str, Any]] = [json.loads(line) for line in text("ndjson").splitlines()]
    assert {row["check"] for row in rows} == {"not-read"}
    assert [row["check"] for row in csv.DictReader(io.StringIO(text("csv")))] == [row["check"] for row in rows]
    page = text("html")
    assert "No cause that is not accepted" not in page
    assert page.count("Unknown: not everything was read.") == 2
    assert '<li><b class="critical">-</b>critical</li>' in page


def test_no_alert_ends_because_a_dump_is_damaged(nights: Path) -> None:
    values = [samples_of((nights / f"{night}.prom").read_text()) for night in range(3)]
    assert [one[CAUSES, "west", "critical"] for one in values] == [2, 2, 2]
    assert [one["auditor_cluster_known", "west"] for one in values] == [1, 0, 1]
    assert [one["auditor_cluster_known", "east"] for one in values] == [1, 1, 1]
    assert [one[CAUSES, "east", "critical"] for one in values] == [0, 0, 0]
    assert (CAUSES, "west", "low") in values[0]
    assert (CAUSES, "west", "low") not in values[1]
    assert "auditor_problems_accepted" not in {name for name, *_ in values[1]}


def test_metrics_after_no_report_know_no_cluster() -> None:
    earlier = 'auditor_cluster_known{cluster="a"} 1\nauditor_causes{cluster="a",severity="critical"} 3\n'
    found = samples_of(after_no_report(earlier, 1.0, 4))
    assert found["auditor_cluster_known", "a"] == 0
    assert found["auditor_causes", "a", "critical"] == 3


def test_a_report_of_nothing_lists_what_was_not_read(nights: Path) -> None:
    said = auditor("findings", nights / "report-1", "--owner", "no-team", "--lines", "0").stdout
    assert "but not everything was read:" in said
    assert "DAMAGED  " in said


def test_the_trend_of_a_damaged_night_is_unknown(nights: Path) -> None:
    assert read_history(nights / "history").unread["west"].sum() == 1
    history = read_history(nights / "days")
    rows = trend_rows(history)["causes"]
    assert {tuple(row["counts"]) for row in rows if row["severity"] == "critical"} == {(1, None, 1)}
    assert [row["objects"] for row in rows if row["severity"] == "critical"] == [1, 1]
    text = "\n".join(line.text for line in trend_lines(history, 120, 0))
    assert "█?█" in text
    assert "A question mark is a run that did not read the cluster whole." in text


def test_the_page_draws_no_healed_night(nights: Path) -> None:
    page = auditor("report", nights / "report-2", "-o", "html", "--history", nights / "days").stdout
    (text,) = [part for part in page.split("<desc>") if "run by run" not in part and "more were known before" in part]
    assert "not everything was read, nothing known; 7 more were known before" in text


def test_nothing_is_to_be_deleted_because_a_dump_is_damaged(tmp_path: Path) -> None:
    """A damaged page may be the only reason for what a server could not read, or for an object without a definition."""
    dumps = {"a": Cluster("a", {"w1": "torn"}).snapshot(0)[:-32] + bytes(32)}
    ended = audit_night(tmp_path, 0, dumps)
    assert "audit it before you repair or delete anything: this one is damaged" in " ".join(ended.stdout.split())
    dumps = {"a": Cluster("a", {"w1": "valid"}, definition="absent").snapshot(0)[:-32] + bytes(32)}
    said = " ".join(audit_night(tmp_path, 1, dumps).stdout.split())
    assert "the definitions of the orphaned keys may be in what was not read." in said


def test_a_fleet_shows_its_critical_causes_on_the_first_screen(tmp_path: Path) -> None:
    """One of 14 clusters is missing, one is cut short: clusters that are well have no line, so that causes have one."""
    clusters = [Cluster(f"c{number:02}", {"w1": "valid"}) for number in range(14)]
    clusters[9].objects["w2"] = "torn"
    dumps = {one.name: one.snapshot(0) for one in clusters}
    audit_night(tmp_path, 0, dumps)
    dumps = {one.name: one.snapshot(1) for one in clusters[1:]}
    dumps["c05"] = dumps["c05"][:2500]
    said = audit_night(tmp_path, 1, dumps, "--diff", "report-0").stdout
    assert len(said.splitlines()) <= 25
    assert lines_of(said, ["c00", "c05", "c09"]).keys() == {"c00", "c05", "c09"}
    assert "CRITICAL 1 cause" in said
    assert re.search("Widget +team/w2 +cannot be listed or watched +c09 ", said)
