"""Topics: the causes of one definition and one part of it, which a person on call deals with at once."""

import pyarrow.parquet as pq
import pytest

from auditor.causes.keys import AREAS, CauseKey, area_of, topic_of
from auditor.causes.model import FindingsModel
from auditor.output.views.summary import summary_lines
from tests.causes.reports import audited, definition, export, sample, widget
from tests.shared import ROOT, shared


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    return audited(tmp_path_factory.mktemp("golden") / "report", shared("golden/upgrade/snapshot.db.gz"))


def test_at_least_95_percent_of_the_golden_findings_are_in_20_topics(golden):
    topics = FindingsModel.open(golden).topics
    counts = sorted((sum(cause.findings for cause in topic.causes) for topic in topics), reverse=True)
    assert sum(counts) > 800
    assert sum(counts[:20]) >= 0.95 * sum(counts)


@pytest.mark.parametrize("made", ["golden", "sample"])
def test_objects_of_a_topic_are_counted_once(made, request, tmp_path):
    report = request.getfixturevalue("golden") if made == "golden" else sample(tmp_path)
    model = FindingsModel.open(report)
    of_cause = {cause.id: cause.topic for cause in model.causes}
    objects = {}
    for row in (*model.findings(), *model.objects()):
        objects.setdefault(of_cause[row["cause"]], set()).add((row["key"], row["audited_version"]))
    assert {topic.id: topic.objects for topic in model.topics} == {name: len(found) for name, found in objects.items()}
    assert sorted(cause.id for topic in model.topics for cause in topic.causes) == sorted(of_cause)


def test_a_topic_has_one_definition_and_one_part_of_it():
    key = CauseKey(group="example.com", kind="Widget", version="v1", check="schema", field="spec.a")
    same = CauseKey(group="example.com", kind="Widget", version="v1", check="list-type", field="spec.b", form="x")
    assert topic_of(key) == topic_of(same) == "2f458916"
    for other in (
        CauseKey(group="example.com", kind="Widget", version="v2", check="schema", field="spec.a"),
        CauseKey(group="example.com", kind="Widget", version="v1", check="rule", field="spec.a"),
        CauseKey(group="example.com", kind="Widget", version="v1", impact="loses-data"),
    ):
        assert topic_of(other) != topic_of(key)
    assert area_of("a-new-check", None) == "a-new-check"


def test_the_checks_of_the_guide_have_a_part_of_the_definition():
    text = (ROOT / "docs" / "guide" / "findings.md").read_text()
    table = text.partition("| `check` | which rules |")[2].partition("\n\n")[0]
    assert {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")} == set(AREAS)


def test_the_summary_has_a_line_for_a_topic_and_the_causes_of_each_are_found(tmp_path):
    spec = {f"f{number}": {"type": "string", "enum": ["a"]} for number in range(30)}
    objects = [widget(f"w{number}", {f"f{number}": "b", "f0": "b"}) for number in range(30)]
    report = audited(tmp_path / "report", export(tmp_path / "dump.ndjson", definition(spec), *objects))
    model = FindingsModel.open(report)
    [topic] = model.topics
    assert (len(topic.causes), topic.objects, topic.area) == (30, 30, "schema")
    lines = [line.text for line in summary_lines(model, 120)]
    at = lines.index("MEDIUM 30 causes")
    assert lines[at + 1].split()[:5] == ["Widget", "team/w0", "+29", "schema:", "30"]
    assert lines[at + 1].endswith(f"  {topic.id}")
    assert not [line for line in lines if "more cause" in line]
    assert model.topic(topic.id[:6]) == topic
    assert set(pq.read_table(report / "causes.parquet")["topic"].to_pylist()) == {topic.id}
