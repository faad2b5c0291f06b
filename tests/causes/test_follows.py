"""That rules were not checked is a note beside the finding that kept a server from it, in every view and format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.causes.follows import with_notes
from auditor.output.formats.registry import FORMATS
from tests.command import auditor
from tests.documents import definition_of

if TYPE_CHECKING:
    from pathlib import Path

NOTE = "some validation rules were not checked because of this"
OF_RULES = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct …"
)
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "decks": {"type": "integer", "maximum": 5}},
            "x-kubernetes-validations": [{"rule": "self.decks < 5"}],
        }
    },
}


def row(field: str, kind: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"field": field, "type": kind, "message": message or f"{field}: wrong", **more}


def test_the_finding_that_blocks_has_the_note() -> None:
    label, wrong, late = row("metadata.labels", "FieldValueInvalid"), row("a", "FieldValueRequired"), row("b", "X")
    follower = row("<nil>", "FieldValueInvalid", OF_RULES)
    assert with_notes([follower, label, wrong, late]) == [label, {**wrong, "note": NOTE}, late]
    assert with_notes([label, late]) == [label, late]
    assert with_notes([follower]) == [follower]


def test_each_request_has_its_own() -> None:
    create, put = (row("a", "FieldValueRequired", request=one) for one in ("create", "put"))
    follower = row("<nil>", "FieldValueInvalid", OF_RULES, request="put")
    assert with_notes([create, put, follower]) == [create, {**put, "note": NOTE}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a definition and two objects whose rules are not checked, and a report of it."""
    path = tmp_path_factory.mktemp("rules")
    head = {"apiVersion": "x.example.com/v1", "kind": "X"}
    objects = [
        {**head, "metadata": {"name": name, "namespace": "d", "uid": name}, "spec": spec}
        for name, spec in (("a", {"decks": "many"}), ("b", {"decks": 3}))
    ]
    rows = [definition_of(SCHEMA), *objects]
    (path / "x.ndjson").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    outputs = [word for name in FORMATS for word in ("-o", f"{name}={path / name}.out")]
    auditor("audit", path / "x.ndjson", "--report", path / "r", "--jobs", 1, *outputs)
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_has_it_as_a_finding(folder: Path, name: str) -> None:
    text = (folder / f"{name}.out").read_text()
    assert "<nil>" not in text
    assert "&lt;nil" not in text


def test_no_view_has_it_as_a_finding(folder: Path) -> None:
    shown = auditor("show", folder / "r", "d/b", "-o", "json").stdout
    report = json.JSONDecoder().raw_decode(shown)[0]["report"]
    assert [(one["field"], one["note"]) for one in report["findings"]] == [("spec.name", NOTE)]
    for words in (
        ("findings", folder / "r"),
        ("findings", folder / "r", "-o", "json"),
        ("show", folder / "x.ndjson", "d/b"),
    ):
        ended = auditor(*words)
        assert (ended.code, "<nil>" in ended.output) == (0, False)


def test_validate_says_it_beside_the_finding(folder: Path) -> None:
    ended = auditor("validate", folder / "x.ndjson")
    assert f"spec.name: Required value ({NOTE})" in ended.stdout
    assert (ended.code, "<nil>" in ended.output, "the object:" in ended.output) == (1, False, False)
    answers = json.loads(auditor("validate", folder / "x.ndjson", "-o", "json").stdout)
    assert [[one["field"] for one in answer["findings"]] for answer in answers] == [
        [], ["spec.decks", "spec.name"], ["spec.name"]
    ]  # fmt: skip
