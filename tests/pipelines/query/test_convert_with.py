"""A command in place of a conversion webhook, in audit, query and upgrade."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.pipelines.query.test_listed_rows import THINGS, WEBHOOK, placed, two_versions, written
from tests.upgrade.support import GROUP

if TYPE_CHECKING:
    from pathlib import Path

HOOK = """
import json, sys
review = json.load(sys.stdin)
with open({log!r}, "a") as log:
    log.write(str(len(review["request"]["objects"])) + "\\n")
request = review.pop("request")
out = []
for one in request["objects"]:
    one["spec"]["color"] = "blue"
    one["apiVersion"] = request["desiredAPIVersion"]
    one["metadata"]["labels"] = dict(one["metadata"].get("labels") or {{}}, hook="was-here")
    one["metadata"]["generation"] = 99
    out.append(one)
response = {{"uid": request["uid"], "result": {{"status": "Success"}}, "convertedObjects": out}}
{edit}
review["response"] = response
json.dump(review, sys.stdout)
"""


def hook(folder: Path, edit: str = "") -> str:
    path = folder / "hook.py"
    path.write_text(HOOK.format(log=str(folder / "log"), edit=edit))
    return shlex.join([sys.executable, str(path)])


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    objects = {f"a/old-{number}": placed("a", f"old-{number}", "v1beta1") for number in range(5)}
    objects["a/new"] = placed("a", "new")
    return written(tmp_path / "dump.db", two_versions(conversion=WEBHOOK), objects)


def audited(dump: Path, *more: str) -> tuple[Any, dict[str, Any], dict[str, dict[str, Any]]]:
    report = dump.parent / "report"
    done = auditor("audit", dump, "--report", report, "--force", "--fail-on", "unreadable", *more)
    assert done.code in (0, 1), done.stderr
    rows = [row for part in (report / "objects").iterdir() for row in pq.read_table(part).to_pylist()]
    custom = {row["name"]: row for row in rows if row["key"].startswith(THINGS)}
    return done, json.loads((report / "manifest.json").read_bytes()), custom


def test_an_audit_judges_converted_objects_at_the_storage_version(dump: Path) -> None:
    command = hook(dump.parent)
    done, manifest, rows = audited(dump, "--convert-with", command)
    assert done.code == 0, done.output
    for name, row in rows.items():
        stored = "v1" if name == "new" else "v1beta1"
        assert (row["status"], row["stored_version"], row["audited_version"]) == ("valid", stored, "v1")
        assert "needs-webhook" not in row["impacts"]
    assert manifest["options"]["convert_with"] == command
    assert (dump.parent / "log").read_text() == "5\n"  # all of a shard in one review
    found = auditor(
        "query", str(dump.parent / "report"), "things", "-l", "hook=was-here", "-o", "name", "--convert-with", command
    )
    assert (found.code, len(found.stdout.splitlines()), found.stderr) == (0, 5, "")


def test_a_query_shows_what_the_command_answers_with_the_metadata_that_is_stored(dump: Path) -> None:
    found = auditor("query", dump, "things", "old-1", "-n", "a", "-o", "json", "--convert-with", hook(dump.parent))
    assert found.code == 0, found.output
    shown = json.loads(found.stdout)
    assert (shown["apiVersion"], shown["spec"]["color"]) == (f"{GROUP}/v1", "blue")
    assert shown["metadata"]["labels"] == {"hook": "was-here"}
    assert shown["metadata"]["generation"] == 1
    assert found.stderr == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ("response['uid'] = 'other'", 'failed: expected response.uid="'),
        ("out.pop()", "returned 0 objects, expected 1"),
        ("out[0]['apiVersion'] = 'x/v1'", "returned invalid object at index 0: invalid groupVersion (expected "),
        ("out[0]['kind'] = 'X'", "returned invalid object at index 0: invalid kind (expected Thing, received X)"),
        ("out[0]['metadata']['name'] = 'x'", "returned invalid object: must have the same name: old-"),
        ("out[0]['metadata']['uid'] = 'x'", "returned invalid object: must have the same UID: "),
        ("del out[0]['metadata']", "returned invalid metadata: missing metadata in converted object"),
        ("out[0]['metadata']['labels'] = []", "invalid metadata.labels of type []interface {} in converted object"),
        ("out[0]['metadata']['labels'] = {'a b': 'c'}", 'metadata.labels: Invalid value: "a b": '),
        ("response['result'] = {'status': 'Failure', 'message': 'no such color'}", "failed: no such color"),
        ("response['result'] = {}", "failed: response.result.status was '', not 'Success'"),
        (
            "review['kind'] = 'X'",
            "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got ",
        ),
        ("response = None", "failed: no response provided"),
    ],
)
def test_an_answer_that_the_server_refuses_breaks_the_list_in_its_words(dump: Path, edit: str, reason: str) -> None:
    done, _, rows = audited(dump, "--convert-with", hook(dump.parent, edit))
    assert done.code == 1
    row = rows["old-0"]
    if reason.startswith("returned 0 objects"):  # halves of the review fail until one object is left
        assert row["reason"].endswith(reason)
    assert row["reason"].startswith(f"conversion webhook for {GROUP}/v1beta1, Kind=Thing ")
    assert reason in row["reason"]
    assert (row["status"], row["impact"]) == ("unreadable", "breaks-list")


@pytest.mark.parametrize(
    ("command", "reason"),
    [("false", "the conversion command ended with 1"), ("/nonexistent/hook", "cannot be run: No such file")],
)
def test_the_error_of_a_failing_command_does_not_mention_the_webhook(dump: Path, command: str, reason: str) -> None:
    done, _, rows = audited(dump, "--convert-with", command)
    assert "BROKEN" not in done.output
    found = auditor("query", dump, "things", "-o", "name", "--convert-with", command)
    assert (found.code, len(found.stdout.splitlines())) == (0, 6)
    assert "5 objects of" in found.stderr
    assert "shown as stored" in found.stderr
    shown = auditor("show", dump, f"{THINGS}a/old-1", "-o", "json", "--convert-with", command)
    assert reason in shown.stdout
    assert rows["old-1"]["impact"] == "needs-webhook"


def test_one_object_that_cannot_be_converted_does_not_cost_the_others(dump: Path) -> None:
    edit = "if any(o['metadata']['name'] == 'old-3' for o in out): response['result'] = {'status': 'Failure', 'message': 'no'}"
    _, _, rows = audited(dump, "--convert-with", hook(dump.parent, edit))
    broken = [name for name, row in rows.items() if "breaks-list" in row["impacts"]]
    assert broken == ["old-3"]


def test_an_upgrade_converts_as_well(dump: Path) -> None:
    crds = dump.parent / "new.json"
    crds.write_text(json.dumps(two_versions(conversion=WEBHOOK)))
    words = ("upgrade", str(dump), "--new-crds", str(crds), "--report", str(dump.parent / "up"))
    done = auditor(*words, "--convert-with", hook(dump.parent))
    assert done.code == 0, done.output
    manifest = json.loads((dump.parent / "up" / "manifest.json").read_bytes())
    (definition,) = manifest["upgrade"]["definitions"]
    assert definition["categories"] == {"unchanged": 6}
