"""One number, one meaning: each view of one report has the same numbers, by the table of the guide."""

from __future__ import annotations

import csv
import html
import io
import json
import random
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from auditor.causes.model import FindingsModel
from auditor.causes.severity import SEVERITIES
from auditor.causes.titles import REMEDIES_OF_IMPACT, REMEDIES_OF_TYPE
from auditor.crddiff.change import EFFECTS
from auditor.output.formats.as_data import write_csv, write_ndjson
from auditor.output.formats.problems import Content, of_model
from auditor.output.formats.prometheus import write_prometheus
from auditor.output.formats.sarif import write_sarif
from auditor.output.views.message import message_data, message_text
from tests.command import auditor
from tests.output.nights import Cluster, audit_night
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GUIDE = ROOT / "docs" / "guide" / "findings.md"
LOST = {"whole": (), "without one": ("c2",)}
"""Clusters without a dump in the second night."""


@pytest.fixture(scope="module", params=list(LOST))
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of two nights of three clusters, the second compared with the first, one kind of cause accepted."""
    folder = tmp_path_factory.mktemp("numbers")
    draw = random.Random(7)
    clusters = [Cluster(f"c{number}") for number in range(3)]
    (folder / "accept.yaml").write_text('- {check: schema, reason: known, expires: "2099-01-01"}\n')
    for number in range(2):
        dumps = {}
        for cluster in clusters:
            cluster.change(draw)
            dumps[cluster.name] = cluster.snapshot(number)
        more = ["--diff", "report-0", "--accept", "accept.yaml"] if number else []
        for name in LOST[request.param] if number else ():
            del dumps[name]
        assert audit_night(folder, number, dumps, *more).code in (0, 1, 3)
    return folder


def shown(folder: Path, *words: str) -> str:
    """Return what a command prints of the second night."""
    return auditor(*words, cwd=folder).stdout


def table_of(text: str) -> dict[str, list[str]]:
    """Return the cells of the table of clusters: causes that are critical and high, objects that are new and fixed."""
    text = text.replace("at least ", "").replace("NOT COMPARED", "NOT-COMPARED")
    return {
        words[0]: words[2:6] for words in map(str.split, text.splitlines()) if words and re.match("c[0-9]$", words[0])
    }


def test_every_view_has_the_same_numbers(night: Path) -> None:
    document: dict[str, Any] = json.loads(shown(night, "summary", "report-1", "-o", "json"))
    opened = [cause for cause in document["causes"] if cause["objects"] > cause["accepted_objects"]]
    counts = Counter(cause["severity"] for cause in opened)
    text = ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES if counts[severity])
    text = f"{'at least ' if document['unread'] else ''}{text} cause{'s' * (counts.total() != 1)}"
    new = sum(cause["change"] == "new" for cause in opened)
    assert counts
    model = FindingsModel.open(night / "report-1")
    content = of_model(model)
    page = html.unescape((night / "1.html").read_text())
    summary = shown(night, "summary", "report-1", "--lines", "0")
    views = (summary, (night / "1.md").read_text(), message_text(content), page)
    for view in views:
        assert text in " ".join(view.split())
        assert (f"+{new} new" if new or not document["unread"] else "new unknown") in " ".join(view.split())
    strip = re.findall(r"<li><b[^>]*>(?:at least )?([-\d,]+)</b>([a-z ]+)</li>", page)
    numbers = {name: number for number, name in strip}
    assert [numbers[severity].replace("-", "0") for severity in SEVERITIES] == [str(counts[one]) for one in SEVERITIES]
    accepted = sum(cause["accepted_objects"] for cause in document["causes"])
    assert accepted
    assert f"ACCEPTED {accepted} object" in summary
    assert (message_data(content)["accepted_objects"], content.accepted) == (accepted, accepted)
    assert numbers["objects accepted" if accepted != 1 else "object accepted"] == str(accepted)
    assert f"Accepted: {accepted} object" in message_text(content)
    listing = shown(night, "findings", "report-1", "--lines", "0")
    found = Counter(line.split()[0] for line in listing.splitlines()[1:] if not line.startswith(" "))
    every = Counter(cause["severity"] for cause in document["causes"])
    assert found == every


def test_the_table_of_clusters_is_the_same_in_all_views(night: Path) -> None:
    document: dict[str, Any] = json.loads(shown(night, "summary", "report-1", "-o", "json"))
    names = ("critical", "high", "new", "fixed")
    wanted = {
        row["cluster"]: ["-" if row[name] is None else str(row[name]) for name in names] for row in document["clusters"]
    }
    assert len(wanted) == 3
    assert table_of(shown(night, "summary", "report-1", "--lines", "0")) == wanted
    page = (night / "1.html").read_text()
    rows = re.findall(r'<tr><td class="s">(c\d)</td>(.*)</tr>', page)
    assert {name: re.findall(r'<td class="n">([-\d]+)<', cells) for name, cells in rows} == wanted
    for name, row in wanted.items():
        if row[0] != "-":
            alone = shown(night, "summary", "report-1", "--lines", "0", "--cluster", name)
            counts = re.search(r"(\d+) critical", alone.splitlines()[0])
            assert (counts[1] if counts else "0") == row[0]
            others = set(wanted) - {name}
            assert not [line for line in alone.splitlines() if others & set(re.split(r"\W+", line))]


def written(folder: Path, write: Callable[[Content, io.StringIO], None]) -> str:
    """Return what a file format has of the second night."""
    out = io.StringIO()
    write(of_model(FindingsModel.open(folder / "report-1")), out)
    return out.getvalue()


def test_files_for_programs_have_the_numbers_of_the_table(night: Path) -> None:
    """The causes of a cluster are those of its row; problems are the same in all of these files."""
    document: dict[str, Any] = json.loads(shown(night, "summary", "report-1", "-o", "json"))
    metrics = written(night, write_prometheus)
    causes = {
        (cluster, severity): int(count)
        for cluster, severity, count in re.findall(
            r'^auditor_causes{cluster="(.*)",severity="(.*)"} (\d+)$', metrics, re.MULTILINE
        )
    }
    for row in document["clusters"]:
        for severity in ("critical", "high"):
            assert row[severity] in (None, causes.get((row["cluster"], severity)))
    rows = [json.loads(line) for line in written(night, write_ndjson).splitlines()]
    problems = Counter(
        (row["cluster"], row["severity"]) for row in rows if row["check"] != "not-read" and not row["accepted"]
    )
    measured: Counter[tuple[str, str]] = Counter()
    for cluster, severity, count in re.findall(
        r'^auditor_problems{cluster="(.*)",severity="(.*)",change=".*"} (\d+)$', metrics, re.MULTILINE
    ):
        measured[cluster, severity] += int(count)
    known = {row["cluster"] for row in document["clusters"] if row["critical"] is not None}
    assert {key: count for key, count in measured.items() if count and key[0] in known} == problems
    assert len(list(csv.DictReader(io.StringIO(written(night, write_csv))))) == len(rows)
    assert sum(len(run["results"]) for run in json.loads(written(night, write_sarif))["runs"]) == sum(
        not row["accepted"] for row in rows
    )


def test_each_cause_of_a_fleet_names_its_clusters(night: Path) -> None:
    document: dict[str, Any] = json.loads(shown(night, "summary", "report-1", "-o", "json"))
    views = [shown(night, "findings", "report-1", "--lines", "0"), (night / "1.md").read_text()]
    for cause in document["causes"]:
        if cause["objects"] > cause["accepted_objects"]:
            for view in views:
                [line] = [line for line in view.splitlines() if cause["cause"] in line and "auditor" not in line]
                assert cause["clusters"][0] in line


def test_what_to_do_is_what_the_guide_says() -> None:
    rows = [line.split(" | ") for line in GUIDE.read_text().splitlines() if line.startswith("| `")]
    guide = {name: row[-1].removesuffix(" |").strip() for row in rows for name in re.findall("`([^`]+)`", row[0])}
    of_types = {name: text for name, text in REMEDIES_OF_TYPE.items() if name not in EFFECTS}
    given = {**REMEDIES_OF_IMPACT, **of_types}
    assert {name: guide[name] for name in given} == given
    (of_definitions,) = {REMEDIES_OF_TYPE[name] for name in EFFECTS}
    assert of_definitions in " ".join((GUIDE.parent / "publishing-definitions.md").read_text().split())
