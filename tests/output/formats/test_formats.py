"""File formats: the same numbers as the report, the same bytes twice, and nothing in them acts on its reader."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import html.parser
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from auditor.causes.model import Source
from auditor.causes.severity import SEVERITIES
from auditor.output.formats import junit, policyreports, prometheus, sarif
from auditor.output.formats.html import data
from auditor.output.formats.problems import KindCount
from auditor.output.formats.registry import FORMATS
from tests.output.formats.drawn import START, content

if TYPE_CHECKING:
    from auditor.output.formats.problems import Content

SEEDS = range(40)
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SAMPLE_LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+]+)')


def written(name: str, what: Content) -> str:
    out = io.StringIO()
    FORMATS[name].write(what, out)
    return out.getvalue()


def shown(what: Content) -> list[Any]:
    return [one for one in what.problems() if not one.accepted]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(10))
def test_the_same_report_gives_the_same_bytes(name: str, seed: int) -> None:
    assert written(name, content(seed)) == written(name, content(seed))


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_without_problems_is_written_too(name: str) -> None:
    empty = dataclasses.replace(content(1), causes=[], kinds=[], problems=lambda: iter(()), _tally=None)
    written(name, empty)


@pytest.mark.parametrize("seed", SEEDS)
def test_sarif_has_every_problem_at_a_place(seed: int) -> None:
    what = content(seed)
    (run,) = json.loads(written("sarif", what))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(shown(what)) == run["properties"]["problems"]
    assert run["properties"]["accepted"] == sum(one.accepted for one in what.problems())
    assert [rule["id"] for rule in rules] == [cause.id for cause in what.open_causes]
    for rule in rules:
        for text in (rule["shortDescription"]["text"], rule["fullDescription"]["text"], rule["help"]["text"]):
            assert 0 < len(text) <= 1024
    for one in run["results"]:
        (place,) = one["locations"]
        physical = place["physicalLocation"]
        assert not physical["artifactLocation"]["uri"].startswith(("/", "./"))
        assert physical["region"].keys() == {"startLine", "startColumn", "endLine", "endColumn"}
        assert set(one["partialFingerprints"]) == {"primaryLocationLineHash"}
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        assert one["message"]["text"]


def test_sarif_keeps_the_worst_and_states_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 10)
    what = content(3, objects=200)
    (run,) = json.loads(written("sarif", what))["runs"]
    worst = sorted((one.severity for one in shown(what)), key=SEVERITIES.index)[:10]
    levels = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
    assert Counter(one["level"] for one in run["results"]) == Counter(levels[one] for one in worst)
    notes = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(text.startswith(f"{len(shown(what)) - 10} more problems") for text in notes)


@pytest.mark.parametrize("seed", SEEDS)
def test_junit_is_xml_with_unique_names_and_right_counts(seed: int) -> None:
    what = content(seed)
    root = ET.fromstring(written("junit", what))
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(names) == len(set(names))
    for suite in root.iter("testsuite"):
        cases = list(suite.iter("testcase"))
        assert int(suite.get("tests", "")) == len(cases)
        for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(attribute, "")) == sum(case.find(tag) is not None for case in cases)
    valid = sum(int(found[1]) for _, name in names if (found := re.fullmatch(r"(\d+) objects? valid", name or "")))
    assert valid == sum(kind.statuses["valid"] for kind in what.kinds)


def test_junit_stays_below_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "MOST_BYTES", 20_000)
    what = content(3, objects=500)
    text = written("junit", what)
    assert len(text.encode()) < 30_000
    assert "more objects with problems" in text


@pytest.mark.parametrize("seed", SEEDS)
def test_code_quality_has_unique_fingerprints(seed: int) -> None:
    what = content(seed)
    found = json.loads(written("codequality", what))
    assert len({one["fingerprint"] for one in found}) == len(found) == len(shown(what))
    assert all(not one["location"]["path"].startswith("./") for one in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_annotations_are_at_most_ten_a_level_and_forge_no_line(seed: int) -> None:
    what = content(seed, objects=100)
    lines = written("github", what).splitlines()
    levels = Counter(line.split(" ")[0] for line in lines)
    assert set(levels) <= {"::error", "::warning", "::notice"}
    assert max(levels.values(), default=0) <= 10
    more = sum(int(found[1]) for line in lines if (found := re.search(r"::(\d+) more problems", line)))
    assert len(lines) - sum("more problems of this level" in line for line in lines) + more == len(shown(what))


@pytest.mark.parametrize("name", ["markdown", "github-summary"])
@pytest.mark.parametrize("seed", SEEDS)
def test_markdown_is_short_and_inert(name: str, seed: int) -> None:
    text = written(name, content(seed))
    assert len(text.encode()) < (1 << 20)
    assert not re.search(r"(?<!\\)<", text)
    assert not re.search(r"(?<!\\)\]\(", text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("seed", SEEDS)
def test_csv_has_no_formula_and_every_problem(seed: int) -> None:
    what = content(seed)
    rows = list(csv.reader(io.StringIO(written("csv", what), newline="")))
    assert len(rows) - 1 == len(list(what.problems()))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]


@pytest.mark.parametrize("seed", SEEDS)
def test_metrics_are_what_a_collector_reads(seed: int) -> None:
    what = content(seed)
    values: dict[str, float] = {}
    types, helps = set(), set()
    for line in written("prometheus", what).split("\n")[:-1]:
        if line.startswith("# "):
            _, word, name, *_ = line.split(" ")
            (helps if word == "HELP" else types).add(name)
            continue
        found = SAMPLE_LINE.fullmatch(line)
        assert found, line
        key = f"{found[1]}{{{found[2] or ''}}}"
        assert key not in values
        values[key] = float(found[3])
        assert found[1] in types & helps
    problems = {key: value for key, value in values.items() if key.startswith("auditor_problems{")}
    assert sum(problems.values()) == len(shown(what))
    assert sum(value for key, value in values.items() if key.startswith("auditor_objects{")) == sum(
        sum(kind.statuses.values()) for kind in what.kinds
    )
    assert values["auditor_run_success{}"] == (what.run.exit_code in (0, 1))


def test_metrics_are_folded_above_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MOST_SERIES", 140)
    what = content(2, hostile=False)
    kinds = [KindCount("example.com", f"Kind{number}", {"valid": 3, "invalid": 2}) for number in range(300)]
    text = written("prometheus", dataclasses.replace(what, kinds=kinds))
    assert len([line for line in text.splitlines() if not line.startswith("#")]) <= 140
    assert 'kind="other"' in text


def test_metrics_of_a_large_fleet_are_bounded_counted_and_clean() -> None:
    what = content(2, hostile=False)
    kinds = [KindCount("example.com", f"Kind{number}", {"valid": 3, "invalid": number}) for number in range(3000)]
    kinds += [KindCount("", "other", {"valid": 7})]
    hours = datetime.timedelta(hours=1)
    sources = tuple(
        Source("a.db" if number % 9 == 0 else f"{number}.db", f"c{number % 700}", "etcd-snapshot", number,
               START - (900 - number) * hours, 1)
        for number in range(900)
    )  # fmt: skip
    what = dataclasses.replace(what, kinds=kinds, run=dataclasses.replace(what.run, sources=sources))
    text = written("prometheus", what)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) <= 2000
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)
    assert sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("auditor_objects{")) == sum(
        sum(kind.statuses.values()) for kind in kinds
    )
    ages = [line for line in lines if line.startswith("auditor_snapshot_age_seconds")]
    assert max(float(line.rpartition(" ")[2]) for line in ages) == 900 * 3600
    (rest,) = [line for line in ages if 'dump="other"' in line]
    shown = {line.split('dump="')[1].split('"')[0] for line in ages}
    hidden = [one for one in sources if one.name not in shown]
    assert float(rest.rpartition(" ")[2]) >= max(
        (START - one.modified).total_seconds() for one in hidden if one.modified
    )
    (folded,) = [int(line.split(" ")[1]) for line in lines if line.startswith("auditor_series_folded")]
    objects = sum(line.startswith("auditor_objects{") for line in lines)
    snapshots = sum(line.startswith("auditor_snapshot_") for line in lines)
    assert folded == (6001 - objects + 3 - 1) + (2700 - snapshots + 2)
    if promtool := shutil.which("promtool"):
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_job_summary_of_many_causes_stays_below_its_bound() -> None:
    what = content(3)
    cause = dataclasses.replace(what.open_causes[0], title="[*]" * 500, examples=("<" * 500,), objects=5)
    causes = [dataclasses.replace(cause, id=f"{number:08x}") for number in range(5000)]
    what = dataclasses.replace(
        what, causes=causes, title="t" * 5000, reasons=("r" * 50_000,), warnings=("w" * 9000,) * 900, _tally=None
    )
    for name, most in (("github-summary", 1 << 20), ("markdown", 60_000)):
        text = written(name, what)
        assert len(text.encode()) <= most
        rows = len(re.findall(r"^\| .* \| [0-9a-f]{8} \|$", text, re.MULTILINE))
        assert rows > 40
        assert f"and {5000 - rows} more causes" in text
        assert "and 880 more" in text


@pytest.mark.parametrize("name", ["sarif", "codequality", "openreports", "github", "junit"])
@pytest.mark.parametrize("seed", range(8))
def test_messages_that_people_see_reverse_no_text(name: str, seed: int) -> None:
    text = written(name, content(seed, objects=80))
    if name in ("sarif", "codequality"):
        text = json.dumps(json.loads(text), ensure_ascii=False)
    if name == "openreports":
        results = [one for part in text.split("---\n")[1:] for one in json.loads(part)["results"]]
        text = "\n".join(part for one in results for part in (one["message"], *one["properties"].values()))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("seed", SEEDS)
def test_policy_reports_sum_up_and_stay_small(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policyreports, "MOST_BYTES", 12_000)
    what = content(seed)
    documents = [json.loads(text) for text in written("openreports", what).split("---\n")[1:]]
    results = [one for document in documents for one in document["results"]]
    assert len(results) == len(list(what.problems()))
    names = [(one["metadata"].get("namespace"), one["metadata"]["name"]) for one in documents]
    assert len(names) == len(set(names))
    for document in documents:
        assert Counter(one["result"] for one in document["results"]) == +Counter(document["summary"])
        assert ("namespace" in document["metadata"]) == (not document["kind"].startswith("Cluster"))
    assert len({one["properties"]["resultID"] for one in results}) == len(results)


class _Page(html.parser.HTMLParser):
    """Counts what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.data = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if tag == "script" and ("id", "data") in attrs:
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, text: str) -> None:
        if self._inside:
            self.data += text


@pytest.mark.parametrize("seed", SEEDS)
def test_a_page_holds_nothing_that_came_from_content(seed: int) -> None:
    what = content(seed)
    text = written("html", what)
    page = _Page()
    page.feed(text)
    assert page.tags["script"] == (2 if shown(what) else 0)
    assert not page.tags.keys() & {"img", "iframe", "object", "embed", "form", "base"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert "http-equiv" in page.attributes
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]", text)
    if shown(what):
        packed = json.loads(page.data)
        assert packed["rows"] == len(shown(what))
        codes, texts = packed["columns"]["severity"].values()
        assert Counter(texts[code] for code in codes) == Counter(one.severity for one in shown(what))


def test_many_rows_are_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_PLAIN", 100)
    what = content(3)
    text, form, left = data.packed(what)
    assert (form, left) == ("gzip", 0)
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", text)


def test_the_script_is_small() -> None:
    from importlib import resources

    script = resources.files("auditor.output.formats.html").joinpath("report.js").read_bytes()
    assert len(script) <= 12_000
    assert b"innerHTML" not in script
    assert b"eval(" not in script
