"""Drawn objects with faults in every part: the shortcuts of no-op updates answer as the long way does."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from auditor.crds.catalog import CrdCatalog
from auditor.program.program import AuditProgram
from auditor.releases import find_release, running_as
from auditor.updates.body import RequestName
from auditor.updates.noop import NoopUpdates
from tests.documents import definition_of

REVISION = 7
KEEP = {"x-kubernetes-preserve-unknown-fields": True}
STRING: dict[str, Any] = {"type": "string", "maxLength": 5}
PARTS = {
    "type": "object",
    "properties": {
        "kind": STRING,
        "apiVersion": STRING,
        "phase": {**STRING, "enum": ["a", "b"]},
        "size": {"type": "integer", "minimum": 0},
        "words": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "inner": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}},
    },
}
RULES = [{"rule": "!has(self.size) || self.size != 3"}, {"rule": "!has(self.phase) || self.phase != 'b'"}]
TEMPLATE = {"type": "object", "x-kubernetes-embedded-resource": True, **KEEP}
SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}


def _definition(number: int) -> dict[str, Any]:
    spec: dict[str, Any] = {**PARTS, "properties": {**PARTS["properties"], "template": TEMPLATE}}
    status: dict[str, Any] = {**PARTS, **(KEEP if number & 1 else {})}
    if number & 2:
        spec["x-kubernetes-validations"] = status["x-kubernetes-validations"] = RULES
    schema = {"type": "object", "properties": {"spec": spec, "status": status}, **(KEEP if number & 4 else {})}
    document = definition_of(schema)
    version = document["spec"]["versions"][0]
    version["subresources"] = {"status": {}, **({"scale": SCALE} if number & 8 else {})}
    return document


def _parts(draw: random.Random, wrong: float) -> Any:
    values = {
        "kind": ["a", 5, "longer than five"],
        "apiVersion": ["v", 5, "longer than five"],
        "phase": ["a", "b", "c", 5],
        "size": [1, 3, -1, "1", None],
        "words": [["a"], ["a", "a"], [5], "a"],
        "inner": [{"size": 1}, {}, {"size": "a"}],
        "unknown": [1],
    }
    made: Any = {}
    for name in draw.sample(list(values), draw.choice([0, 1, 2, 4])):
        made[name] = draw.choice(values[name]) if draw.random() < wrong else values[name][0]
    return 5 if draw.random() < wrong / 20 else made


def _object(draw: random.Random) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "x", "namespace": "a", "uid": "u", "generation": 1}
    owner = {"apiVersion": "v1", "kind": draw.choice(["Pod", ""]), "name": "p", "uid": "u"}
    entry = {"manager": draw.choice(["m", "m" * 200]), "operation": draw.choice(["Apply", "Update", "Other"]),
             "apiVersion": draw.choice(["x.example.com/v1", "x.example.com/v9"]), "fieldsType": "FieldsV1",
             "fieldsV1": draw.choice([{"f:spec": {}}, {}])}  # fmt: skip
    faults: list[dict[str, Any]] = [
        {"labels": {"a b": "c"}},
        {"annotations": {"a b": "c"}},
        {"generateName": "a/-"},
        {"generation": -1},
        {"name": "X y"},
        {"namespace": "b"},
        {"namespace": ""},
        {"finalizers": ["a b"], "deletionTimestamp": "2026-01-02T03:04:05Z"},
        {"ownerReferences": [owner, owner]},
        {"managedFields": [entry, entry]},
    ]
    for fault in draw.sample(faults, draw.choice([0, 0, 0, 1, 1, 2])):
        metadata |= fault
    wrong = draw.choice([0, 0.3, 0.6])
    spec = _parts(draw, wrong)
    if type(spec) is dict and draw.random() < 0.2:
        spec["template"] = {
            "apiVersion": "v1",
            "kind": draw.choice(["Pod", ""]),
            "metadata": {"name": draw.choice("aB")},
        }
    made = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "spec": spec}
    if draw.random() < 0.7:
        made["status"] = _parts(draw, draw.choice([0, 0, wrong]))
    return made


@pytest.mark.parametrize("kubernetes", ["1.32", "1.37"])
def test_shortcuts_answer_drawn_objects_as_the_long_way(kubernetes: str) -> None:
    draw = random.Random(5)
    answers: Counter[tuple[str, int, bool]] = Counter()
    with running_as(find_release(kubernetes)):
        for number in range(16):
            document = _definition(number)
            definition = next(iter(CrdCatalog.from_documents([document]).crds.values()))
            program = AuditProgram(definition, definition.versions["v1"])
            noop = NoopUpdates(program)
            for _ in range(250):
                data = json.dumps(_object(draw)).encode()
                audited = program.audit(data)
                place = RequestName("a", "x")
                if audited.object is None or not noop.is_needed(audited, data, place):
                    continue
                verdict = noop.judge(audited, place, REVISION, data)
                for request, tried in verdict.requests():
                    expected = noop.update.attempt(request, audited.object, place, REVISION)
                    assert (tried.code, tried.message, tried.findings) == (
                        expected.code,
                        expected.message,
                        expected.findings,
                    ), (request, document, data)
                    answers[request, tried.code, tried is verdict.put] += 1
    assert min(answers["put", code, True] for code in (200, 422)) > 100
    assert min(answers["status", code, False] for code in (200, 422)) > 100
    is_shared = [answers["status", code, True] > 100 for code in (200, 422)]
    assert is_shared == [kubernetes != "1.32"] * 2  # before, a write of /status was not ratcheted
