"""The exact path judges only the part of an object that is not proven: the metadata, or all but the metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from auditor.crds.definition import parse_definition
from auditor.fastpath.dicts.metadata import metadata_prover
from auditor.fastpath.dicts.metadata_parts import MAX_ANNOTATIONS
from auditor.program import program as programs
from auditor.program.program import AuditProgram
from auditor.releases import find_release, running_as
from auditor.storage_read import read
from auditor.validation import create
from tests.documents import definition_of

if TYPE_CHECKING:
    from auditor.crds.definition import CustomResourceDefinition

SPEC = {
    "type": "object",
    "properties": {"size": {"type": "integer", "minimum": 1, "default": 3}, "word": {"type": "string"}},
    "x-kubernetes-validations": [{"rule": "self.size != 7", "message": "no"}],
}
SCHEMA = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC}}
NAMED = SCHEMA | {
    "properties": {"spec": SPEC, "metadata": {"type": "object", "properties": {"name": {"maxLength": 2}}}}
}
METADATA = {"name": "a", "namespace": "b", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
BAD_METADATA: list[dict[str, Any]] = [
    {"name": "A"},
    {"name": "abc"},
    {"name": 5},
    {"namespace": "", "labels": {"a": None}},
    {"generation": -1},
    {"generation": 1.0, "labels": {"?": "a"}},
    {"name": "A", "creationTimestamp": "10000-01-01T00:00:00Z"},
    {"name": "A", "managedFields": [{"manager": "m", "time": "0001-01-01T00:00:00Z"}]},
    {"generateName": "a/-"},
    {"annotations": {"a": "x" * MAX_ANNOTATIONS}},
    {"unknown": 1, "finalizers": ["?"]},
]
BODIES: list[dict[str, Any]] = [
    {"spec": {"size": 1}},
    {"spec": {"size": 7}},
    {"spec": {"size": 0}},
    {"spec": {"size": None, "word": None, "unknown": 1}, "unknown": {}},
    {},
]


def definition(schema: dict[str, Any] = SCHEMA, **named: Any) -> CustomResourceDefinition:
    return parse_definition(definition_of(schema, **named))


def value(body: dict[str, Any], **metadata: Any) -> bytes:
    head = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": METADATA | metadata}
    return json.dumps(head | body).encode()


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, run: Any) -> int:
    """Return how often a function of a module is called."""
    usual, seen = getattr(module, name), []
    with monkeypatch.context() as patch:
        patch.setattr(module, name, lambda *args, **named: (seen.append(1), usual(*args, **named))[1])
        run()
    return len(seen)


@pytest.mark.parametrize("schema", [SCHEMA, NAMED], ids=["plain", "named"])
@pytest.mark.parametrize("kubernetes", ["1.34", "1.37"])
def test_all_parts_are_judged_as_by_the_reference(schema: dict[str, Any], kubernetes: str) -> None:
    with running_as(find_release(kubernetes)):
        crd = definition(schema)
        program = AuditProgram(crd, crd.versions["v1"])
        exact = program.reference()
        for body in BODIES:
            for metadata in ({}, *BAD_METADATA):
                data = value(body, **metadata)
                ours, theirs = program.judge(data), exact.judge(data)
                assert ours[:2] == theirs[:2], (body, metadata)
                again = program.judge_refused(data, programs.Reason.METADATA, orjson.loads(data))
                assert again == theirs, (body, metadata)


def test_a_proven_body_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    crd = definition()
    program = AuditProgram(crd, crd.versions["v1"])
    data = value({"spec": {"size": 1}}, labels={"?": "a"})
    assert counted(monkeypatch, programs, "read_object", lambda: program.judge(data)) == 0
    assert counted(monkeypatch, create, "validate_value", lambda: program.judge(data)) == 0
    assert list(program.fallbacks.counts) == [((programs.Part.OBJECT, programs.Reason.METADATA, ""), False)]


def test_proven_metadata_is_not_coerced_nor_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    crd = definition()
    program = AuditProgram(crd, crd.versions["v1"])
    data = value({"spec": {"size": 0}})
    assert counted(monkeypatch, read, "read_metadata", lambda: program.judge(data)) == 0
    assert counted(monkeypatch, create, "check_metadata", lambda: program.judge(data)) == 0
    assert counted(monkeypatch, read, "read_metadata", lambda: program.reference().judge(data)) == 1
    assert counted(monkeypatch, create, "check_metadata", lambda: program.reference().judge(data)) == 1


def test_a_broken_byte_counts_as_the_character_that_stands_for_it() -> None:
    crd = definition()
    program = AuditProgram(crd, crd.versions["v1"])
    data = value({"spec": {"size": 0}}, annotations={"a": "~" * (MAX_ANNOTATIONS // 2)}).replace(b"~", b"\xff")
    assert len(data) < MAX_ANNOTATIONS
    assert [found.field for found in program.audit(data).findings][1:] == ["metadata.annotations", "spec.size"]


@pytest.mark.parametrize("data", [b"", b" {}", b"\xd9\xd9\xf7\xa0"])
def test_metadata_of_what_is_no_json_object_is_not_proven(data: bytes) -> None:
    assert metadata_prover(data, namespaced=True) is None
