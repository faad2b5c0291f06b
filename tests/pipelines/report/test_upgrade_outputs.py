"""`-o` of `auditor upgrade`: forms of the scan and formats of its report, printed and written, several at once."""

import json

import pytest

from auditor.causes.model import FindingsModel
from auditor.causes.upgrade_causes import upgrade_counts
from auditor.output.views.layout import width_of
from auditor.output.views.summary import summary_lines
from tests.causes.reports import definition, export, widget
from tests.command import auditor


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    dump = export(folder / "dump.ndjson", definition({"size": {"type": "integer"}}), widget("a", {"size": 9}))
    tighter = definition({"size": {"type": "integer", "maximum": 5}})
    (folder / "new.json").write_text(json.dumps(tighter))
    return dump, folder / "new.json"


def upgrade(given, report, *words, **options):
    return auditor("upgrade", given[0], "--new-crds", given[1], "--report", report, *words, **options)


def test_forms_and_formats_are_written_beside_the_table(given, tmp_path):
    files = {name: tmp_path / f"out.{name}" for name in ("json", "sarif", "html", "junit")}
    done = upgrade(
        given, tmp_path / "report", *(word for name, path in files.items() for word in ("-o", f"{name}={path}"))
    )
    assert done.code == 1, done.stderr
    plain = upgrade(given, tmp_path / "plain")
    assert done.stdout == plain.stdout.replace(str(tmp_path / "plain"), str(tmp_path / "report"))
    causes = json.loads(files["json"].read_text())["causes"]
    [tolerated] = [cause for cause in causes if cause["type"] == "tolerated"]
    assert (tolerated["impact"], tolerated["kind"], tolerated["objects"]) == ("upgrade", "Widget", 1)
    [run] = json.loads(files["sarif"].read_text())["runs"]
    assert any("spec.size" in result["message"]["text"] for result in run["results"])
    assert any("1 object becomes invalid" in result["message"]["text"] for result in run["results"])
    assert "should be less than or equal to 5" in files["html"].read_text()
    assert 'name="team/a"' in files["junit"].read_text()


def test_the_summary_of_the_report_is_the_end_of_the_scan(given, tmp_path):
    done = upgrade(given, tmp_path / "report")
    lines = done.stdout.splitlines()
    assert auditor("summary", tmp_path / "report").stdout == done.stdout
    assert lines[-2] == f"Report: {tmp_path / 'report'}"
    assert lines[-1].startswith("Next: ")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_summary_of_an_upgrade_fits_a_terminal_and_has_every_word(given, tmp_path, width):
    upgrade(given, tmp_path / "report")
    model = FindingsModel.open(tmp_path / "report")
    lines = [line.text for line in summary_lines(model, width)]
    assert all(width_of(line) <= width for line in lines)
    said = " ".join("\n".join(lines).split())
    assert said.startswith(model.manifest["upgrade"]["sentence"])
    assert said.endswith("Next: read all that changes: auditor changes " + model.shown) or width < 200


def test_a_printed_form_takes_the_place_of_the_table(given, tmp_path):
    printed = upgrade(given, tmp_path / "one", "-o", "json").stdout
    assert json.loads(printed)["upgrade"]["decision"] == "attention"
    printed = upgrade(given, tmp_path / "two", "-o", "sarif").stdout
    assert json.loads(printed)["version"] == "2.1.0"
    printed = upgrade(given, tmp_path / "three", env={"AUDITOR_UPGRADE_OUTPUT": "ndjson"}).stdout
    assert {json.loads(line)["type"] for line in printed.splitlines()} >= {"tolerated", "narrower"}


def test_a_cause_of_an_upgrade_is_the_same_in_every_answer(given, tmp_path):
    upgrade(given, tmp_path / "report")
    model = FindingsModel.open(tmp_path / "report")
    [cause] = [cause for cause in model.causes if cause.type == "tolerated"]
    assert cause.severity == "medium"
    assert cause.title.startswith("1 object becomes invalid: tolerated while the fields concerned do not change")
    listed = auditor("findings", tmp_path / "report", "-o", "json").stdout
    assert cause.id in {row["cause"] for row in json.loads(listed)["causes"]}
    shown = auditor("findings", tmp_path / "report", cause.id).stdout
    assert "team/a" in shown
    for form in ("csv", "ndjson", "junit", "markdown"):
        assert cause.id in auditor("report", tmp_path / "report", "-o", form).stdout
    assert auditor("summary", tmp_path / "report").stdout.count(cause.id) == 1
    again = upgrade(given, tmp_path / "again")
    assert cause.id in again.stdout


def test_the_summary_of_an_earlier_report_says_that_it_has_no_causes_of_the_upgrade(given, tmp_path):
    upgrade(given, tmp_path / "report")
    model = FindingsModel.open(tmp_path / "report")
    for one in model.manifest["upgrade"]["definitions"]:
        del one["effects"]
    lines = [line.text for line in summary_lines(model, 200)]
    assert "an earlier auditor made this report, without the causes of the upgrade: scan again to list them" in lines


def test_namespaces_of_what_an_upgrade_does_are_unknown(given, tmp_path):
    upgrade(given, tmp_path / "report")
    for words in ([], ["-n", "elsewhere"], ["--owner", "team"]):
        done = auditor("findings", tmp_path / "report", "-o", "json", *words)
        causes = [cause for cause in json.loads(done.stdout)["causes"] if cause["impact"] == "upgrade"]
        assert {"tolerated", "narrower"} <= {cause["type"] for cause in causes}
        assert {cause["namespaces"] for cause in causes} == {None}
        assert ("not counted by namespace or owner" in done.stderr) == bool(words)
    shown = auditor("findings", tmp_path / "report", "-n", "elsewhere", "-o", "wide", env={"COLUMNS": "200"}).stdout
    assert "1 object becomes invalid" in shown
    [run] = json.loads(auditor("report", tmp_path / "report", "-o", "sarif").stdout)["runs"]
    texts = [rule["fullDescription"]["text"] for rule in run["tool"]["driver"]["rules"]]
    assert not any("None namespaces" in text or "0 namespaces" in text for text in texts)


def test_causes_whose_texts_are_equal_are_not_added_up(given, tmp_path):
    upgrade(given, tmp_path / "report")
    manifest = FindingsModel.open(tmp_path / "report").manifest
    changes = manifest["upgrade"]["definitions"][0]["schema_changes"]
    changes += changes  # as --redact makes them
    digests = [key.digest() for key, *_ in upgrade_counts(manifest)]
    assert len(digests) == len(set(digests)) > 2


def test_causes_of_a_kind_alone(given, tmp_path):
    upgrade(given, tmp_path / "report")
    assert "1 object becomes invalid" in auditor("changes", tmp_path / "report", "widget").stdout
    assert auditor("changes", tmp_path / "report", "gadget").code == 2


@pytest.mark.parametrize(
    "words",
    [
        *(["-o", "nope"], ["-o", "json="], ["-o", "json", "-o", "sarif"], ["-o", "sarif=REPORT/x"]),
        *(["-o", "json=REPORT/x"], ["-o", "ndjson=REPORT/sub/../x"], ["--plan", "REPORT/plan"]),
    ],
)
def test_mistakes_are_found_before_the_scan(given, tmp_path, words):
    report = tmp_path / "report"
    done = upgrade(given, report, *(word.replace("REPORT", str(report)) for word in words))
    assert done.code == 2
    assert not report.exists()
