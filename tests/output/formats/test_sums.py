"""Every format of a stored report, of one cluster and of a fleet, has the numbers that the manifest states."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from auditor.causes.follows import follows
from auditor.causes.model import FindingsModel
from auditor.causes.severity import SEVERITIES
from auditor.causes.table import read_rows
from auditor.output.formats.problems import of_model
from auditor.output.formats.registry import FORMATS
from auditor.output.views.data import document
from auditor.output.views.listing import listing_lines
from auditor.output.views.message import message_data, message_text
from tests.causes.reports import audited
from tests.output.formats.clusters import drawn_dump

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.output.formats.problems import Content, Problem

SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 24))]
IMPACTS = ("crashes-server", "breaks-list", "blocks-delete", "blocks-apply", "loses-data")
STATUSES = ("needs-conversion", "unserved", "orphaned", "sealed")
NUMBERS = re.compile(r"(\d+) (critical|high|medium|low)")


@dataclass
class Drawn:
    """A stored report.

    Attributes:
        model: The report.
        has_rules: Whether an update may have findings that a create does not have.
    """

    model: FindingsModel
    has_rules: bool

    @cached_property
    def problems(self) -> list[Problem]:
        """The problems that it states."""
        return list(of_model(self.model).problems())


@dataclass
class Found:
    """What a format says.

    Attributes:
        total: Problems that are not accepted.
        accepted: Problems that are accepted; None means the format does not say.
        severities: Problems that are not accepted, by severity.
        statuses: Objects by status.
    """

    total: int
    accepted: int | None = None
    severities: Counter[str] | None = None
    statuses: Counter[str] = field(default_factory=Counter)


@pytest.fixture(scope="module", params=SEEDS)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """A report of a drawn cluster: with accepted findings, of a fleet, compared with an earlier one, and so on."""
    seed = request.param
    folder = tmp_path_factory.mktemp("drawn")
    has_rules = bool(seed % 2)
    options: dict[str, Any] = {}
    if seed % 3 == 0:
        text = '- {kind: Widget, reason: known, expires: "2999-12-31", allowCritical: true}\n'
        (folder / "accept.yaml").write_text(text)
        options["accept"] = str(folder / "accept.yaml")
    names = ["east", "west"] if seed % 4 == 0 else ["dump"]
    dumps = [drawn_dump(folder / f"{name}.json", seed + number, rules=has_rules) for number, name in enumerate(names)]
    if len(names) > 1:
        dumps, options["cluster"] = [folder / "[ew]*.json"], "{name}"
    if seed % 5 == 0:
        audited(folder / "before", *dumps, **options)
        for number, name in enumerate(names):
            drawn_dump(folder / f"{name}.json", seed + number + 1, revision=200, rules=has_rules)
        options["diff"] = str(folder / "before")
    return Drawn(FindingsModel.open(audited(folder / "report", *dumps, **options)), has_rules)


def written(name: str, content: Content) -> str:
    out = io.StringIO()
    FORMATS[name].write(content, out)
    return out.getvalue()


def with_problems(content: Content, problems: list[Problem]) -> Content:
    """Return content that does not read its problems from the report again."""
    return replace(content, problems=lambda: iter(problems))


# ---- what each format says


def sarif(text: str) -> Found:
    (run,) = json.loads(text)["runs"]
    levels = Counter(one["level"] for one in run["results"])
    severities = {rule["id"]: rule["properties"]["severity"] for rule in run["tool"]["driver"]["rules"]}
    assert {one["ruleId"] for one in run["results"]} <= set(severities)
    assert set(levels) <= {"error", "warning", "note"}
    assert run["properties"]["problems"] == len(run["results"])
    return Found(len(run["results"]), run["properties"]["accepted"])


def junit(text: str) -> Found:
    statuses: Counter[str] = Counter()
    total = 0
    for case in ET.fromstring(text).iter("testcase"):
        name = case.get("name", "")
        if found := re.fullmatch(r"(\d+) objects? ([a-z-]+)", name):
            statuses[found[2]] += int(found[1])
            continue
        (wrong,) = case
        lines = (wrong.text or "").splitlines()
        more = re.fullmatch(r"and (\d+) more", lines[-1])
        total += int(more[1]) + len(lines) - 1 if more else len(lines)
    return Found(total, statuses=statuses)


def codequality(text: str) -> Found:
    names = {"blocker": "critical", "critical": "high", "major": "medium", "minor": "low"}
    found = Counter(names[one["severity"]] for one in json.loads(text))
    return Found(found.total(), severities=found)


def github(text: str) -> Found:
    lines = text.splitlines()
    more = [int(found[1]) for line in lines if (found := re.search(r"::(\d+) more problems of this level", line))]
    return Found(len(lines) - len(more) + sum(more))


def sentence(text: str) -> Found:
    (line,) = re.findall(r"[Pp]roblems: (.*)", text)
    severities = Counter({name: int(number) for number, name in NUMBERS.findall(line)})
    return Found(severities.total(), None, severities)


def rows(found: list[dict[str, Any]]) -> Found:
    flags = [str(one["accepted"]).lower() == "true" for one in found]
    severities = Counter(one["severity"] for one, flag in zip(found, flags, strict=True) if not flag)
    return Found(severities.total(), sum(flags), severities)


def metrics(text: str) -> Found:
    found = Found(0, 0, Counter())
    assert found.severities is not None
    for name, labels, value in re.findall(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        known = dict(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', labels))
        if name == "auditor_problems":
            found.severities[known["severity"]] += int(value)
        elif name == "auditor_problems_accepted":
            found.accepted = int(value)
        elif name == "auditor_objects":
            found.statuses[known["status"]] += int(value)
    found.total = found.severities.total()
    return found


def policies(text: str) -> Found:
    found = Found(0, 0, Counter())
    assert found.severities is not None
    for document_ in text.split("---\n")[1:]:
        report = json.loads(document_)
        assert Counter(one["result"] for one in report["results"]) == +Counter(report["summary"])
        found.accepted = (found.accepted or 0) + report["summary"]["skip"]
        found.severities += Counter(one["severity"] for one in report["results"] if one["result"] != "skip")
    found.total = found.severities.total()
    return found


def page(text: str) -> Found:
    """Return the numbers of a page: of its sentence, of its table of all problems, and of the chart of objects."""
    severities = sentence(text).severities or Counter()
    if data := re.search(r'<script id="data"[^>]*data-form="(\w+)">(.*?)</script>', text):
        packed = json.loads(gzip.decompress(base64.b64decode(data[2])) if data[1] == "gzip" else data[2])
        codes, texts = packed["columns"]["severity"].values()
        assert Counter(texts[code] for code in codes) == +severities
        assert packed["rows"] == severities.total()
    else:
        assert severities.total() == 0
    (chart,) = re.findall(r"<title>Objects by kind and status</title><desc>(.*?)</desc>", text)
    found = re.findall(r"(\d+) (valid|invalid|unreadable|other)(?=[,;]|$)", chart)
    statuses: Counter[str] = Counter()
    for number, name in found:
        statuses[name] += int(number)
    return Found(severities.total(), None, severities, statuses)


def causes(text: str) -> Found:
    """Return the numbers of the causes; here a cause is accepted as a whole or not at all."""
    found = Found(0, 0)
    for one in json.loads(text)["causes"]:
        count = one["objects"] if one["impact"] else one["distinct_findings"]
        if one["accepted_objects"]:
            assert one["accepted_objects"] == one["objects"]
            found.accepted = (found.accepted or 0) + count
        else:
            found.total += count
    return found


READERS: dict[str, Callable[[str], Found]] = {
    "json": causes,
    "html": page,
    "sarif": sarif,
    "junit": junit,
    "codequality": codequality,
    "github": github,
    "github-summary": sentence,
    "markdown": sentence,
    "csv": lambda text: rows(list(csv.DictReader(io.StringIO(text, newline="")))),
    "ndjson": lambda text: rows([json.loads(line) for line in text.splitlines()]),
    "prometheus": metrics,
    "openreports": policies,
}


# ---- what the report states


def problems_of_manifest(manifest: dict[str, Any]) -> tuple[int, int]:
    """Return the findings of creates, and the impacts, that a manifest counts."""
    found = sum(one["count"] for one in manifest["findings"])
    impacts = 0
    for kind in manifest["kinds"]:
        impacts += sum(kind["impacts"].get(name, 0) for name in IMPACTS)
        impacts += sum(kind["statuses"].get(name, 0) for name in STATUSES)
    return found, impacts


def test_problems_are_those_of_the_manifest(drawn: Drawn) -> None:
    model = drawn.model
    problems = list(of_model(model).problems())
    found, impacts = problems_of_manifest(model.manifest)
    assert sum(one.check == "impact" for one in problems) == impacts
    count = sum(one.check != "impact" for one in problems)
    followers = [one for one in model.findings() if follows(one) and one["request"] == "create"]
    assert bool(followers) <= drawn.has_rules
    assert count >= found - len(followers) if drawn.has_rules else count == found
    stated = read_rows(model.path)
    assert stated is not None
    by_cause: Counter[str] = Counter()
    for row in stated:
        by_cause[row["cause"]] += row["objects"] if row["impact"] else row["distinct_findings"]
    assert Counter(one.cause for one in problems) == by_cause
    assert len({one.fingerprint for one in problems}) == len(problems)


def test_every_format_is_read_here() -> None:
    assert READERS.keys() == FORMATS.keys()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", READERS)
def test_the_sums_of_a_format_are_those_of_the_manifest(name: str, drawn: Drawn) -> None:
    model = drawn.model
    problems = drawn.problems
    text = written(name, with_problems(of_model(model), problems))
    found = READERS[name](text)
    severities = Counter(one.severity for one in problems if not one.accepted)
    assert found.total == severities.total()
    if not drawn.has_rules and not model.accepted:
        assert found.total == sum(problems_of_manifest(model.manifest))
    if found.severities is not None:
        assert +found.severities == severities
    if found.accepted is not None:
        assert found.accepted == sum(one.accepted for one in problems)
    stated = Counter({name: int(number) for name, number in model.manifest["counts"]["statuses"].items()})
    if name == "prometheus":
        assert found.statuses == stated
    elif name == "junit":
        assert found.statuses == Counter({one: stated[one] for one in ("valid", *STATUSES) if stated[one]})
    elif name == "html":
        named = Counter[str]()
        for kind in model.manifest["kinds"]:
            for status, number in kind["statuses"].items() if kind["kind"] else ():
                named[status if status in ("valid", "invalid", "unreadable") else "other"] += number
        assert +found.statuses == named
    assert written(name, of_model(FindingsModel.open(model.path))) == text


def test_text_json_and_messages_have_the_same_numbers(drawn: Drawn) -> None:
    model = drawn.model
    content = of_model(model)
    severities = content.tally().by_severity
    message = message_data(content)
    assert message["problems"] == {name: severities[name] for name in SEVERITIES}
    assert (message["accepted"], message["accepted_objects"]) == (content.tally().accepted, content.accepted)
    assert sentence(message_text(content)).severities == +severities
    causes = document(model, model.causes)["causes"]
    everything = sum(one["objects"] if one["impact"] else one["distinct_findings"] for one in causes)
    assert everything == content.tally().total
    lines = [line.text for line in listing_lines(model, model.causes, 200, 0)]
    pattern = re.compile(r"(?:critical|high|medium|low) (?:.* \+([\d,]+) )?.* ([0-9a-f]{8,})")
    rows = [
        row for line in lines if (row := pattern.fullmatch(line)) and not re.search(r" \d+ fixed |NOT CHECKED", line)
    ]
    assert {row[2]: int((row[1] or "0").replace(",", "")) + 1 for row in rows} == {
        one["cause"]: one["objects"] for one in causes if one["objects"]
    }


@dataclass
class Fleet:
    """A report of three clusters.

    Attributes:
        manifest: Its manifest.
        contents: What formats write of it, by the clusters that are asked for, in the words of a user.
    """

    manifest: dict[str, Any]
    contents: dict[tuple[str, ...], Content]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("fleet")
    for number, cluster in enumerate(("east", "west", "north")):
        drawn_dump(folder / f"{cluster}.json", 2 * number, rules=False)
    report = audited(folder / "report", folder / "*.json", cluster="{name}")
    contents = {}
    for wanted in ((), ("east",), ("north", "west"), ("west,north",)):
        content = of_model(FindingsModel.open(report, clusters=list(wanted)), list(wanted))
        contents[wanted] = with_problems(content, list(content.problems()))
    return Fleet(FindingsModel.open(report).manifest, contents)


@pytest.mark.parametrize("name", READERS)
def test_formats_of_some_clusters_have_the_sums_of_these(name: str, fleet: Fleet) -> None:
    totals: Counter[str] = Counter()
    for wanted, content in fleet.contents.items():
        what = replace(content)  # the numbers of its problems are not known yet
        found = READERS[name](written(name, what))
        assert found.total
        totals[",".join(sorted(wanted))] = found.total
        if not wanted:
            continue
        own = [one for one in fleet.manifest["clusters"] if one["name"] in ",".join(wanted).split(",")]
        assert what.run.keys == sum(one["counts"]["keys"] for one in own)
        assert [source.cluster for source in what.run.sources] == [one["name"] for one in own]
        statuses = sum((Counter(one["counts"]["statuses"]) for one in own), Counter[str]())
        if name == "prometheus":
            assert found.statuses == statuses
    assert totals["east"] + totals["north,west"] == totals[""]
    assert totals["north,west"] == totals["west,north"]
