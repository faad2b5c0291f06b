"""`-o` of `auditor validate`: file formats whose results name the real file and line."""

import csv
import io
import json

import pytest

from auditor.causes.model import FindingsModel
from tests.causes.reports import audited, definition, export, widget
from tests.command import auditor

BAD = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: {name}\n  namespace: team\nspec:\n  size: 9\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  password: [hunter2]\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    (tmp_path / "crd.json").write_text(json.dumps(crd))
    (tmp_path / "m").mkdir()
    (tmp_path / "m/two words.yaml").write_text(f"# a comment\n{BAD.format(name='a')}---\n{BAD.format(name='b')}")
    (tmp_path / "m/good.yaml").write_text(BAD.format(name="c").replace("9", "1"))
    (tmp_path / "m/torn.yaml").write_text("kind: [")
    (tmp_path / "m/secret.yaml").write_text(SECRET)
    return tmp_path


def sarif(*words):
    done = auditor("validate", "--crds", "crd.json", *words, "-o", "sarif")
    return done, json.loads(done.stdout)["runs"][0]


def places(run):
    out = []
    for result in run["results"]:
        where = result["locations"][0]["physicalLocation"]
        out.append((where["artifactLocation"]["uri"], where["region"]["startLine"]))
    return out


def test_results_of_sarif_name_the_file_and_the_line(folder):
    done, run = sarif("m")
    assert done.code == 1
    found = places(run)
    assert [one for one in found if "two" in one[0]] == [("m/two%20words.yaml", 8), ("m/two%20words.yaml", 16)]
    assert {uri for uri, _ in found} == {"m/two%20words.yaml", "m/torn.yaml", "m/secret.yaml"}
    assert {result["level"] for result in run["results"]} == {"error"}
    hashes = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(hashes)) == len(hashes)
    assert run["invocations"][0]["exitCode"] == 1
    assert places(sarif(str(folder / "m"))[1]) == found, "an absolute path below the folder is relative"


def test_a_cause_has_the_id_that_an_audit_gives_it(folder):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    report = audited(folder / "report", export(folder / "dump.ndjson", crd, widget("a", {"size": 9})))
    [cause] = FindingsModel.open(report).causes
    _, run = sarif("m/two words.yaml")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [cause.id]


def test_formats_are_written_beside_the_text(folder):
    names = ("html", "junit", "codequality", "github", "markdown", "csv")
    words = [word for name in names for word in ("-o", f"{name}=out.{name}")]
    done = auditor("validate", "--crds", "crd.json", "m", *words)
    plain = auditor("validate", "--crds", "crd.json", "m")
    assert (done.code, done.stdout) == (1, plain.stdout)
    assert "m/two words.yaml:8: invalid: Widget.example.com team/a: spec.size" in plain.stdout
    rows = list(csv.DictReader(io.StringIO((folder / "out.csv").read_text())))
    assert sum(row["field"] == "spec.size" for row in rows) == 2
    paths = [one["location"]["path"] for one in json.loads((folder / "out.codequality").read_text())]
    assert len(paths) == len(rows)
    assert 'name="team/b"' in (folder / "out.junit").read_text()
    texts = [(folder / f"out.{name}").read_text() for name in names]
    assert not any("hunter2" in text for text in texts)


def test_objects_without_a_definition_are_problems_unless_they_are_ignored(folder):
    (folder / "m/other.yaml").write_text(BAD.format(name="d").replace("Widget", "Gadget"))
    done, run = sarif("m/other.yaml")
    assert (done.code, places(run)) == (1, [("m/other.yaml", 1)])
    done, run = sarif("m/other.yaml", "--ignore-missing")
    assert (done.code, places(run)) == (0, [])


def test_what_is_no_error_is_a_note(folder):
    (folder / "m/good.yaml").write_text(BAD.format(name="c").replace("size: 9", "size: 1\n  colour: red"))
    done = auditor("validate", "--crds", "crd.json", "m/good.yaml", "-o", "sarif", "--field-validation", "Warn")
    assert done.code == 0
    [result] = json.loads(done.stdout)["runs"][0]["results"]
    assert result["level"] == "note"


@pytest.mark.parametrize("name", ["text", "table", "json", "ndjson"])
def test_the_answers_are_written_as_they_are_printed(name, folder):
    printed = auditor("validate", "--crds", "crd.json", "m", "-o", name)
    beside = auditor("validate", "--crds", "crd.json", "m", "-o", f"{name}=out", "-o", "markdown")
    assert (folder / "out").read_text() == printed.stdout
    assert beside.stdout.startswith("**") or "|" in beside.stdout
    assert beside.code == printed.code == 1
