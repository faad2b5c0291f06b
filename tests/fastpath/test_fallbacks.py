"""What generated code does not prove is counted, with the reason, and the counts are in the manifest."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from auditor.crds.definition import parse_definition
from auditor.fastpath.dicts.fallbacks import Part, Reason
from auditor.fastpath.rules.prover import RuleProver
from auditor.fastpath.rules.updates import RuleUpdates
from auditor.plan.options import AuditOptions
from auditor.program.program import AuditProgram
from auditor.shards.finding_rows import FoundRows
from pipelines.run.audit import run_audit
from tests.command import auditor
from tests.documents import definition_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"
SIZE = {"type": "integer", "default": 2}
FIELDS = {"size": SIZE, "text": {"type": "string"}, "any": {"x-kubernetes-preserve-unknown-fields": True}}
RULE = {"rule": "self.text != 'no'", "message": "no"}
SPEC = {"type": "object", "properties": FIELDS, "x-kubernetes-validations": [RULE]}
SCHEMA = {"type": "object", "properties": {"spec": SPEC}}
FINE = {"name": "a", "namespace": "b", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}


def value(spec: Any, head: dict[str, Any] | None = None, **metadata: Any) -> bytes:
    """Return a stored object."""
    made = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": FINE | metadata, "spec": spec}
    return json.dumps(made | (head or {})).encode()


def program_of(schema: dict[str, Any], **more: Any) -> AuditProgram:
    definition = parse_definition(definition_of(schema, **more))
    return AuditProgram(definition, definition.versions["v1"])


def taken(program: AuditProgram) -> dict[tuple[tuple[str, str, str], bool], int]:
    return dict(program.fallbacks.take())


DEEP = b'{"apiVersion":"x.example.com/v1","kind":"X","metadata":%s,"spec":{"any":%s}}' % (
    json.dumps(FINE).encode(),
    b"[" * 3000 + b"]" * 3000,
)
LARGE = "an integer beyond 64 bits"


@pytest.mark.parametrize(
    ("data", "reason", "detail", "valid"),
    [
        (value({"text": "yes"}), None, "", True),
        (value({"text": 5}), Reason.SCHEMA, "", False),
        (value({"text": "yes"}, labels={"a": "-"}), Reason.METADATA, "", False),
        (value({"text": "no"}), Reason.RULES, "", False),
        (value({"text": "yes", "size": 2**63}), Reason.VALUE, LARGE, False),
        (value({"text": "yes", "any": {"a": [2**63]}}), Reason.VALUE, LARGE, True),
        (value({"text": "yes", "size": None}), None, "", True),
        (b'{"apiVersion": ', Reason.JSON, "", False),
        (DEEP, Reason.DEPTH, "", False),
        (value({"text": "yes"}, {"kind": "Y"}), Reason.IDENTITY, "", False),
        (b'{"apiVersion": "x.example.com/v1", "kind": "X", "spec": {}}', Reason.IDENTITY, "", False),
        (b'{"kind": "X"}', Reason.IDENTITY, "", False),
        (value({"text": "yes"}, {"apiVersion": "x.example.com/v3"}), Reason.CONVERSION, "", False),
        (b"[]", Reason.ERROR, "TypeError", False),
    ],
    ids=lambda one: one[:40] if isinstance(one, bytes) else None,
)
def test_an_object_is_counted_by_why_it_is_not_proven(
    data: bytes, reason: Reason | None, detail: str, *, valid: bool
) -> None:
    program = program_of(SCHEMA)
    audited = program.audit(data)
    wanted = {} if reason is None else {((Part.OBJECT, reason, detail), valid): 1}
    assert {one: count for one, count in taken(program).items() if one[0][0] == Part.OBJECT} == wanted
    assert (audited.object is not None and not audited.findings) is valid
    assert audited == AuditProgram(program.definition, program.version, compiled=False).audit(data)


@pytest.mark.parametrize(
    ("schema", "detail"),
    [
        ({"type": "object", "x-kubernetes-int-or-string": True}, "a schema that contradicts itself"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "the root is not an object of its own"),
    ],
    ids=["contradiction", "root"],
)
def test_a_definition_without_code_is_named(schema: dict[str, Any], detail: str) -> None:
    program = program_of(schema)
    program.audit(value({}))
    program.audit(value({}))
    ((part, reason, found), _), count = next(iter(taken(program).items()))
    assert (part, reason, count) == (Part.OBJECT, Reason.DEFINITION, 2)
    assert found.startswith(detail)


def test_code_that_fails_is_named_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: Any) -> Any:
        raise ZeroDivisionError

    program = program_of(SCHEMA)
    monkeypatch.setattr(AuditProgram, "_own", failing)
    assert not program.audit(value({"text": "yes"})).findings
    assert not program.audit(value({"text": "yes"})).findings
    assert taken(program) == {((Part.OBJECT, Reason.ERROR, "ZeroDivisionError"), True): 2}


def test_records_that_do_not_prove_are_counted() -> None:
    program = program_of(SCHEMA)
    typed = program.typed(0)
    assert typed is not None
    data = [
        value({"text": "yes"}),
        value({"text": 5}),
        value({"text": "no"}),
        b'{"kind',
        value({"size": 1, "text": {}}),
    ]
    assert [typed.prove(one) is not None for one in data] == [True, False, False, False, False]
    counts = Counter({why: count for (why, _), count in taken(program).items()})
    assert counts == {
        (Part.RECORD, Reason.SCHEMA, ""): 2,
        (Part.RECORD, Reason.RULES, ""): 1,
        (Part.RECORD, Reason.JSON, ""): 1,
    }


def test_records_that_cannot_be_made_are_counted() -> None:
    program = program_of({**SCHEMA, "x-kubernetes-preserve-unknown-fields": True})
    assert program.typed(0) is None
    assert taken(program) == {((Part.RECORD, Reason.DEFINITION, "the root is no record"), False): 1}


def test_rules_that_the_interpreter_runs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(SCHEMA)
    obj = json.loads(value({"text": "yes"}))
    prover = program.prover
    updates = RuleUpdates(prover, patience=0)

    def failing(*_: Any) -> int:
        raise ArithmeticError

    monkeypatch.setattr(prover, "_run", failing)
    monkeypatch.setattr(updates, "_function", failing)
    assert prover.fallbacks is program.fallbacks
    assert not program.rules_hold(obj)
    assert updates.update_findings(obj, obj, None) == []
    assert taken(program) == {
        ((Part.RULES, Reason.ERROR, "ArithmeticError"), False): 1,
        ((Part.UPDATE_RULES, Reason.ERROR, "ArithmeticError"), False): 1,
    }


def test_rules_without_code_are_counted_by_reason() -> None:
    rule = {"rule": "type(self.text) == string", "message": "m"}
    program = program_of({"type": "object", "properties": {"spec": {**SPEC, "x-kubernetes-validations": [rule]}}})
    assert isinstance(program.prover, RuleProver)
    counts = taken(program)
    assert [why[:2] for why, _ in counts] == [(Part.RULES, Reason.DEFINITION)]
    assert all(why[2] for why, _ in counts)


def checked_sums(manifest: dict[str, Any]) -> int:
    """Assert that the reasons add up to the objects that are not proven; return how many these are."""
    for program in manifest["programs"]:
        rows = [row for row in manifest["fallbacks"] if row["version"] == program["version"]]
        rows = [row for row in rows if (row["crd"], row["part"]) == (program["crd"], "object")]
        assert sum(row["count"] for row in rows) == program["not_proven"], program
        assert sum(row["valid"] for row in rows) == program["valid"] - program["proven"], program
    return sum(program["not_proven"] for program in manifest["programs"])


def audited(folder: Path, dump: Path, **options: Any) -> dict[str, Any]:
    run_audit(AuditOptions(dumps=(str(dump),), report=str(folder), engine="inline", **options))
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return manifest


def mixed(folder: Path) -> Path:
    """Write an export of valid objects and some that are not proven, for many reasons."""
    path = folder / "dump.json"
    specs = [{"text": "yes"}] * 120 + [{"text": 5}, {"text": "no"}, {"text": "yes", "any": 2**63}] * 4
    items = [definition_of(SCHEMA), *(json.loads(value(spec, name=f"o-{n}")) for n, spec in enumerate(specs))]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


@pytest.mark.parametrize("options", [{}, {"skip": ("updates",)}, {"skip": ("rules",)}], ids=str)
def test_the_reasons_in_the_manifest_add_up(tmp_path: Path, options: dict[str, Any]) -> None:
    manifest = audited(tmp_path / "mixed", mixed(tmp_path), **options)
    assert checked_sums(manifest) >= 8
    reasons = {row["reason"] for row in manifest["fallbacks"] if row["part"] == "object"}
    assert reasons >= {"schema", "value"} | ({"rules"} if "rules" not in options.get("skip", ()) else set())
    checked_sums(audited(tmp_path / "sample", SAMPLE, **options))


def test_a_shard_that_is_audited_again_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = mixed(tmp_path)
    first = audited(tmp_path / "first", dump)
    add, failed = FoundRows.add, []

    def failing(*words: Any) -> None:
        if not failed:
            failed.append(True)
            raise ValueError("once")
        add(*words)

    monkeypatch.setattr(FoundRows, "add", failing)
    again = audited(tmp_path / "again", dump)
    assert failed
    assert checked_sums(again) == checked_sums(first)


def test_a_fleet_adds_up_the_reasons_of_its_clusters(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        mixed(tmp_path / name)
    words = ["audit", str(tmp_path / "*" / "dump.json"), "--report", str(tmp_path / "out"), "--jobs", "1"]
    assert auditor(*words, "--fail-on", "never").code == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    one = audited(tmp_path / "one", tmp_path / "a" / "dump.json")
    assert checked_sums(manifest) == 2 * checked_sums(one)
