"""`-o` of `auditor upgrade`: forms of the scan and formats of its report, printed and written, several at once."""

import json

import pytest

from auditor.report.findings.model import FindingsModel
from auditor.report.upgrade_terminal import upgrade_summary
from auditor.report.views.layout import width_of
from auditor.report.views.summary import summary_lines
from tests.command import auditor
from tests.report.findings.reports import definition, export, widget


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
    assert json.loads(files["json"].read_text())["definitions"][0]["name"] == "widgets.example.com"
    [run] = json.loads(files["sarif"].read_text())["runs"]
    [result] = run["results"]
    assert "spec.size" in result["message"]["text"]
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
    whole = upgrade_summary(model.manifest, model.shown)
    said = " ".join("\n".join(lines).replace("\\\n", "").split())
    for text in (line for line in whole.splitlines() if "   " not in line.strip() and "auditor" not in line):
        assert " ".join(text.split()) in said


def test_a_printed_form_takes_the_place_of_the_table(given, tmp_path):
    printed = upgrade(given, tmp_path / "one", "-o", "json").stdout
    assert json.loads(printed)["definitions"]
    printed = upgrade(given, tmp_path / "two", "-o", "sarif").stdout
    assert json.loads(printed)["version"] == "2.1.0"
    printed = upgrade(given, tmp_path / "three", env={"AUDITOR_UPGRADE_OUTPUT": "ndjson"}).stdout
    assert [json.loads(line) for line in printed.splitlines()][1]["name"] == "widgets.example.com"


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
