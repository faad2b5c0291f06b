"""SARIF is valid by the OASIS schema, which is fetched through npm, for drawn reports and for one of 26,000 results."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from auditor.causes.model import FindingsModel
from auditor.output.formats.problems import of_model
from auditor.output.formats.registry import FORMATS
from tests.causes.reports import audited, definition, export, widget
from tests.command import auditor
from tests.output.formats.clusters import drawn_dump
from tests.output.formats.drawn import content

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
SHA256 = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"
REFERENCE = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+")
"""A relative reference without query and fragment (RFC 3986); a first segment with a colon would be a scheme."""


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The schema, as OASIS published it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm to fetch the SARIF schema with")
    folder = tmp_path_factory.mktemp("schema")
    asked = [npm, "pack", "--silent", "--pack-destination", str(folder), PACKAGE]
    made = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    archives = list(folder.glob("*.tgz"))
    if made.returncode or not archives:
        pytest.skip(f"{PACKAGE} cannot be fetched: {made.stderr[:200]}")
    with tarfile.open(archives[0]) as archive:
        member = archive.extractfile(MEMBER)
        assert member is not None
        data = member.read()
    assert hashlib.sha256(data).hexdigest() == SHA256
    return json.loads(data)


def problems_of(schema: Any, document: Any) -> list[str]:
    """Return what is wrong with a document. (jsonschema-rs refuses the schema: a pattern in it is not balanced.)"""
    checker = jsonschema.Draft4Validator.FORMAT_CHECKER
    found = jsonschema.Draft4Validator(schema, format_checker=checker).iter_errors(document)
    return [f"{list(one.absolute_path)}: {one.message[:200]}" for one in found]


def check_places(document: Any) -> None:
    """Check what the schema leaves to its text, or to formats that not every validator knows."""
    for run in document["runs"]:
        rules = run["tool"]["driver"]["rules"]
        for one in run["results"]:
            uri = one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert REFERENCE.fullmatch(uri), uri
            assert ":" not in uri.partition("/")[0], uri
            assert rules[one["ruleIndex"]]["id"] == one["ruleId"]


def test_the_schema_refuses_what_is_wrong(schema: Any) -> None:
    document = json.loads(written(content(3)))
    assert problems_of(schema, document) == []
    document["runs"][0]["results"][0]["level"] = "bad"
    assert problems_of(schema, document)


def written(what: Any) -> str:
    out = io.StringIO()
    FORMATS["sarif"].write(what, out)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(40))
def test_drawn_reports_are_valid(seed: int, schema: Any) -> None:
    document = json.loads(written(content(seed)))
    assert problems_of(schema, document) == []


@pytest.mark.parametrize("seed", range(10))
def test_stored_reports_are_valid(seed: int, schema: Any, tmp_path: Path) -> None:
    report = audited(tmp_path / "report", drawn_dump(tmp_path / "dump.json", seed))
    document = json.loads(written(of_model(FindingsModel.open(report))))
    assert problems_of(schema, document) == []
    assert document["runs"][0]["results"]
    check_places(document)


def test_answers_to_manifests_are_valid(schema: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "a b:c#%"
    folder.mkdir()
    export(folder / "crd.json", definition({"size": {"type": "integer", "maximum": 5}}))
    export(folder / "one.json", widget("a", {"size": 9, "color": "red"}))
    asked = ["validate", "--crds", str(folder / "crd.json"), "-o", "sarif=a.sarif", str(folder / "one.json")]
    assert auditor(*asked).code == 1
    document = json.loads((tmp_path / "a.sarif").read_text())
    assert problems_of(schema, document) == []
    assert document["runs"][0]["results"]
    check_places(document)


MANY = 26_000
GRAVE = 40


def test_of_26_000_results_the_worst_25_000_are_kept_and_the_rest_is_stated(schema: Any, tmp_path: Path) -> None:
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    objects = [widget(f"w{number:05}", {"size": 9}) for number in range(MANY)]
    objects += [widget(f"z{number:05}", {"size": 1, "lost": 1}) for number in range(GRAVE)]  # an update loses data
    path = tmp_path / "report.sarif"
    report = audited(tmp_path / "report", export(tmp_path / "dump.ndjson", crd, *objects))
    assert auditor("report", report, "-o", f"sarif={path}").code == 0
    document = json.loads(path.read_bytes())
    (run,) = document["runs"]
    assert len(run["results"]) == 25_000
    assert Counter(one["level"] for one in run["results"]) == {"error": GRAVE, "warning": 25_000 - GRAVE}
    assert run["properties"]["problems"] == MANY + GRAVE
    notes = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(text.startswith(f"{MANY + GRAVE - 25_000} more problems are not in this file") for text in notes)
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert len(set(prints)) == len(prints)
    check_places(document)
    assert path.stat().st_size < 10 * 10_000_000  # GitHub takes 10 MB after gzip
    some = {**document, "runs": [{**run, "results": run["results"][::50]}]}
    assert problems_of(schema, some) == []
