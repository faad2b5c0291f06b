"""The answers to a create beside those that a real server gave to kubectl (`record_create`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from auditor.fastpath.records.typed import TypedProgram
from auditor.program import program
from auditor.program.program import AuditProgram
from auditor.sources.manifests.placed import TEMPLATE, objects_in, placed_documents, repeated_keys
from auditor.updates import create
from auditor.updates.create import CreateAnswer, CreateJudge
from tests.updates.create_cases import CASES, DEFINITIONS

ANSWERS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("create_answers.json").read_text())
ACCEPTED = {"valid", "builtin", "definition"}


def answers(text: str, **options: Any) -> list[CreateAnswer | str]:
    judge = CreateJudge(DEFINITIONS, **options)
    out: list[CreateAnswer | str] = []
    for document in placed_documents(text.encode()):
        if document.error:
            out.append(document.error)
            continue
        for places, value in objects_in(document.value):
            repeated = repeated_keys(document, places)
            out.append(judge.judge(value, repeated))
    return out


def only(text: str, **options: Any) -> CreateAnswer:
    (answer,) = answers(text, **options)
    assert isinstance(answer, CreateAnswer)
    return answer


def causes(said: str) -> set[str]:
    """Return the causes in what kubectl prints."""
    strict = re.search(r"strict decoding error: (.*)$", said, re.DOTALL)
    if strict:
        found = re.findall(r'(?:unknown|duplicate) field "(?:[^"\\]|\\.)*"', strict[1])
        return {f"strict decoding error: {one}" for one in found}
    invalid = re.match(r"The [A-Za-z]+ \"[^\"]*\" is invalid: (.*)$", said, re.DOTALL)
    if invalid:
        return {one.strip() for one in re.split(r"\n\* |^\* ", invalid[1].strip()) if one.strip()}
    return {said}


def said_of(answer: CreateAnswer | str) -> set[str]:
    assert isinstance(answer, CreateAnswer)
    own = {one.message for one in answer.findings}
    if answer.reason:
        own.add(re.sub(r" \((?:served: .*|not a mapping)\)$", "", answer.reason))
    return own


def without_drawn_names(texts: set[str]) -> set[str]:
    """Return texts with the five characters that a server draws behind a generateName as ours."""
    return {re.sub(r'("[^" ]*-)[a-z0-9]{5}"', r'\1xxxxx"', one) for one in texts}


def test_every_case_has_an_answer() -> None:
    assert ANSWERS.keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_is_answered_as_a_server_answered_it(name: str) -> None:
    recorded = ANSWERS[name]
    found = answers(CASES[name])
    if not found:
        assert recorded["said"] == "error: no objects passed to create"
        return
    if name.startswith("list-") and name != "list":  # kubectl words the causes by the schemas of OpenAPI
        accepted = all(isinstance(one, CreateAnswer) and one.status in ACCEPTED for one in found)
        assert accepted == recorded["accepted"], (found, recorded["said"])
        return
    (answer,) = found
    if name == "field-twice":  # kubectl drops the first one; a server that gets both says this
        assert recorded["accepted"]
        assert said_of(answer) == {'strict decoding error: duplicate field "spec.size"'}
        return
    if isinstance(answer, str):
        assert not recorded["accepted"]
        assert answer.removesuffix(TEMPLATE) in recorded["said"]
        return
    assert (answer.status in ACCEPTED) == recorded["accepted"], (said_of(answer), recorded["said"])
    said = causes(recorded["said"]) if not recorded["accepted"] else set()
    if len(said) == 1 and next(iter(said)) == recorded["said"]:  # of one error kubectl prints a sentence around it
        (own,) = said_of(answer)
        assert own in recorded["said"]
    else:
        assert said_of(answer) == without_drawn_names(said)


@pytest.mark.parametrize("records_after", [0, program.RECORDS_AFTER])
@pytest.mark.parametrize("name", CASES)
def test_a_proof_changes_no_answer(name: str, records_after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = answers(CASES[name])
    monkeypatch.setattr(create, "_WARM_UP", 0)
    monkeypatch.setattr(AuditProgram.typed, "__defaults__", (records_after,))
    assert answers(CASES[name]) == exact


def _gear(number: int, *, status: str = "", metadata: str = "") -> str:
    head = f'{{"apiVersion":"create.example.com/v1","kind":"Gear","metadata":{{"name":"a{number}"{metadata}}}'
    return f'{head},"spec":{{"size":1}}{status}}}\n'


def test_manifests_that_are_proven_are_not_judged_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    exact = CreateJudge._custom

    def noted(judge: CreateJudge, *words: Any) -> None:
        judged.append(words)
        exact(judge, *words)

    monkeypatch.setattr(CreateJudge, "_custom", noted)
    found = answers("".join(map(_gear, range(create._WARM_UP + 40))))
    assert len(judged) == create._WARM_UP
    assert {answer.status for answer in found if isinstance(answer, CreateAnswer)} == {"valid"}
    assert {answer.names.namespace for answer in found if isinstance(answer, CreateAnswer)} == {"default"}


@pytest.mark.parametrize(
    ("rest", "field"),
    [({"status": ',"status":{"other":1}'}, "status.other"), ({"metadata": ',"other":1'}, "metadata.other")],
)
def test_fields_that_a_create_drops_are_no_proof(rest: dict[str, str], field: str) -> None:
    for before in (create._WARM_UP, create._WARM_UP + program.RECORDS_AFTER):
        found = answers("".join(map(_gear, range(before))) + _gear(0, **rest))
        assert isinstance(found[-1], CreateAnswer)
        assert (found[-1].status, found[-1].unknown) == ("invalid", [field])


def test_many_manifests_are_proven_from_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = []
    prove = TypedProgram.prove

    def noted(typed: TypedProgram, data: bytes) -> Any:
        proven.append(prove(typed, data))
        return proven[-1]

    monkeypatch.setattr(TypedProgram, "prove", noted)
    answers("".join(map(_gear, range(create._WARM_UP + program.RECORDS_AFTER + 40))))
    assert len(proven) == 40
    assert all(proven)


@pytest.mark.parametrize(
    ("root", "is_valid"),
    [
        ({}, True),
        ({"required": ["status"]}, False),
        ({"minProperties": 5}, False),
        ({"not": {"properties": {"status": {"maxProperties": 0}}}}, False),
        ({"x-kubernetes-validations": [{"rule": "has(self.status)"}]}, False),
    ],
)
def test_an_object_that_needs_its_status_is_not_proven_with_it(root: dict[str, Any], is_valid: bool) -> None:
    def given(number: int) -> str:
        return _gear(number, status=',"status":{"phase":"x"}')

    definition = json.loads(json.dumps(next(one for one in DEFINITIONS if one["spec"]["names"]["kind"] == "Gear")))
    for version in definition["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        schema["properties"]["status"] = {"type": "object", "properties": {"phase": {"type": "string"}}}
        schema |= root
        version["subresources"] = {"status": {}}
    judge = CreateJudge([definition])
    for number in range(create._WARM_UP + program.RECORDS_AFTER + 10):
        (document,) = placed_documents(given(number).encode())
        answer = judge.judge(document.value)
        assert (answer.status == "valid") == is_valid, answer


@pytest.mark.parametrize(
    "metadata",
    [
        "[]",
        '{"name":1}',
        '{"name":"a","labels":{"a":1}}',
        '{"name":"a","creationTimestamp":"yesterday"}',
        '{"name":"a","deletionTimestamp":"2026-02-30T00:00:00Z"}',
        '{"name":"a","generation":1.5}',
        '{"name":"a","generation":"1"}',
        '{"name":"a","finalizers":"x"}',
        '{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"u","controller":"yes"}]}',
        '{"name":"a","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","time":"x","fieldsType":"FieldsV1","fieldsV1":{}}]}',
    ],
)
def test_metadata_that_do_not_decode_are_not_proven_to(metadata: str) -> None:
    wrong = _gear(0).replace('{"name":"a0"}', metadata)
    bad = '{"apiVersion":"create.example.com/v1","kind":"Gear","metadata":{"name":"a"},"spec":{"size":"x"}}\n'
    first, *_, last = answers(wrong + bad * (2 * create._WARM_UP) + wrong)
    assert isinstance(first, CreateAnswer)
    assert first.status == "unreadable"
    assert last == first


def test_metadata_of_refused_manifests_are_decoded_once_by_generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    exact = create.metadata_error
    monkeypatch.setattr(create, "metadata_error", lambda parsed: asked.append(parsed) or exact(parsed))
    bad = '{"apiVersion":"create.example.com/v1","kind":"Gear","metadata":{"name":"a"},"spec":{"size":"x"}}\n'
    found = answers(bad * (create._WARM_UP + 40))
    assert len(asked) == create._WARM_UP
    assert {answer.status for answer in found if isinstance(answer, CreateAnswer)} == {"invalid"}
