"""Where records say that no generated code can prove an object, the code for dicts proves hardly any."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from auditor import CrdCatalog
from auditor.crds.definition import parse_definition
from auditor.fastpath.dicts.fallbacks import Reason
from auditor.plan.options import AuditOptions
from auditor.program.program import RECORDS_AFTER, AuditProgram
from auditor.shards.fast_path import MOST_VALID
from pipelines.run.audit import run_audit
from tests.documents import definition_of
from tests.reference.make import VECTORS

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.program.program import Judgement

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "o", "uid": "u"}
MANAGER = {
    "manager": "kubectl",
    "operation": "Update",
    "apiVersion": "x.example.com/v1",
    "time": "2026-01-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {}},
}
METADATA = {
    "name": "a",
    "namespace": "b",
    "generation": 1,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"app": "a"},
    "annotations": {"note": "a"},
    "ownerReferences": [OWNER],
    "managedFields": [MANAGER],
}
SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "word": {"type": "string", "enum": ["a", "b"]},
        "text": {"type": "string", "pattern": "^[a-z]+$", "default": "a"},
        "list": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "x-kubernetes-validations": [{"rule": "self.size != 7", "message": "no"}],
}
SCHEMA = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC}}
REFUSED = {
    Reason.SCHEMA: [
        ("spec", 5),
        ("spec", None),
        ("spec.size", None),
        ("spec.size", "one"),
        ("spec.size", 0),
        ("spec.size", 10),
        ("spec.word", "c"),
        ("spec.text", "A"),
        ("spec.list", [None]),
        ("spec.list", ["long"]),
        ("spec.map", {"a": 5}),
    ],
    Reason.METADATA: [
        ("metadata.name", ""),
        ("metadata.name", "A"),
        ("metadata.namespace", "A"),
        ("metadata.generation", -1),
        ("metadata.labels", {"a": "-"}),
        ("metadata.annotations", {"-": "a"}),
        ("metadata.ownerReferences", [{**OWNER, "uid": ""}]),
        ("metadata.ownerReferences", [{**OWNER, "kind": ""}]),
        ("metadata.managedFields", [{**MANAGER, "operation": "Other"}]),
        ("metadata.finalizers", ["-"]),
    ],
    Reason.RULES: [("spec.size", 7)],
    None: [
        ("kind", "Y"),
        ("apiVersion", "x.example.com/v2"),
        ("spec.unknown", 1),
        ("spec.map", {"a": None}),
        ("metadata.unknown", 1),
        ("metadata.generation", 0),
        ("metadata.generation", "one"),
        ("metadata.creationTimestamp", None),
        ("metadata.creationTimestamp", "2026-01-01T00:00:00.5Z"),
        ("metadata.labels", {"a": None}),
        ("metadata.labels", []),
        ("metadata.managedFields", [{**MANAGER, "unknown": 1}]),
    ],
}


def program_of(schema: dict[str, Any]) -> AuditProgram:
    definition = parse_definition(definition_of(schema))
    return AuditProgram(definition, definition.versions["v1"])


def changed(path: str, value: Any) -> bytes:
    """Return a valid object with another value at a path."""
    made: Any = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": METADATA, "spec": {"size": 1}}
    made = deepcopy(made)
    place = made
    *above, last = path.split(".")
    for step in above:
        place = place[step]
    place[last] = value
    return json.dumps(made).encode()


@pytest.mark.parametrize(
    ("reason", "path", "value"), [(reason, *case) for reason, cases in REFUSED.items() for case in cases]
)
def test_a_refusal_says_what_dicts_cannot_prove(reason: Reason | None, path: str, value: Any) -> None:
    program = program_of(SCHEMA)
    typed = program.typed(0)
    assert typed is not None
    data = changed(path, value)
    assert typed.prove(data) is None
    assert typed.refusal == reason
    if reason is not None:
        assert not program.judge(data).proven
        exact = program.reference().judge(data)
        assert program.judge_refused(data, reason) == exact
        assert program.judge_refused(data, reason, orjson.loads(data)) == exact


@pytest.mark.parametrize("metadata", [{"labels": []}, {"unknown": 1}, {"generation": None}, {"name": ""}], ids=str)
@pytest.mark.parametrize(("path", "value"), [*REFUSED[Reason.SCHEMA], *REFUSED[None][2:4]])
def test_a_fault_of_the_metadata_hides_none_of_the_body(metadata: dict[str, Any], path: str, value: Any) -> None:
    typed = program_of(SCHEMA).typed(0)
    assert typed is not None
    made = json.loads(changed(path, value))
    assert typed.prove(json.dumps(made | {"metadata": made["metadata"] | metadata}).encode()) is None
    is_fault = not path.startswith("metadata") and (path, value) in REFUSED[Reason.SCHEMA]
    usual = Reason.METADATA if metadata == {"name": ""} else None
    assert typed.refusal is (Reason.SCHEMA if is_fault else usual)


def test_a_refused_object_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(SCHEMA)
    data = changed("spec.size", "3")
    decoded, exact = orjson.loads(data), program.judge(data)
    monkeypatch.setattr(orjson, "loads", None)
    assert program.judge_refused(data, Reason.SCHEMA, decoded) == exact


def test_a_decoded_integer_beyond_64_bits_is_read_as_a_float() -> None:
    program = program_of(SCHEMA)
    data = changed("spec.size", 2**63)
    assert program.judge_refused(data, Reason.SCHEMA, orjson.loads(data)) == program.reference().judge(data)


FAULTS = (None, "", "-", "A" * 300, 0, -1, 2**63, 1.0, 1.5, True, [], [None], [{}], {}, {"a": None}, {"a": "b"})


def spoiled(value: Any, rng: Random) -> Any:
    """Return an object with one value that is replaced, dropped or added."""
    place = value = deepcopy(value)
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return value
        key = rng.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        deed = rng.random()
        if deed < 0.2:
            del place[key]
        elif deed < 0.3 and isinstance(place, dict):
            place["unknown"] = 1
        else:
            place[key] = deepcopy(rng.choice(FAULTS))
        return value


@pytest.mark.parametrize("suite", ["bakery", "drawn"])
def test_dicts_prove_hardly_any_object_that_records_refuse(suite: str) -> None:
    vectors = json.loads((VECTORS / f"{suite}.json").read_text())
    catalog = CrdCatalog.from_documents(vectors["definitions"])
    rng = Random(7)
    counts: Counter[str] = Counter()
    for case in vectors["cases"]:
        try:
            stored = json.loads(case.get("object", "null"))
        except json.JSONDecodeError:
            continue
        if not isinstance(stored, dict) or not isinstance(stored.get("metadata"), dict):
            continue
        group, _, name = str(stored.get("apiVersion")).partition("/")
        definition = catalog.by_group_kind(group, str(stored.get("kind")))
        if definition is None or name not in definition.versions:
            continue
        program = AuditProgram(definition, definition.versions[name])
        typed = program.typed(0)
        if typed is None:
            continue
        for data in (json.dumps(spoiled(stored, rng)).encode() for _ in range(8)):
            if typed.prove(data) is None and typed.refusal is not None:
                counts["refused"] += 1
                counts["proven"] += program.judge(data).proven
    assert counts["refused"] > 100
    assert counts["proven"] == 0


def test_valid_objects_that_are_refused_end_the_shortcut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A whole float is a valid integer for the exact path alone."""
    refused: list[bool] = []
    judge = AuditProgram.judge_refused

    def counted(program: AuditProgram, data: bytes, reason: Reason, decoded: Any) -> Judgement:
        judgement = judge(program, data, reason, decoded)
        refused.append(not judgement.audited.findings)
        return judgement

    monkeypatch.setattr(AuditProgram, "judge_refused", counted)
    sizes = [1] * (2 * RECORDS_AFTER) + [0, 1] * 5 + [1.0, 1] * 40
    spec = {name: value for name, value in SPEC.items() if name != "x-kubernetes-validations"}
    items = [
        definition_of({"type": "object", "properties": {"spec": spec}}),
        *(json.loads(changed("spec.size", size)) for size in sizes),
    ]
    for number, item in enumerate(items[1:]):
        item["metadata"]["name"] = f"o-{number:03}"
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    run_audit(AuditOptions(dumps=(str(dump),), report=str(tmp_path / "out"), engine="inline", skip=("updates",)))
    assert refused == [False] * 5 + [True] * (5 + MOST_VALID)
