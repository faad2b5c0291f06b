"""What a person on call acts on: the cause that is to be repaired first, counts of a title, commands in one piece."""

from dataclasses import replace

import pytest

from auditor.causes.filters import Filters
from auditor.causes.model import FindingsModel
from auditor.causes.topics import Topic
from auditor.output.views.data import written
from auditor.output.views.layout import undivided
from auditor.output.views.listing import cause_lines
from auditor.output.views.summary import LINES, summary_lines
from tests.causes.reports import audited, definition, export, widget
from tests.pipelines.report.test_nights import STUCK, TORN
from tests.pipelines.report.test_outcome import TIGHT, audit, etcd


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A report with a key that breaks LIST, an object that cannot be deleted, and many that lack a required field."""
    folder = tmp_path_factory.mktemp("broken")
    many = [widget(f"w{number}", {"size": 1}, namespace=f"team-{number % 3}") for number in range(30)]
    audit(folder / "report", etcd(folder / "a.json", 100, TIGHT, *many, STUCK, torn=TORN))
    return FindingsModel.open(folder / "report")


def texts(lines):
    return [line.text for line in lines]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A report with a topic of causes of two severities."""
    folder = tmp_path_factory.mktemp("mixed")
    crd = definition({"a": {"type": "string", "enum": ["x"]}, "b": {"type": "string", "enum": ["x"]}})
    dump = export(folder / "d.ndjson", crd, widget("a", {"a": "y"}), widget("b", {"b": "y"}, namespace="dev"))
    return FindingsModel.open(audited(folder / "r", dump, severity=("low kind=Widget namespace=dev",)))


def test_the_last_line_shows_the_cause_that_the_advice_is_about(broken):
    impacts = {cause.impact: cause.id for cause in broken.causes}
    lines = texts(summary_lines(broken, 120))
    assert [line for line in lines if line.startswith("Next: repair or delete the keys that break lists first")]
    assert lines[-1].split() == ["auditor", "findings", broken.shown, impacts["breaks-list"]]
    assert broken.causes[0].impact == "breaks-list"


def test_why_an_object_cannot_be_deleted_is_said(broken):
    why = "its finalizers cannot be removed: every update is refused"
    todo = "to do: repair the fields in its findings, then remove the finalizers"
    assert f"{why}; {todo}" in " ".join(" ".join(texts(summary_lines(broken, 120))).split())
    cause = next(one for one in broken.causes if one.impact == "blocks-delete")
    rows = broken.objects(Filters(causes=(cause.digest,)))
    lines = texts(cause_lines(broken, cause, rows, 120, LINES))
    assert f"  message: {why}" in lines
    assert "OBJECT      STATUS" in [line.strip() for line in lines]


def test_a_title_counts_the_causes_of_its_severity(mixed):
    lines = texts(summary_lines(mixed, 120))
    at = lines.index("MEDIUM 1 cause, with 1 low of the same topics")
    assert "schema: 2 causes (1 medium), first spec.a: Unsupported value" in lines[at + 1]
    assert not [line for line in lines if line.startswith("LOW")]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_line_about_what_is_left_out_names_the_command(broken, width):
    lines = texts(summary_lines(broken, width, 18))
    more = [line for line in lines if line.startswith("and ") and "more" in line]
    assert more
    for line in more:
        assert " auditor " in line
        assert len(line) <= width


def test_what_all_objects_share_is_printed_once_and_each_object_has_one_line(broken):
    cause = next(one for one in broken.causes if one.field == "spec.tier")
    rows = list(broken.findings(Filters(causes=(cause.digest,)), distinct=True))
    assert len(rows) > 30  # rules that were not checked follow from the required value
    lines = texts(cause_lines(broken, cause, rows, 80, 0))
    assert "  message: spec.tier: Required value" in lines
    assert sum(" team-" in line and "tolerated" in line for line in lines) == 30
    assert not [line for line in lines if "not checked" in line]


def test_the_command_below_a_cause_is_whole_in_a_pipe(broken):
    cause = next(one for one in broken.causes if one.field == "spec.tier")
    rows = list(broken.findings(Filters(causes=(cause.digest,)), distinct=True))
    lines = cause_lines(broken, cause, rows, 60, LINES)
    assert len(lines) <= LINES
    assert all(len(line.text) <= 60 for line in lines)
    assert texts(undivided(lines))[-1] == f"Next: auditor show {broken.shown} {rows[0]['key']}"


def test_rows_of_an_impact_say_why_in_markdown_too(broken):
    cause = next(one for one in broken.causes if one.impact == "breaks-list")
    text = "".join(written(broken, [cause], broken.objects(Filters(causes=(cause.digest,))), "markdown"))
    assert text.splitlines()[0].endswith("| status | reason |")
    assert text.splitlines()[-1].endswith("| unreadable | unexpected end of JSON input |")


def test_what_a_write_drops_is_named_also_if_it_is_metadata(tmp_path):
    crd = definition({"size": {"type": "integer"}})
    odd = widget("odd", {"size": 1}, annotations=["no", "map"])
    model = FindingsModel.open(audited(tmp_path / "r", export(tmp_path / "d.ndjson", crd, odd)))
    [cause] = model.causes
    rows = model.objects(Filters(causes=(cause.digest,)))
    assert (cause.impact, cause.messages) == ("loses-data", ("the next write drops parts of metadata",))
    assert "  message: the next write drops parts of metadata" in texts(cause_lines(model, cause, rows, 80, 0))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("count", [1, 3, 7, 12, 40])
def test_a_new_cause_has_a_line_however_many_critical_ones_there_are(count, width, broken):
    critical = [replace(broken.causes[0], id=f"{number:08x}", change="same") for number in range(count)]
    tier = next(cause for cause in broken.causes if cause.field == "spec.tier")
    new = replace(tier, change="new", schema_changes=("required: + spec.tier",))
    topic = Topic(new.topic, (new,), new.objects)
    lines = texts(summary_lines(replace(broken, causes=[*critical, new], topics=[topic]), width))
    assert len(lines) <= LINES
    at = lines.index("NEW 1 cause")
    words = lines[at + 1].split()
    assert (words[0], words[-1]) == ("NEW", new.id)
    assert lines[at + 2] == "      definition changed: required: + spec.tier"
    assert any(line.startswith("CRITICAL ") for line in lines[:at])
    assert [line for line in lines[:at] if line.endswith("  00000000")]
    assert sum(line.split()[-1].startswith("000000") for line in lines[:at]) >= min(count, 7 if width > 60 else 5)
