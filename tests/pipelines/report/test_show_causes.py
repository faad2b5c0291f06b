"""`auditor show` of a report: each finding and impact names its cause, severity and owner, as `findings` counts them."""

import json

import pytest

from auditor.causes.model import FindingsModel
from tests.causes.reports import audited, definition, export, sample, widget
from tests.command import auditor


def judged(report, key, *words):
    done = auditor("show", report, key, "-o", "json", *words)
    assert done.code == (3 if "corrupt object" in done.stderr else 0), done.stderr
    return json.JSONDecoder().raw_decode(done.stdout)[0]["report"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return sample(tmp_path_factory.mktemp("sample"))


def test_causes_are_those_of_the_list(report):
    model = FindingsModel.open(report)
    for cause in model.causes:
        for example in cause.examples:
            shown = judged(report, example)
            if cause.impact:
                found = [one for row in shown["objects"] for one in row.get("causes", ())]
                found = [one for one in found if one["impact"] == cause.impact]
            else:
                found = [one for one in shown["findings"] if one["field"].partition("[")[0] in cause.field]
            assert (cause.id, cause.severity) in {(one["cause"], one["severity"]) for one in found}


def test_accepted_findings_and_owners_are_named(tmp_path):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    dump = export(tmp_path / "dump.ndjson", crd, widget("a", {"size": 9}), widget("b", {"size": 9}, namespace="other"))
    (tmp_path / "owners.json").write_text('[{"team": "blue", "namespace": "team"}]')
    entry = {"namespace": "team", "reason": "test", "expires": "2999-12-31"}
    (tmp_path / "accept.json").write_text(json.dumps([entry]))
    given = {"owners": str(tmp_path / "owners.json"), "accept": str(tmp_path / "accept.json")}
    report = audited(tmp_path / "report", dump, **given)
    [first], [second] = (judged(report, name)["findings"] for name in ("team/a", "other/b"))
    assert first["cause"] == second["cause"]
    assert (first["owner"], first["accepted"]) == ("blue", True)
    assert "accepted" not in second
    assert "owner" not in second


def test_the_report_of_an_upgrade_is_shown_too(tmp_path):
    dump = export(tmp_path / "dump.ndjson", definition({"size": {"type": "integer"}}), widget("a", {"size": 9}))
    (tmp_path / "new.json").write_text(json.dumps(definition({"size": {"type": "integer", "maximum": 5}})))
    words = ["upgrade", dump, "--new-crds", tmp_path / "new.json", "--report", tmp_path / "report"]
    assert auditor(*words).code == 1
    [finding] = judged(tmp_path / "report", "team/a")["findings"]
    assert finding["cause"] == FindingsModel.open(tmp_path / "report").causes[0].id
